"""GGUF files that the environment's llama.cpp names, and those that it does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.values import CPU_HOST, GGUF
from tests.worded import remedy_of, text_of
from wizard.advise.advice import Constraints
from wizard.advise.gguf_release import obstacle, unlisted
from wizard.advise.ranking import advise
from wizard.catalog import stacks
from wizard.catalog.environments import environment, environment_of
from wizard.catalog.gguf_names import names
from wizard.catalog.releases import architectures, version
from wizard.model.facts import ModelFacts, Quantization

STACK = "llamacpp"
TABLE = names("gguf")


def of(architecture: str | None, kind: str = "Q8_0") -> ModelFacts:
    return replace(
        GGUF, architecture=architecture, quantization=Quantization("gguf", 8.5, kind, f"gguf_{kind.lower()}")
    )


@pytest.mark.parametrize(
    ("facts", "has", "says"),
    [
        (of("qwen4exp"), "2026.9.10809", ""),
        (of("qwen4exp"), "2026.8.10566", "qwen4exp needs llama.cpp 2026.9.10809; found 2026.8.10566."),
        (of("Qwen3_5MoeForCausalLM"), "0.2.11", "qwen35moe needs llama.cpp 0.2.12; found 0.2.11."),
        (of("Qwen3_5MoeForCausalLM"), "0.2.12", ""),
        (
            of("nosuch"),
            "2026.10.11549",
            "llama.cpp 2026.10.11549 does not support GGUF files with the architecture nosuch.",
        ),
        (of("nosuch"), "2027.1.20000", ""),  # newer than what was read
        (of("NoSuchForCausalLM"), "2026.10.11549", ""),
        (of(None), "2026.10.11549", ""),
        (
            of("clip"),
            "2026.10.11549",
            "llama.cpp 2026.10.11549 does not support GGUF files with the architecture clip.",
        ),
        (of("llama", "Q2_0"), "2026.6.9713", "Q2_0 needs llama.cpp 2026.7.10068; found 2026.6.9713."),
        (of("llama", "Q2_0"), "2026.7.10068", ""),
        (of("llama", "type 99"), "2026.10.11549", ""),
    ],
)
def test_a_release_serves_what_it_names(facts: ModelFacts, has: str, says: str) -> None:
    why = obstacle(facts, STACK, has)
    assert (text_of(why) if why else "") == says


def test_an_unnamed_architecture_is_refused_with_a_remedy() -> None:
    advice = advise(CPU_HOST, of("nosuch"), Constraints(stack=STACK))
    assert [rejection.code for rejection in advice.rejections] == ["architecture"]
    assert "original repository" in remedy_of(advice.rejections[0])


def test_an_unknown_class_is_a_warning() -> None:
    choice = advise(CPU_HOST, of("NoSuchForCausalLM"), Constraints()).choices[0]
    assert [note.code for note in choice.warnings].count("unlisted") == 1
    assert "unlisted" not in {note.code for note in advise(CPU_HOST, GGUF, Constraints()).choices[0].warnings}


def test_each_choice_names_its_engine() -> None:
    assert advise(CPU_HOST, GGUF, Constraints()).choices[0].engine_version == environment_of(STACK).engine_version


def test_both_environments_have_the_release_that_is_judged() -> None:
    serves = stacks.facts(STACK).cpu
    assert serves
    assert serves.offload
    assert environment(serves.offload.environment).engine_version == environment_of(STACK).engine_version


def test_the_table_covers_the_environment_and_the_lists_that_other_engines_have() -> None:
    assert version(TABLE.read[1]) >= version(environment_of(STACK).engine_version)
    assert all(name == name.lower() for name in TABLE.architectures)
    assert all(name != name.lower() for name in TABLE.models)
    assert set(TABLE.models.values()) <= set(TABLE.architectures)
    assert {"LlamaForCausalLM", "GptOssForCausalLM", "Gemma4ForConditionalGeneration"} <= set(TABLE.models)
    shared = {model.name for model in architectures().models} & set(TABLE.models)
    assert len(shared) > 60, "the two tables name classes in the same way"


def test_the_codes_of_the_obstacles() -> None:
    """A file's type has its own code: with a GPU, obstacles with ``format`` are those of a missing file."""
    unnamed, newer = obstacle(of("nosuch"), STACK, "2026.10.11549"), obstacle(of("llama", "Q2_0"), STACK, "2026.6.9713")
    assert unnamed
    assert newer
    assert (unnamed.code, newer.code) == ("architecture", "file-type")
    assert "another GGUF file" in remedy_of(newer)


@pytest.mark.parametrize(
    ("has", "says"),
    [("2026.7.10068", ""), ("2026.7.10069", "llama needs llama.cpp 2026.7.10068 or older; found 2026.7.10069.")],
)
def test_a_name_that_was_dropped_needs_an_older_release(monkeypatch: pytest.MonkeyPatch, has: str, says: str) -> None:
    """No release has dropped one so far."""
    dropped = replace(TABLE, last={"llama": "2026.7.10068"})
    monkeypatch.setattr("wizard.advise.gguf_release.names", lambda _: dropped)
    why = obstacle(of("llama"), STACK, has)
    assert (text_of(why) if why else "") == says


def test_nothing_is_unlisted_that_no_table_could_list() -> None:
    assert [note.code for note in unlisted(of("NoSuchForCausalLM"), STACK)] == ["unlisted"]
    for facts, stack in ((of("llama"), STACK), (of(None), STACK), (of("NoSuchForCausalLM"), "vllm")):
        assert unlisted(facts, stack) == ()
