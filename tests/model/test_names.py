"""Whatever people type for a model is found, and a misspelled name is asked about, never guessed."""

from __future__ import annotations

import pytest

from wizard.catalog.models import curated
from wizard.kernel.errors import UsageError
from wizard.model.names import keys, named, reference, similar
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
        ("https://ollama.com/library/llama3.1:8b", "llama3.1:8b"),
        ("https://ollama.com/library/llama3.1:8b/blobs/667b0c1932bc", "llama3.1:8b"),
        ("ollama.com/library/gemma3", "gemma3"),
        ("registry.ollama.ai/library/qwen3:4b", "qwen3:4b"),
        ("ollama run https://ollama.com/library/phi4?x=1#tags", "phi4"),
        ("https://ollama.com/someone/model", "https://ollama.com/someone/model"),
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
        ("llama3.3", "meta-llama/Llama-3.3-70B-Instruct"),
        ("smollm3:latest", "HuggingFaceTB/SmolLM3-3B"),
        ("qwen3:30b", "Qwen/Qwen3-30B-A3B"),
        ("gemma4:26b", "google/gemma-4-26B-A4B-it"),
        ("mistral-small3.2", "mistralai/Mistral-Small-3.2-24B-Instruct-2506"),
        ("llama3.1:8b-instruct-fp16", "meta-llama/Llama-3.1-8B-Instruct"),
        ("llama3.1:8b-instruct-q4_K_M", "meta-llama/Llama-3.1-8B-Instruct:Q4_K_M"),
        ("qwen3-8b-q8_0", "Qwen/Qwen3-8B:Q8_0"),
    ],
)
def test_a_well_known_name_is_found(typed: str, repo: str) -> None:
    assert named(reference(typed)) == repo


@pytest.mark.parametrize("name", curated())
def test_every_model_is_found_by_its_name_and_title(name: str) -> None:
    model = curated()[name]
    assert named(name) == named(model.title) == model.repo


def test_no_two_models_have_the_same_name() -> None:
    known = [each for name, model in curated().items() for each in keys(name, model)]
    assert len(known) == len(set(known))


@pytest.mark.parametrize(
    ("typed", "near"),
    [("lama3.1:8b", "llama-3.1-8b"), ("qwen3:5b", "qwen3.5-4b"), ("dmo", "demo"), ("Qwen/Qwen3 8B", "qwen3-8b")],
)
def test_a_misspelled_name_is_asked_about_and_not_taken(typed: str, near: str) -> None:
    assert near in similar(typed, ["demo"])
    with pytest.raises(UsageError) as caught:
        find(typed, offline=True)
    assert caught.value.code == "TW-M01"
    assert near in caught.value.todo


@pytest.mark.parametrize(
    ("typed", "sizes"),
    [
        ("gemma3", ["gemma-3-1b", "gemma-3-4b", "gemma-3-12b", "gemma-3-27b"]),
        ("gpt-oss", ["gpt-oss-20b", "gpt-oss-120b"]),
        ("llama3.2:latest", ["llama-3.2-1b", "llama-3.2-3b"]),
        ("mistral", ["mistral-small-3.2-24b", "mistral-small-4-119b", "mistral-large-3"]),
        ("qwen3:8", ["qwen3-8b"]),
    ],
)
def test_a_family_is_asked_for_its_size(typed: str, sizes: list[str]) -> None:
    assert named(typed) is None
    assert similar(typed, []) == sizes


@pytest.mark.parametrize(
    "typed", ["llama3", "gemma3:27b-it-qat", "qwen2.5-coder:7b", "phi4:14b-q4_K_M", "q4_k_m", "8b"]
)
def test_a_variant_that_the_catalog_lacks_is_not_its_model(typed: str) -> None:
    assert named(typed) is None


def test_an_unknown_name_is_told_where_the_known_ones_are() -> None:
    with pytest.raises(UsageError) as caught:
        find("deepseek-r1:8b", offline=True)
    assert caught.value.code == "TW-M01"
    assert "triton-wizard advise" in caught.value.todo


def test_a_name_far_from_all_has_no_neighbour() -> None:
    assert similar("zzzzzzzz", ["demo"]) == []


def test_a_name_gives_the_facts_of_its_repository() -> None:
    assert find("qwen3:8b", offline=True).location == "Qwen/Qwen3-8B"
