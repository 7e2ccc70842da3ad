"""A refusal ends with models that would fit: of the same family first, then the nearest in size."""

from __future__ import annotations

import pytest

from tests.advise.worlds import LLAMA_8B, LLAMA_405B, facts_of, machine
from tests.values import CPU_HOST
from wizard.advise.advice import Constraints
from wizard.advise.nearest import BITS, ROOM, family, nearest
from wizard.advise.ranking import advise
from wizard.catalog.models import curated
from wizard.model.source import find


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Qwen3-8B", "qwen"), ("Qwen2.5 7B", "qwen"), ("gpt-oss-20b", "gptoss"), ("Meta-Llama-3-70B-Instruct", "llama")],
)
def test_a_family_is_what_comes_before_the_version(name: str, expected: str) -> None:
    assert family(name) == expected


@pytest.mark.parametrize("where", ["1xT4", "1xA10", "1xH100"])
def test_the_models_fit_and_the_same_family_comes_first(where: str) -> None:
    host = machine(where)
    models = nearest(host, find("Qwen/Qwen3-32B", offline=True), curated())
    assert len(models) == 2
    free = host.gpus[0].memory_free_bytes or 0
    assert all(model.on == "gpu" and model.parameters * BITS["gpu"] / 8 <= ROOM * free for model in models)
    assert all(family(model.title) == "qwen" for model in models)


def test_without_models_that_fit_there_are_none() -> None:
    assert nearest(machine("1xA10"), facts_of(LLAMA_8B), ()) == ()


@pytest.mark.parametrize("where", ["1xT4", "1xA10"])
def test_a_model_that_is_too_large_is_refused_with_two_that_are_served(where: str) -> None:
    host = machine(where)
    advice = advise(host, facts_of(LLAMA_405B), Constraints())
    assert not advice.feasible
    refs = [remedy.params["model"] for remedy in advice.rejections[0].remedies if remedy.code == "other-model"]
    assert len(refs) == 2
    for ref in refs:
        assert advise(host, find(str(ref), offline=True), Constraints()).feasible


def test_on_a_cpu_gguf_files_are_named() -> None:
    advice = advise(CPU_HOST, find("Qwen/Qwen3-8B", offline=True), Constraints())
    refs = [remedy.params["model"] for remedy in advice.rejections[0].remedies if remedy.code == "other-model"]
    assert refs
    assert all(str(ref).endswith(".gguf") and str(ref).startswith("Qwen/") for ref in refs[:1])
