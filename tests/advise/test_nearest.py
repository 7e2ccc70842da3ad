"""A refusal ends with models that would fit: of the same family first, then the nearest in size."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.advise.worlds import LLAMA_8B, LLAMA_405B, facts_of, machine
from tests.values import CPU_HOST
from wizard.advise.advice import Constraints
from wizard.advise.best import ROOM, estimates, room, weight_bytes
from wizard.advise.nearest import family, nearest
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
    free = room(host)
    assert all(weight_bytes(free, model) <= ROOM * free.bytes for model in models)
    assert all(family(model.title) == "qwen" for model in models)


def test_without_models_that_fit_there_are_none() -> None:
    assert nearest(machine("1xA10"), facts_of(LLAMA_8B), {}) == ()


@pytest.mark.parametrize("where", ["1xT4", "1xA10"])
def test_a_model_that_is_too_large_is_refused_with_two_that_are_served(where: str) -> None:
    host = machine(where)
    advice = advise(host, facts_of(LLAMA_405B), Constraints())
    assert not advice.feasible
    refs = [remedy.params["model"] for remedy in advice.rejections[0].remedies if remedy.code == "other-model"]
    assert len(refs) == 2
    for ref in refs:
        assert advise(host, find(str(ref), offline=True), Constraints()).feasible


def test_without_a_gpu_models_are_named_that_answer_at_reading_pace() -> None:
    advice = advise(CPU_HOST, facts_of(LLAMA_405B), Constraints())
    refs = [remedy.params["model"] for remedy in advice.rejections[0].remedies if remedy.code == "other-model"]
    fast = {each.name for each in estimates(CPU_HOST, curated()) if each.fits and each.keeps_pace}
    assert len(refs) == 2
    assert set(refs) <= {curated()[name].repo for name in fast}


def test_a_model_is_no_remedy_for_itself() -> None:
    """Nor is one that the GPU holds a part of only."""
    host = machine("1xRTX4060")
    itself = replace(find("Qwen/Qwen3-32B", offline=True), name="gpt-oss-20b", location="/models/gpt-oss-20b")
    for facts in (itself, replace(itself, name="GPT-OSS 32B")):
        assert [model.repo for model in nearest(host, facts, curated()) if "gpt-oss" in model.repo] == []
    qwen = find("Qwen/Qwen3-14B", offline=True)
    folder = replace(qwen, source="folder", location="/models/Qwen3-14B")
    assert "Qwen/Qwen3-14B" not in [model.repo for model in nearest(host, folder, curated(), most=9)]
