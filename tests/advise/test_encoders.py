"""Encoders of images and sounds: left out where the engine can, counted or at least named where it cannot."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.model.test_parameters import PUBLIC, facts_of
from tests.worded import text_of
from wizard.advise import encoders
from wizard.model.facts import ModelFacts

BASE = facts_of(PUBLIC["google/gemma-3-4b-it"]["config"])


def counted(facts: ModelFacts, other: int) -> ModelFacts:
    assert facts.anatomy
    parts = replace(facts.anatomy.parts, other=other)
    return replace(facts, anatomy=replace(facts.anatomy, parts=parts), stored=parts, encoders=("vision",))


VISION = counted(BASE, 400_000_000)


@pytest.mark.parametrize(
    ("stack", "engine", "setting"),
    [
        ("vllm", "0.17.0", "language_model_only"),
        ("vllm", "0.31.0+cu130", "language_model_only"),
        ("vllm", "0.16.0", ""),  # no such argument in its wheel
        ("vllm", "", ""),
        ("sglang", "0.5.17", ""),
        ("llamacpp", "1", ""),
    ],
)
def test_the_argument_that_leaves_encoders_out(stack: str, engine: str, setting: str) -> None:
    assert encoders.setting(VISION, stack, engine) == setting
    assert encoders.setting(replace(VISION, encoders=()), stack, engine) == ""


def test_what_is_not_loaded_takes_no_memory() -> None:
    left = encoders.loaded(VISION, "vllm", "0.31.0")
    assert left.anatomy
    assert left.stored
    assert (left.anatomy.parts.other, left.stored.other) == (0, 0)
    assert encoders.loaded(VISION, "sglang", "0.5.17") is VISION


def test_the_advice_names_what_is_and_is_not_counted() -> None:
    (note,) = encoders.notes(VISION, "vllm", "0.31.0")
    assert (note.code, note.params["argument"]) == ("text-only", "language_model_only")
    (note,) = encoders.notes(VISION, "sglang", "0.5.17")
    assert (note.code, note.params["counted"]) == ("encoders", True)
    (note,) = encoders.notes(counted(BASE, 0), "sglang", "0.5.17")
    assert note.params["counted"] is False
    assert encoders.notes(replace(VISION, encoders=()), "sglang", "0.5.17") == ()


@pytest.mark.parametrize(
    ("stack", "engine", "work", "text"),
    [
        ("vllm", "0.16.0", "profiled", "the memory that it works in is not"),
        ("trtllm-llmapi", "1.2.1", "profiled", "the memory that it works in is not"),
        ("sglang", "0.5.17", "reserved", "SGLang keeps free for the encoder is not, so the KV cache may be smaller"),
        ("transformers", "5.23", "idle", "text does not run it"),
    ],
)
def test_the_note_says_what_the_engine_does_with_memory_for_images(
    stack: str, engine: str, work: str, text: str
) -> None:
    (note,) = encoders.notes(VISION, stack, engine)
    assert note.params["work"] == work
    assert text in text_of(note)


def test_config_json_names_the_encoders() -> None:
    assert facts_of({**PUBLIC["google/gemma-3-4b-it"]["config"], "audio_config": {}, "vision_config": {}}).encoders == (
        "vision",
        "audio",
    )
    assert facts_of(PUBLIC["Qwen/Qwen3-8B"]["config"]).encoders == ()
