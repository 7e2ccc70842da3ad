"""Gemma 3n and Gemma 4: a table of embeddings for each layer, and layers without a cache of their own."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from wizard.advise import cpu, cpu_speed, memory
from wizard.advise.advice import Constraints
from wizard.advise.devices import devices
from wizard.advise.ranking import advise
from wizard.advise.setup import Setup
from wizard.advise.speed import work
from wizard.kernel.units import GIB
from wizard.model.config import describe
from wizard.model.facts import GgufFile, ModelFacts
from wizard.model.gguf_files import as_file
from wizard.probe.shorthand import host
from wizard.texts.explain import figures

CONFIGS = json.loads((Path(__file__).parents[1] / "model" / "configs" / "more.json").read_text())
TABLE = {"google/gemma-4-E2B-it": 262_144 * 35 * 256, "google/gemma-4-E4B-it": 262_144 * 42 * 256}
"""The model → weights of its table: vocabulary × layers × width."""


def facts_of(name: str) -> ModelFacts:
    return describe(ModelFacts(name, "folder", name, name, None, None), CONFIGS[name]["config"])


def as_q4(name: str) -> ModelFacts:
    return as_file(facts_of(name), GgufFile("o/g-GGUF", "g-Q4_K_M.gguf", "Q4_K_M", 4 * GIB))


@pytest.mark.parametrize("name", TABLE)
def test_the_table_is_in_memory_but_no_token_reads_it(name: str) -> None:
    facts = facts_of(name)
    assert facts.anatomy
    parts, setup = facts.anatomy.parts, Setup("vllm", "bfloat16", "none")
    rates = devices(host("H100"))[0].rates
    assert rates
    assert parts.layer_embedding == TABLE[name]
    assert parts.embedding == 262_144 * facts.anatomy.hidden
    rest = parts.total - TABLE[name]
    assert work(facts, facts.anatomy, rates, setup).dense_bytes == 2 * rest
    assert facts.anatomy.active == rest
    assert memory.rank_weights(parts, facts.anatomy, 1, 1) == parts.total


def test_the_ends_of_a_pipeline_have_the_table_or_the_tied_head() -> None:
    anatomy = facts_of("google/gemma-4-E4B-it").anatomy
    assert anatomy
    parts = anatomy.parts
    layers = parts.total - parts.embedding - parts.layer_embedding
    assert memory.rank_weights(parts, anatomy, 1, 2) == layers // 2 + parts.embedding + parts.layer_embedding


def test_active_weights_are_those_of_the_card() -> None:
    """2.3 and 4.5 billion effective parameters: the names E2B and E4B count without the embeddings of each layer."""
    for name, effective in (("google/gemma-4-E2B-it", 2.3e9), ("google/gemma-4-E4B-it", 4.5e9)):
        anatomy = facts_of(name).anatomy
        assert anatomy
        assert anatomy.active == pytest.approx(effective, rel=0.05)


def test_a_cpu_reads_a_row_of_the_table() -> None:
    facts = as_q4("google/gemma-4-E2B-it")
    todo = cpu_speed.work(facts, 0)
    assert todo
    assert facts.anatomy
    assert facts.stored
    assert todo.weights == facts.anatomy.active
    assert todo.dense_bytes == facts.stored.total - facts.stored.layer_embedding


def test_llamacpp_keeps_the_table_on_the_host_and_copies_the_tied_embedding_only() -> None:
    facts = as_q4("google/gemma-4-E4B-it")
    assert facts.stored
    made = facts.gguf_layers
    assert made
    assert made.output == pytest.approx(facts.stored.embedding, abs=1)
    assert made.input == pytest.approx(facts.stored.embedding + facts.stored.layer_embedding, abs=1)


def test_llamacpp_allocates_no_cache_for_layers_that_reuse_one() -> None:
    """Of the 15 layers of E2B with a cache three attend to everything, with heads of 512 elements."""
    facts = as_q4("google/gemma-4-E2B-it")
    assert cpu.kv_bytes_per_token(facts, "f16") == 2 * 2 * (3 * 512 + 12 * 256)
    assert sum(group.layers for group in cpu.caches(facts)) == 15


def test_the_cache_of_layers_with_their_own_is_explained() -> None:
    where, facts = host("cpu"), facts_of("google/gemma-4-E2B-it")
    facts = replace(facts, source="hub", location="google/gemma-4-E2B-it")
    choice = advise(where, facts, Constraints(users=1)).choices[0]
    (figure,) = [each for each in figures(where, facts, choice) if each.name == "KV cache per token"]
    assert figure.value == 18_432
    assert figure.formula == "2 × (3 layers × 1 KV heads × 512 + 12 layers × 1 KV heads × 256) × 2 bytes"
