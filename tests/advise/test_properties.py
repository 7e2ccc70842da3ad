"""What holds for any machine, any model and any constraints."""

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
GROUPS: dict[str, Device] = {
    f"{name}, {device.name}": device for name, host in HOSTS.items() for device in devices(host)
}
groups = st.sampled_from(sorted(GROUPS))
setups = st.builds(
    Setup,
    st.sampled_from(["vllm", "trtllm-llmapi", "trtllm-engine", "transformers"]),
    st.just("bfloat16"),
    st.sampled_from(["none", "fp8", "int4_awq", "nvfp4", "mxfp4", "fp8_block"]),
    st.sampled_from(["auto", "fp8"]),
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([1, 2, 3]),
    st.sampled_from([1, 1, 2, 3]),
)


def kept(constraints: Constraints, choice: Choice) -> bool:
    """Whether the choice is what was asked for, where something was asked for."""
    cpu = stacks.facts(choice.stack).cpu is not None
    asked: dict[str, tuple[Any, Any]] = {
        "replicas": (constraints.replicas, choice.replicas),
        "max_len": (constraints.max_len, choice.max_seq_len),
        "stack": (constraints.stack, choice.stack),
        "tp": (constraints.tp, choice.tp),
        "pp": (constraints.pp, choice.pp),
        "dp": (constraints.dp, choice.dp),
        "kv_dtype": (constraints.kv_dtype, choice.kv_cache_dtype),
        "quantization": (constraints.quantization, choice.quantization),
        "expert_parallel": (constraints.expert_parallel or None, choice.expert_parallel),
        "speculative": ("" if constraints.speculative == "none" else constraints.speculative, choice.speculative),
        "runtime": (constraints.runtime, choice.runtime),
        "engine_python": (constraints.engine_python, choice.engine_python),
    }
    if cpu and constraints.quantization:
        asked["quantization"] = (f"gguf_{constraints.quantization.removeprefix('gguf_')}", choice.quantization)
    if not cpu:
        asked["utilization"] = (constraints.gpu_memory_utilization, choice.gpu_memory_utilization)
    few = constraints.max_gpus is None or len(choice.devices) <= constraints.max_gpus
    room = constraints.users is None or constraints.users <= choice.users < constraints.users + choice.shares
    return few and room and all(value is None or value == got for value, got in asked.values())


def sound(advice: Advice, constraints: Constraints) -> None:
    """What every advice must be."""
    assert advice.feasible == bool(advice.choices)
    assert advice.feasible or advice.rejections
    for rejection in advice.rejections:
        assert text_of(rejection).strip()
        assert remedy_of(rejection).strip()
        assert rejection.code
    for choice in advice.choices:
        assert kept(constraints, choice), (constraints, choice)
        breakdown = choice.memory
        cache = breakdown.kv_bytes_per_token * breakdown.kv_capacity_tokens
        assert (
            breakdown.total_bytes
            == breakdown.weights_bytes + breakdown.activation_bytes + breakdown.overhead_bytes + cache
        )
        assert breakdown.total_bytes <= breakdown.budget_bytes
        assert choice.max_batch_size >= 1
        assert choice.max_seq_len >= 1
        assert len(choice.devices) in (0, choice.gpus * choice.replicas)
        assert [len(group) for group in choice.groups] == [choice.gpus] * (choice.replicas if choice.devices else 0)
        assert len({*(choice.slices or choice.devices)}) == len(choice.devices)
        assert all(text_of(note).strip() for note in (*choice.reasons, *choice.warnings))


@given(configs(), machines, constraints())
def test_any_config_on_any_machine_gives_advice_or_is_refused_as_no_config(
    config: dict[str, Any], machine: str, constraints: Constraints
) -> None:
    try:
        facts = describe(ModelFacts("x", "folder", "x", "x", None, None), config)
    except ModelError:
        return
    sound(advise(HOSTS[machine], facts, constraints), constraints)


@given(models, machines, constraints())
def test_constraints_are_met_or_refused_and_asking_twice_gives_the_same(
    model: str, machine: str, constraints: Constraints
) -> None:
    facts = facts_of(model)
    advice = advise(HOSTS[machine], facts, constraints)
    sound(advice, constraints)
    assert advise(HOSTS[machine], facts, constraints) == advice


@given(machines, constraints())
def test_a_gguf_too(machine: str, constraints: Constraints) -> None:
    sound(advise(HOSTS[machine], GGUF, constraints), constraints)


@given(models, groups, setups, constraints(goals=("chat",)), st.integers(1, 64 * GIB))
def test_more_memory_never_makes_a_fit_impossible(
    model: str, group: str, setup: Setup, constraints: Constraints, more: int
) -> None:
    facts, device = facts_of(model), GROUPS[group]
    assert facts.anatomy is not None
    assume(constraints.gpu_memory_utilization is None)  # a share of more is more that has to be free
    result = fit(facts, facts.anatomy, device, setup, constraints)
    larger = replace(device, total_bytes=device.total_bytes + more, free_bytes=device.free_bytes + more)
    step_changes = memory.step_tokens(larger) != memory.step_tokens(device)
    assume(isinstance(result, Fit) and not step_changes)
    assert isinstance(fit(facts, facts.anatomy, larger, setup, constraints), Fit)


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

    def breakdown_of(users: int) -> Any:
        assert facts.anatomy is not None
        return memory.bill(facts, facts.anatomy, device, setup, users, length, device.total_bytes)

    few, many = breakdown_of(users), breakdown_of(users + more)
    assert many.activation_bytes + many.overhead_bytes >= few.activation_bytes + few.overhead_bytes
    assert many.kv_capacity_tokens <= few.kv_capacity_tokens
    for breakdown in (few, many):
        fixed = breakdown.weights_bytes + breakdown.activation_bytes + breakdown.overhead_bytes
        assert breakdown.total_bytes == fixed + breakdown.kv_bytes_per_token * breakdown.kv_capacity_tokens
        assert breakdown.total_bytes <= max(fixed, breakdown.budget_bytes)


@given(models, machines, st.integers(1, 64), st.integers(1, 64))
def test_whoever_can_serve_many_can_serve_few(model: str, machine: str, users: int, more: int) -> None:
    facts = facts_of(model)
    many = advise(HOSTS[machine], facts, Constraints(users=users + more, max_len=2048))
    assume(many.feasible)
    assert advise(HOSTS[machine], facts, Constraints(users=users, max_len=2048)).feasible


@pytest.mark.parametrize("goal", ["chat", "throughput", "quality", "smallest"])
@pytest.mark.parametrize("name", sorted(HOSTS))
def test_every_public_model_on_every_machine(name: str, goal: str) -> None:
    for model in sorted(CONFIGS)[::8]:
        constraints = Constraints(goal=goal)
        sound(advise(HOSTS[name], facts_of(model), constraints), constraints)


def test_constraints_here_are_all_there_are() -> None:
    """A constraint that is added must be checked above, too."""
    assert {field.name for field in fields(Constraints)} == {
        "goal", "users", "max_len", "max_gpus", "gpu_memory_utilization", "stack", "quantization", "tp", "pp",
        "kv_dtype", "as_published", "release", "runtime", "engine_python", "isl", "osl", "ttft", "tpot",
        "p99", "replicas", "dp", "expert_parallel", "speculative", "draft", "cost_per_hour",
    }  # fmt: skip
