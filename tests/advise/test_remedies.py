"""A remedy that is offered works: applied, it leads to an advice without that refusal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.advise.worlds import CONFIGS, HOSTS, LLAMA_8B, LLAMA_70B, facts_of, machine, machines
from tests.worded import remedy_of, text_of
from wizard.advise.advice import Advice, Constraints, Rejection
from wizard.advise.ranking import advise
from wizard.advise.reasons import change, do
from wizard.advise.refusals import grouped
from wizard.catalog import stacks
from wizard.model.refs import HubRef
from wizard.model.shipped_configs import shipped
from wizard.texts import remedies

OPTIONS = {
    "tp": st.sampled_from([1, 2, 3, 4, 8, 16]),
    "pp": st.sampled_from([1, 2, 3]),
    "dp": st.sampled_from([1, 2, 8]),
    "replicas": st.sampled_from([1, 2, 3, 8]),
    "users": st.sampled_from([1, 16, 300]),
    "max_len": st.sampled_from([512, 4096, 32_768, 131_072, 1_000_000]),
    "isl": st.sampled_from([8000, 100_000]),
    "ttft": st.sampled_from([1.0, 50.0, 300.0, 5000.0]),
    "tpot": st.sampled_from([0.5, 5.0, 30.0]),
    "quantization": st.sampled_from(["none", "fp8", "int4_awq", "nvfp4", "mxfp4", "int8_sq"]),
    "kv_dtype": st.sampled_from(["auto", "fp8"]),
    "stack": st.sampled_from(stacks.names()),
    "runtime": st.sampled_from(["native", "docker"]),
    "max_gpus": st.sampled_from([1, 2]),
    "gpu_memory_utilization": st.sampled_from([0.3, 0.98]),
    "speculative": st.sampled_from(["ngram", "mtp", "eagle3"]),
    "draft": st.just("me/eagle3"),
    "expert_parallel": st.just(True),
}
some = st.lists(st.sampled_from(sorted(OPTIONS)), max_size=4, unique=True).flatmap(
    lambda names: st.fixed_dictionaries({name: OPTIONS[name] for name in names})
)
LONGEST_WAY = 5
"""Remedies that are followed one after the other until all options can be met, or none can be."""


def again(advice: Advice, rejection: Rejection) -> list[Rejection]:
    """The rejections of ``advice`` that repeat ``rejection``: the same setup, still no choice, for the same reason."""

    def setup(each: Any) -> tuple[Any, ...]:
        return each.stack, each.quantization, each.tp, each.pp

    if setup(rejection) in map(setup, advice.choices):
        return []  # of another group of GPUs
    return [
        each
        for each in advice.rejections
        if (setup(each), each.reason.code) == (setup(rejection), rejection.reason.code)
    ]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(name=machines, model=st.sampled_from(sorted(CONFIGS)), options=some)
@example(name="MIG", model="EleutherAI/gpt-j-6b", options={"dp": 2})
@example(name="8xH100", model="EleutherAI/gpt-j-6b", options={"dp": 2, "stack": "transformers"})
def test_an_applied_remedy_resolves_its_refusal(name: str, model: str, options: dict[str, Any]) -> None:
    facts, constraints = facts_of(model), Constraints(**options)
    before = advise(HOSTS[name], facts, constraints)
    for rejection in before.rejections:
        for remedy in rejection.remedies:
            if remedy.changes:
                after = advise(HOSTS[name], facts, replace(constraints, **remedy.changes))
                whole = after.feasible and not before.feasible  # then another split may be what makes it possible
                assert whole or not again(after, rejection), (text_of(rejection), remedy.changes)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(name=machines, model=st.sampled_from(sorted(CONFIGS)), options=some)
def test_following_remedies_ends(name: str, model: str, options: dict[str, Any]) -> None:
    facts, constraints = facts_of(model), Constraints(**options)
    steps: list[str] = []
    while not (advice := advise(HOSTS[name], facts, constraints)).feasible:
        changes = next((each.changes for each in advice.rejections[0].remedies if each.changes), None)
        if changes is None:
            break
        steps.append(f"{text_of(advice.rejections[0])} → {remedy_of(advice.rejections[0])}")
        before, constraints = constraints, replace(constraints, **changes)
        assert before != constraints, steps
        assert len(steps) <= LONGEST_WAY, steps


def refused(gpus: str, model: str, **options: Any) -> Rejection:
    return advise(machine(gpus), facts_of(model), Constraints(**options)).rejections[0]


@pytest.mark.parametrize(
    ("limit", "machine_name", "model", "options"),
    [
        ("tpot", "A100+T4", LLAMA_8B, {"max_len": 512, "runtime": "native", "tp": 1}),
        ("ttft", "8xL40S", LLAMA_8B, {"users": 300}),
        ("ttft", "4xA10", LLAMA_70B, {}),
    ],
)
def test_a_limit_is_refused_and_remedied_with_the_same_setups_figures(
    limit: str, machine_name: str, model: str, options: dict[str, Any]
) -> None:
    first = advise(HOSTS[machine_name], facts_of(model), Constraints(**{limit: 1.0}, **options)).rejections[0]
    estimate = first.reason.params["estimate_ms"]
    assert isinstance(estimate, float)
    (remedy,) = first.remedies
    assert remedy.changes == {limit: float(-(-estimate // 1))}
    assert remedy_of(first) == f"--{limit} {-(-estimate // 1):.0f}"  # without decimals


def test_gpus_that_are_there_already_are_no_remedy() -> None:
    """zai-org/GLM-5.1 on 8 × H100 was offered 8 × H100."""
    facts = shipped(HubRef("zai-org/GLM-5.1"), "offline")
    assert facts
    advice = advise(machine("8xH100"), facts, Constraints())
    assert not advice.feasible
    offered = [each for rejection in advice.rejections for each in rejection.remedies if each.code == "more-gpus"]
    assert not [each for each in offered if int(str(each.params["count"])) <= 8]
    texts = [text_of(rejection) for rejection in advice.rejections]
    assert not [text for text in texts if "tp 4" in text]


def test_no_gpu_is_asked_for_that_does_not_exist() -> None:
    codes = {each.code for each in refused("1xL4", "deepseek-ai/DeepSeek-V3.2").remedies}
    assert "smaller-model" in codes
    assert "larger-gpu" not in codes
    assert refused("4xL4", LLAMA_70B, tp=2, pp=1, quantization="fp8").remedies[0] == change(tp=4)


def test_no_remedy_names_a_stack_that_is_refused_too() -> None:
    """MiniMax-M3 on 8 × H200: TensorRT-LLM named vLLM, and vLLM another stack."""
    facts = shipped(HubRef("MiniMaxAI/MiniMax-M3"), "offline")
    assert facts
    for model, asked in ((facts, Constraints()), (facts_of("Qwen/Qwen3.5-27B"), Constraints(speculative="mtp"))):
        advice = advise(machine("8xH200"), model, asked)
        assert not advice.feasible
        assert all(each.remedies for each in advice.rejections)
        named = {str(remedy.changes.get("stack")) for each in advice.rejections for remedy in each.remedies}
        assert named == {"None"}


def test_a_group_has_one_engine_in_its_reason() -> None:
    facts = shipped(HubRef("MiniMaxAI/MiniMax-M3"), "offline")
    assert facts
    groups = grouped(advise(machine("8xH200"), facts, Constraints()).rejections)
    stacks_of = [{each.stack for each in group.rejections} for group in groups if group.reason.code == "not-listed"]
    assert stacks_of
    assert all(len(names) == 1 for names in stacks_of)


def test_a_sentence_that_follows_another_remedy_continues_it() -> None:
    text = remedies.text((change(stack="llamacpp"), do("make-slices")))
    assert text.startswith("--stack llamacpp, or create an instance (")
    assert remedies.text((do("make-slices"),)).startswith("Create an instance (")
