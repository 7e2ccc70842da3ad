"""What holds for any machine, any model and any wishes."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.advise.worlds import CONFIGS, HOSTS, configs, constraints, facts_of, machines
from tests.values import GGUF
from tests.worded import remedy_of, text_of
from wizard.advise import memory
from wizard.advise.advice import Advice, Choice, Constraints
from wizard.advise.devices import Device, devices
from wizard.advise.fit import Fit, fit
from wizard.advise.ranking import advise
from wizard.advise.setup import Setup
from wizard.catalog import stacks
from wizard.kernel.errors import ModelError
from wizard.model.config import describe
from wizard.model.facts import ModelFacts

GIB = 1024**3
models = st.sampled_from(sorted(CONFIGS))
GROUPS: dict[str, Device] = {f"{name}, {one.name}": one for name, host in HOSTS.items() for one in devices(host)}
groups = st.sampled_from(sorted(GROUPS))
setups = st.builds(
    Setup,
    st.sampled_from(["vllm", "trtllm-llmapi", "trtllm-engine", "transformers"]),
    st.just("bfloat16"),
    st.sampled_from(["none", "fp8", "int4_awq", "nvfp4", "mxfp4", "fp8_block"]),
    st.sampled_from(["auto", "fp8"]),
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([1, 2, 3]),
)


def kept(wished: Constraints, choice: Choice) -> bool:
    """Whether the choice is what was asked for, where something was asked for."""
    cpu = stacks.facts(choice.stack).cpu is not None
    asked: dict[str, tuple[Any, Any]] = {
        "users": (wished.users, choice.max_batch_size),
        "max_len": (wished.max_len, choice.max_seq_len),
        "stack": (wished.stack, choice.stack),
        "tp": (wished.tp, choice.tp),
        "pp": (wished.pp, choice.pp),
        "kv_dtype": (wished.kv_dtype, choice.kv_cache_dtype),
        "quantization": (wished.quantization, choice.quantization),
        "runtime": (wished.runtime, choice.runtime),
        "engine_python": (wished.engine_python, choice.engine_python),
    }
    if cpu and wished.quantization:
        asked["quantization"] = (f"gguf_{wished.quantization.removeprefix('gguf_')}", choice.quantization)
    if not cpu:
        asked["utilization"] = (wished.gpu_memory_utilization, choice.gpu_memory_utilization)
    few = wished.max_gpus is None or choice.tp * choice.pp <= wished.max_gpus
    return few and all(said is None or said == got for said, got in asked.values())


def sound(advice: Advice, wished: Constraints) -> None:
    """What every advice must be."""
    assert advice.feasible == bool(advice.choices)
    assert advice.feasible or advice.rejections
    for rejection in advice.rejections:
        assert text_of(rejection).strip()
        assert remedy_of(rejection).strip()
        assert rejection.code
    for choice in advice.choices:
        assert kept(wished, choice), (wished, choice)
        bill = choice.memory
        cache = bill.kv_bytes_per_token * bill.kv_capacity_tokens
        assert bill.total_bytes == bill.weights_bytes + bill.activation_bytes + bill.overhead_bytes + cache
        assert bill.total_bytes <= bill.budget_bytes
        assert choice.max_batch_size >= 1
        assert choice.max_seq_len >= 1
        assert len(choice.devices) in (0, choice.tp * choice.pp)
        assert all(text_of(note).strip() for note in (*choice.reasons, *choice.warnings))


@given(configs(), machines, constraints())
def test_any_config_on_any_machine_gives_advice_or_is_refused_as_no_config(
    config: dict[str, Any], machine: str, wished: Constraints
) -> None:
    try:
        facts = describe(ModelFacts("x", "folder", "x", "x", None, None), config)
    except ModelError:
        return
    sound(advise(HOSTS[machine], facts, wished), wished)


@given(models, machines, constraints())
def test_what_was_asked_for_is_met_or_refused_and_asking_twice_gives_the_same(
    model: str, machine: str, wished: Constraints
) -> None:
    facts = facts_of(model)
    advice = advise(HOSTS[machine], facts, wished)
    sound(advice, wished)
    assert advise(HOSTS[machine], facts, wished) == advice


@given(machines, constraints())
def test_a_gguf_too(machine: str, wished: Constraints) -> None:
    sound(advise(HOSTS[machine], GGUF, wished), wished)


@given(models, groups, setups, constraints(goals=("chat",)), st.integers(1, 64 * GIB))
def test_more_memory_never_makes_a_fit_impossible(
    model: str, group: str, setup: Setup, wished: Constraints, more: int
) -> None:
    facts, device = facts_of(model), GROUPS[group]
    assert facts.anatomy is not None
    assume(wished.gpu_memory_utilization is None)  # a share of more is more that has to be free
    found = fit(facts, facts.anatomy, device, setup, wished)
    larger = replace(device, total_bytes=device.total_bytes + more, free_bytes=device.free_bytes + more)
    step_changes = memory.step_tokens(larger) != memory.step_tokens(device)
    assume(isinstance(found, Fit) and not step_changes)
    assert isinstance(fit(facts, facts.anatomy, larger, setup, wished), Fit)


@given(models, setups, st.integers(1, 200_000), st.integers(0, 10_000), st.sampled_from([2048, 8192]))
def test_a_longer_context_never_needs_less(model: str, setup: Setup, tokens: int, more: int, step: int) -> None:
    facts = facts_of(model)
    assert facts.anatomy is not None
    short = memory.sequence_bytes(facts.anatomy, setup, tokens, step)
    assert memory.sequence_bytes(facts.anatomy, setup, tokens + more, step) >= short


@given(models, groups, setups, st.integers(1, 500), st.integers(1, 500), st.integers(1, 50_000))
def test_more_users_never_need_less_and_tokens_are_bytes(
    model: str, group: str, setup: Setup, users: int, more: int, length: int
) -> None:
    facts, device = facts_of(model), GROUPS[group]
    assert facts.anatomy is not None

    def bill(people: int) -> Any:
        assert facts.anatomy is not None
        return memory.bill(facts, facts.anatomy, device, setup, people, length, device.total_bytes)

    few, many = bill(users), bill(users + more)
    assert many.activation_bytes + many.overhead_bytes >= few.activation_bytes + few.overhead_bytes
    assert many.kv_capacity_tokens <= few.kv_capacity_tokens
    for one in (few, many):
        fixed = one.weights_bytes + one.activation_bytes + one.overhead_bytes
        assert one.total_bytes == fixed + one.kv_bytes_per_token * one.kv_capacity_tokens
        assert one.total_bytes <= max(fixed, one.budget_bytes)


@given(models, machines, st.integers(1, 64), st.integers(1, 64))
def test_whoever_can_serve_many_can_serve_few(model: str, machine: str, users: int, more: int) -> None:
    facts = facts_of(model)
    many = advise(HOSTS[machine], facts, Constraints(users=users + more, max_len=2048))
    assume(many.feasible)
    assert advise(HOSTS[machine], facts, Constraints(users=users, max_len=2048)).feasible


@pytest.mark.parametrize("goal", ["chat", "throughput", "quality", "smallest"])
@pytest.mark.parametrize("name", sorted(HOSTS))
def test_every_public_model_on_every_machine(name: str, goal: str) -> None:
    for model in sorted(CONFIGS)[::4]:
        wished = Constraints(goal=goal)
        sound(advise(HOSTS[name], facts_of(model), wished), wished)


def test_constraints_here_are_all_there_are() -> None:
    """A wish that is added must be asked for above, too."""
    assert {field.name for field in fields(Constraints)} == {
        "goal", "users", "max_len", "max_gpus", "gpu_memory_utilization", "stack", "quantization", "tp", "pp",
        "kv_dtype", "as_published", "release", "runtime", "engine_python",
    }  # fmt: skip
