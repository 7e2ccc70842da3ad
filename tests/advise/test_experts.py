"""Expert parallelism: when ranks hold whole experts, what that takes, and when it is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.advise.test_gpu import choices, rejections
from tests.advise.worlds import BLOCKS, LLAMA_8B, facts_of
from tests.plan.stack_values import FACTS, VLLM, engine, machine, planned
from tests.worded import text_of
from wizard.advise import memory
from wizard.advise.advice import Choice
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


@pytest.mark.parametrize(
    ("facts", "constraints", "code", "text"),
    [
        (facts_of(LLAMA_8B), {"stack": "vllm", "tp": 2}, "experts", "The model has no experts"),
        (blocks(), {"stack": "vllm", "tp": 1}, "experts", "needs tp 2 or more"),
        (blocks(), {"stack": "sglang"}, "experts", "The wizard does not set up expert parallelism with SGLang."),
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


def test_vllm_is_told() -> None:
    choice = {"tp": 2, "devices": (0, 1)}
    for asked in (False, True):
        _, settings, _ = engine(planned(replace(VLLM, **choice, expert_parallel=asked), FACTS, on=machine("2xH200")))
        assert settings.get("enable_expert_parallel", False) == asked
