"""Speculative decoding: what it needs, what prevents it, and what vLLM is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.advise.test_gpu import choices, rejections
from tests.advise.worlds import LLAMA_8B, facts_of
from tests.plan.stack_values import FACTS, VLLM, engine, planned
from tests.worded import text_of
from wizard.advise import memory
from wizard.advise.setup import LOOKAHEAD, Setup

PLAIN = Setup("vllm", "bfloat16", "none")
NGRAM = replace(PLAIN, speculative="ngram")


def test_the_tokens_that_are_proposed_have_room() -> None:
    facts = facts_of(LLAMA_8B)
    (choice,) = choices("1xH100", facts, stack="vllm", quantization="none", speculative="ngram", users=9)
    assert choice.speculative == "ngram"
    assert facts.anatomy is not None
    each = memory.sequence_bytes(facts.anatomy, PLAIN, choice.max_seq_len + LOOKAHEAD, 8192)
    assert each * 9 <= choice.memory.kv_capacity_tokens * choice.memory.kv_bytes_per_token
    plain = memory.outside(facts.anatomy, PLAIN, 9)
    assert memory.outside(facts.anatomy, NGRAM, 9) > plain  # graphs of more tokens
    logits = 8 * 512 * (1 + LOOKAHEAD) * facts.anatomy.vocabulary
    assert memory.activations(facts.anatomy, NGRAM, 512, 2048) == logits + 2 * 2 * 2048 * 4096
    (speed,) = (text_of(note) for note in choice.warnings if note.code == "speed")
    assert speed == "Speed unknown: with speculative decoding it depends on how many proposed tokens are accepted."


@pytest.mark.parametrize("asked", [None, "none"])
def test_there_is_none_unless_it_is_asked_for(asked: str | None) -> None:
    assert {choice.speculative for choice in choices("1xH100", speculative=asked)} == {""}


@pytest.mark.parametrize(
    ("model", "constraints", "text"),
    [
        (LLAMA_8B, {"stack": "vllm", "release": "25.05"}, "(ngram) needs vLLM 0.9.2 or later; found 0.8.4."),
        (LLAMA_8B, {"stack": "sglang"}, "The wizard does not set up speculative decoding (ngram) with SGLang."),
        (LLAMA_8B, {"stack": "vllm", "pp": 2}, "without pipeline stages"),
        ("Qwen/Qwen3.5-27B", {"stack": "vllm", "runtime": "native"}, "recurrent states"),
    ],
)
def test_what_cannot_be_met_is_refused(model: str, constraints: dict[str, Any], text: str) -> None:
    refused = rejections("8xH100", model, speculative="ngram", **constraints)
    (refusal,) = {text_of(rejection): rejection for rejection in refused if rejection.code == "speculative"}.values()
    assert text in text_of(refusal)
    assert refusal.remedies[-1].changes == {"speculative": None}


def test_vllm_is_told() -> None:
    assert "speculative_config" not in engine(planned(VLLM, FACTS))[1]
    choice = replace(VLLM, speculative="ngram", step_tokens=2048, max_batch_size=400)
    _, settings, _ = engine(planned(choice, FACTS))
    assert settings["speculative_config"] == {
        "method": "ngram",
        "num_speculative_tokens": LOOKAHEAD,
        "prompt_lookup_max": 4,
    }
    assert settings["max_num_batched_tokens"] == 400 * (1 + LOOKAHEAD)  # a step verifies the tokens of all
