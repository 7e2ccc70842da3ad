"""Expert parallelism: when ranks hold whole experts, what that takes, and when it is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.advise.test_gpu import choices, rejections
from tests.advise.worlds import BLOCKS, LLAMA_8B, MXFP4, facts_of
from tests.plan.stack_values import FACTS, VLLM, engine, machine, native, planned
from tests.worded import text_of
from wizard.advise import experts, memory
from wizard.advise.advice import Choice, Constraints
from wizard.advise.ranking import advise
from wizard.advise.setup import Setup
from wizard.model.facts import ModelFacts

MIXTRAL, MOE = "mistralai/Mixtral-8x7B-v0.1", "Qwen/Qwen3-30B-A3B"
"""The second has 128 experts of width 768: in blocks of 128, six, which neither 4 nor 8 ranks can share."""


def blocks() -> ModelFacts:
    return facts_of(MOE, quantization_config=BLOCKS)


def served(facts: ModelFacts, **constraints: Any) -> Choice:
    (choice,) = (each for each in choices("8xH100", facts, stack="vllm", replicas=1, **constraints) if each.pp == 1)
    return choice


def notes(choice: Choice) -> dict[str, str]:
    return {note.code: text_of(note) for note in (*choice.reasons, *choice.warnings)}


@pytest.mark.parametrize(("tp", "whole"), [(1, False), (2, False), (4, True), (8, True)])
def test_experts_stay_whole_where_their_blocks_cannot_be_shared(tp: int, whole: bool) -> None:
    choice = served(blocks(), tp=tp)
    assert choice.expert_parallel == whole
    assert (choice.speed is None) == whole
    if whole:
        assert f"{128 // tp} of a layer's 128 experts" in notes(choice)["experts-needed"]
        assert "not fitted to expert parallelism" in notes(choice)["speed"]


def test_an_unquantized_model_is_split_unless_the_user_asks() -> None:
    facts = facts_of(MOE)
    assert not served(facts, tp=4, quantization="none").expert_parallel
    asked = served(facts, tp=4, quantization="none", expert_parallel=True)
    assert asked.expert_parallel
    assert notes(asked)["experts"] == (
        "Each GPU holds 32 of a layer's 128 experts as a whole (expert parallelism) instead of a part of every expert."
    )


def test_a_release_without_it_is_as_before() -> None:
    (rejection, *_) = rejections("8xH100", blocks(), stack="vllm", tp=4, release="25.04")
    assert "192, which is not a multiple of 128" in text_of(rejection)


def test_experts_that_cannot_stay_whole_are_refused_for_their_blocks() -> None:
    """126 whole experts on 4 ranks are impossible with SGLang, and not what the user asked for."""
    (rejection, *_) = rejections(
        "8xH100", facts_of(MOE, num_experts=126, quantization_config=BLOCKS), stack="sglang", tp=4
    )
    assert rejection.code == "group"
    assert "192, which is not a multiple of 128" in text_of(rejection)


@pytest.mark.parametrize(
    ("engine", "whole", "old"), [("0.10.2", True, True), ("0.11", True, False), ("0.8", False, False)]
)
def test_whole_experts_begin_with_this_release(engine: str, whole: bool, old: bool) -> None:
    setup = Setup("vllm", "bfloat16", "none", tp=2, expert_parallel=whole)
    assert (experts.too_old(setup, engine) is not None) == old


@pytest.mark.parametrize(
    ("facts", "constraints", "code", "text"),
    [
        (facts_of(LLAMA_8B), {"stack": "vllm", "tp": 2}, "experts", "The model has no experts"),
        (blocks(), {"stack": "vllm", "tp": 1}, "experts", "needs tp 2 or more"),
        (facts_of(MOE), {"stack": "transformers"}, "experts", "does not set up expert parallelism with Transformers."),
        (facts_of(LLAMA_8B), {"stack": "transformers"}, "experts", "The model has no experts"),
        (
            facts_of("openai/gpt-oss-120b", quantization_config=MXFP4),
            {"stack": "sglang"},
            "experts",
            "for experts in MXFP4",
        ),
        (
            facts_of(MOE, num_experts=126),
            {"stack": "sglang", "tp": 4, "quantization": "none"},
            "experts",
            "SGLang gives each GPU of tp the same number of whole experts: 126 cannot be divided by 4.",
        ),
        (
            facts_of("mistralai/Mixtral-8x7B-v0.1"),
            {"stack": "vllm", "release": "25.04"},
            "experts",
            "needs vLLM 0.11 or later; found 0.8.1",
        ),
    ],
)
def test_what_cannot_be_met_is_refused(facts: ModelFacts, constraints: dict[str, Any], code: str, text: str) -> None:
    refused = rejections("8xH100", facts, expert_parallel=True, **constraints)
    matching = [rejection for rejection in refused if rejection.code == code]
    assert text in text_of(matching[-1])
    assert matching[-1].remedies[-1].changes == {"expert_parallel": None}


@pytest.mark.parametrize("stack", ["vllm", "sglang", "trtllm-llmapi"])
def test_two_gpus_are_the_remedy_only_where_there_are_two(stack: str) -> None:
    for host, changes in (("1xH100", []), ("8xH100", [{"tp": 2}])):
        refused = rejections(host, MOE, expert_parallel=True, tp=1, stack=stack)
        first = next(each for each in refused if each.code == "experts")
        assert "needs tp 2 or more" in text_of(first)
        assert [remedy.changes for remedy in first.remedies] == [*changes, {"expert_parallel": None}]
    assert choices("8xH100", MOE, expert_parallel=True, tp=2, stack=stack)


@pytest.mark.parametrize("host", ["1xH100", "8xH100"])
def test_a_stack_without_it_says_so_before_the_gpus_count(host: str) -> None:
    refused = rejections(host, MOE, expert_parallel=True, stack="trtllm-engine")
    first = next(each for each in refused if each.code == "experts")
    assert "does not set up expert parallelism with TensorRT-LLM engine" in text_of(first)
    assert ({"stack": "vllm"} in [remedy.changes for remedy in first.remedies]) == (host == "8xH100")


@pytest.mark.parametrize(("model", "text"), [(LLAMA_8B, "The model has no experts"), (MOE, "with llama.cpp")])
def test_the_processor_gives_the_same_reasons(model: str, text: str) -> None:
    advice = advise(machine("cpu"), facts_of(model), Constraints(expert_parallel=True, stack="llamacpp"))
    assert text in next(text_of(each) for each in advice.rejections if each.code == "experts")


@pytest.mark.parametrize("tp", [2, 3, 4, 8])
def test_a_rank_has_whole_experts_rounded_up(tp: int) -> None:
    facts = facts_of(MOE)
    assert facts.anatomy is not None
    parts = facts.anatomy.parts
    whole, split = (memory.rank_weights(parts, facts.anatomy, tp, 1, each) for each in (True, False))
    more = parts.experts * (-(-128 // tp) / 128 - 1 / tp)
    assert whole - split == pytest.approx(more, abs=1)


def test_their_activations_are_not_divided() -> None:
    facts = facts_of(MOE)
    assert facts.anatomy is not None
    split, whole = (
        memory.activations(facts.anatomy, Setup("vllm", "bfloat16", "none", tp=4, expert_parallel=each), 4, 8192)
        for each in (False, True)
    )
    assert whole - split == 2 * 8192 * 2 * (768 * 8) * 3 // 4


@pytest.mark.parametrize(
    ("choice", "name", "value"),
    [
        (VLLM, "enable_expert_parallel", True),
        (native("sglang"), "ep_size", 2),
    ],
)
def test_the_engine_gets_it(choice: Choice, name: str, value: object) -> None:
    for asked in (False, True):
        changed = replace(choice, tp=2, devices=(0, 1), expert_parallel=asked)
        _, settings, _ = engine(planned(changed, FACTS, on=machine("2xH200")))
        assert settings.get(name) == (value if asked else None)


def test_whole_experts_are_offered_where_nothing_else_fits_or_the_user_chose_the_split() -> None:
    plain, whole = (replace(VLLM, expert_parallel=each) for each in (False, True))
    assert experts.as_needed([plain, whole], Constraints()) == [plain]
    assert experts.as_needed([whole], Constraints()) == [whole]
    assert experts.as_needed([plain, whole], Constraints(tp=4)) == [plain, whole]
