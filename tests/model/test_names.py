"""Whatever people type for a model is found, and a misspelled name is asked about, never guessed."""

from __future__ import annotations

import pytest

from wizard.catalog.models import curated
from wizard.kernel.errors import UsageError
from wizard.model.names import key, named, reference, similar
from wizard.model.source import find


@pytest.mark.parametrize(
    ("typed", "ref"),
    [
        ("hf.co/Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
        ("https://huggingface.co/Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
        ("https://huggingface.co/Qwen/Qwen3-8B/", "Qwen/Qwen3-8B"),
        ("https://huggingface.co/Qwen/Qwen3-8B/tree/main", "Qwen/Qwen3-8B"),
        ("https://huggingface.co/Qwen/Qwen3-8B/tree/abc123?x=1", "Qwen/Qwen3-8B@abc123"),
        ("https://huggingface.co/Qwen/Q-GGUF/blob/main/q-q8_0.gguf", "Qwen/Q-GGUF:q-q8_0.gguf"),
        ("https://huggingface.co/Qwen/Q-GGUF/resolve/main/q-q8_0.gguf?download=true", "Qwen/Q-GGUF:q-q8_0.gguf"),
        ("ollama run qwen3:4b", "qwen3:4b"),
        ("ollama run hf.co/Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
        ("hf.co/bartowski/Q-GGUF:Q4_K_M", "bartowski/Q-GGUF:Q4_K_M"),
        ("ollama run hf.co/bartowski/Q-GGUF:latest", "bartowski/Q-GGUF"),
        ("hf download Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
        ("Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
        ("./folder", "./folder"),
        ("/data/huggingface.co/a/b", "/data/huggingface.co/a/b"),
    ],
)
def test_addresses_and_commands_are_references(typed: str, ref: str) -> None:
    assert reference(typed) == ref


@pytest.mark.parametrize(
    ("typed", "repo"),
    [
        ("llama3.1:8b", "meta-llama/Llama-3.1-8B-Instruct"),
        ("llama-3.1-8b", "meta-llama/Llama-3.1-8B-Instruct"),
        ("Llama 3.1 8B Instruct", "meta-llama/Llama-3.1-8B-Instruct"),
        ("qwen3:4b", "Qwen/Qwen3-4B"),
        ("QWEN3:4B", "Qwen/Qwen3-4B"),
        ("gpt-oss-20b", "openai/gpt-oss-20b"),
        ("gpt-oss:20b", "openai/gpt-oss-20b"),
        ("ollama run phi-4", "microsoft/phi-4"),
        ("qwen2.5:7b-instruct", "Qwen/Qwen2.5-7B-Instruct"),
    ],
)
def test_a_well_known_name_is_found(typed: str, repo: str) -> None:
    assert named(reference(typed)) == repo


@pytest.mark.parametrize("name", curated())
def test_every_model_is_found_by_its_name_and_title(name: str) -> None:
    model = curated()[name]
    assert named(name) == named(model.title) == model.repo


def test_no_two_models_have_the_same_name() -> None:
    keys = [key(model.title) for model in curated().values()]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(
    ("typed", "near"), [("lama3.1:8b", "llama-3.1-8b"), ("qwen3:5b", "qwen3.5-4b"), ("dmo", "demo")]
)
def test_a_misspelled_name_is_asked_about_and_not_taken(typed: str, near: str) -> None:
    assert near in similar(typed, ["demo"])
    with pytest.raises(UsageError) as caught:
        find(typed, offline=True)
    assert caught.value.code == "TW-M01"
    assert near in caught.value.todo


def test_a_name_far_from_all_has_no_neighbour() -> None:
    assert similar("zzzzzzzz", ["demo"]) == []


def test_a_name_gives_the_facts_of_its_repository() -> None:
    assert find("qwen3:8b", offline=True).location == "Qwen/Qwen3-8B"
