"""Models that an engine names although the library for their configuration is too old."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.advise.worlds import LLAMA_8B, facts_of, machine
from tests.worded import text_of
from wizard.advise.advice import Constraints
from wizard.advise.config_library import CODE, notes
from wizard.advise.ranking import advise
from wizard.catalog import stacks
from wizard.catalog.config_library import allows, config_library
from wizard.catalog.environments import engines, environment, pinned
from wizard.catalog.releases import architectures, images, version
from wizard.model.facts import ModelFacts

LIBRARY = config_library()
LLAMA = facts_of(LLAMA_8B)


def of(name: str) -> ModelFacts:
    return replace(LLAMA, architecture=name, rope=None)


@pytest.mark.parametrize(
    ("requirement", "wanted", "possible"),
    [
        ("==4.57.1", "5.0.0", False),
        ("==5.5.4", "5.5.0", True),
        ("==5.5.0", "5.5.0", True),
        ("<5,>=4.56.0", "5.5.0", False),
        ("<5,>=4.56.0", "5.0.0", False),
        ("<5,>=4.56.0", "4.57.0", True),
        ("<5.18.0,>=5.10.4", "5.17.0", True),
        ("<5.18.0,>=5.10.4", "5.20.0", False),
        ("!=5.0.*,!=5.5.0,>=4.56.0", "5.20.0", True),  # no upper bound
        ("==5.0.0rc0", "5.0.0", True),
        ("", "5.0.0", True),
    ],
)
def test_what_a_requirement_allows(requirement: str, wanted: str, possible: bool) -> None:
    assert allows(requirement, wanted) is possible


@pytest.mark.parametrize(
    ("name", "stack", "has", "where", "warned"),
    [
        ("Gemma4ForConditionalGeneration", "vllm", "0.19.0", None, True),  # requires <5
        ("Gemma4ForConditionalGeneration", "vllm", "0.19.1", "vllm-cuda12", False),  # 5.5.4 has it
        ("Gemma4ForConditionalGeneration", "vllm", "0.24.0", None, False),
        ("Gemma4ForConditionalGeneration", "sglang", "0.5.10", None, True),  # requires 5.3.0
        ("Qwen3_5ForCausalLM", "vllm", "0.19.0", None, False),  # vLLM brings it
        ("KimiLinearForCausalLM", "vllm", "0.19.1", "vllm-cuda12", False),
        ("LlamaForCausalLM", "vllm", "0.19.0", None, False),
        ("MiniCPM3ForCausalLM", "sglang", "0.5.17", "sglang", True),
        ("NoSuchForCausalLM", "vllm", "0.19.0", None, False),
        ("MiniCPM3ForCausalLM", "transformers", "4.40.0", None, False),
        ("MiniCPM3ForCausalLM", "vllm", "0.5.5", None, False),  # older than what was read
    ],
)
def test_a_model_newer_than_the_library_is_warned_about(
    name: str, stack: str, has: str, where: str | None, warned: bool
) -> None:
    warnings = notes(of(name), stack, has, environment(where) if where else None)
    assert [note.code for note in warnings] == [CODE] * warned


def test_a_model_with_its_own_code_brings_its_configuration() -> None:
    assert notes(replace(of("MiniCPM3ForCausalLM"), needs_remote_code=True), "sglang", "0.5.17", None) == ()


def test_the_warning_names_the_versions() -> None:
    advice = advise(
        machine("1xH100"), of("Gemma4ForConditionalGeneration"), Constraints(stack="vllm", release="0.19.0")
    )
    texts = [text_of(note) for choice in advice.choices for note in choice.warnings if note.code == CODE]
    assert set(texts) == {
        "vLLM 0.19.0 reads the configuration of Gemma4ForConditionalGeneration with transformers, which supports it "
        "since 5.5.0. vLLM 0.19.0 requires transformers <5,>=4.56.0, so loading may fail unless a newer one is "
        "installed."
    }


def test_an_environment_is_named_with_its_pin() -> None:
    (note,) = notes(of("MiniCPM3ForCausalLM"), "sglang", "0.5.17", environment("sglang"))
    assert "The environment has transformers 5.12.1" in text_of(note)


@pytest.mark.parametrize("stack", [name for name in stacks.names() if stacks.facts(name).floors in LIBRARY.ranges])
def test_the_pins_meet_what_the_engine_requires(stack: str) -> None:
    column = stacks.facts(stack).floors
    for each in engines(stack):
        pin = pinned(each, LIBRARY.library)
        assert pin
        assert allows(LIBRARY.required(column, each.engine_version), pin)


def test_the_table_knows_the_images_and_the_models() -> None:
    assert all(
        LIBRARY.required("vllm", release.engine)
        for release in images("vllm").releases
        if version(release.engine) > (0, 6)
    )
    names = {model.name for model in architectures().models}
    assert all(set(models) <= names for models in LIBRARY.own.values())
