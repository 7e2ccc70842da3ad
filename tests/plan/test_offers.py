"""What is offered, in which order, and what is said of it, with and without a hub."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.chain_model import write_chain_model
from tests.model.fake_hub import FakeHub, FakeRepo
from tests.values import CPU_HOST
from tests.worded import saying
from wizard.advise.verdict import Verdict
from wizard.catalog import profiles
from wizard.catalog.models import cpu_models, gpu_models
from wizard.catalog.recipes import recipe
from wizard.kernel.errors import ModelError, NetworkError
from wizard.plan.offers import Suggestion, details, search, suggestions, with_verdict
from wizard.probe.shorthand import host
from wizard.texts.advise import verdict

SUGGESTION = Suggestion("org/chat", "org/chat", "", None, None, needs_network=True, usable=True, place="hub")


@pytest.fixture
def weights(tmp_path: Path) -> bytes:
    return write_chain_model(tmp_path / "chain.gguf").read_bytes()


def test_the_list_is_there_at_once_without_a_hub_and_leaves_open_what_only_it_knows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with FakeHub({}, "silent") as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        offers = suggestions(CPU_HOST, None, offline=False, ask=False)
        assert hub.requests == []
    assert [suggestion.ref for suggestion in offers[: len(cpu_models())]] == [
        cpu_model.ref for cpu_model in cpu_models()
    ]
    assert all(
        suggestion.usable and suggestion.verdict is None and suggestion.parameters
        for suggestion in offers[: len(cpu_models())]
    )
    demo = next(suggestion for suggestion in offers if suggestion.ref == "demo")
    assert demo.verdict is not None
    assert demo.verdict.word == "fits"


def test_on_a_gpu_its_models_have_their_verdicts_at_once_and_what_fits_comes_first() -> None:
    offers = suggestions(host("1xA10"), None, offline=False, ask=False)
    verdicts = [
        suggestion.verdict.word if suggestion.verdict else None for suggestion in offers if suggestion.ref != "demo"
    ]
    assert verdicts == sorted(verdicts, key=["fits", None, "tight", "no"].index)
    assert (offers[0].ref, offers[0].usable) == ("Qwen/Qwen2.5-7B-Instruct", True)
    assert {gpu_model.ref for gpu_model in gpu_models()} <= {suggestion.ref for suggestion in offers}
    llama = next(suggestion for suggestion in offers if "Llama-3.1-8B" in suggestion.ref)
    assert llama.gated


def test_without_a_gpu_models_that_need_one_are_not_in_the_list() -> None:
    refs = {suggestion.ref for suggestion in suggestions(CPU_HOST, None, offline=True, ask=False)}
    assert not refs & {gpu_model.ref for gpu_model in gpu_models()}


def test_without_a_hub_what_needs_it_comes_behind_what_does_not() -> None:
    offers = suggestions(host("1xA10"), None, offline=True, ask=True)
    assert offers[0].ref == "demo"
    needy = [suggestion.needs_network for suggestion in offers if suggestion.usable]
    assert needy == sorted(needy)


def test_what_is_on_this_disk_is_below_the_recommended_one(weights: bytes, tmp_path: Path) -> None:
    (tmp_path / "models" / "mine-1234").mkdir(parents=True)
    file = tmp_path / "models" / "mine-1234" / "mine.gguf"
    file.write_bytes(weights)
    (tmp_path / "models" / "broken-1").mkdir()
    (tmp_path / "models" / "broken-1" / "broken.gguf").write_bytes(b"GGUF")
    first, second, *others = suggestions(CPU_HOST, tmp_path / "models", offline=True, ask=True)
    assert first.ref == "demo"
    assert (second.ref, second.title, second.place) == (str(file), "mine.gguf", "here")
    assert second.download_bytes == 0
    assert not any(other.place == "here" for other in others)  # what is damaged is left out


def test_a_served_copy_of_the_bundled_model_is_listed_once(tmp_path: Path) -> None:
    folder = tmp_path / "models" / "demo-1234"
    folder.mkdir(parents=True)
    shutil.copy(profiles.find(recipe("demo").model), folder)
    offers = suggestions(CPU_HOST, tmp_path / "models", offline=True, ask=True)
    assert [suggestion.ref for suggestion in offers if suggestion.verdict] == ["demo"]


def test_the_hub_is_asked_about_what_is_not_known(weights: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    default = cpu_models()[0]
    repos = {default.repo: FakeRepo({str(default.file): weights}, {"gated": "auto"})}
    with FakeHub(repos) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        first, *others = suggestions(CPU_HOST, None, offline=False, ask=True)
    assert first.ref == default.ref
    assert first.verdict is not None
    assert first.gated
    missing = next(other for other in others if other.ref == cpu_models()[1].ref)
    assert not missing.usable
    assert missing.why_not


def test_a_search_says_what_the_hub_says_and_a_verdict_comes_later(
    weights: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    repos = {"org/chat": FakeRepo({"chat.gguf": weights}, {"downloads": 7, "tags": ["license:mit"]})}
    with FakeHub(repos) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        (suggestion,) = search("chat", offline=False)
        assert suggestion == replace(SUGGESTION, licence="mit", downloads=7, gated=False)
        now = with_verdict(CPU_HOST, suggestion)
    assert now.verdict is not None
    assert now.verdict.word == "fits"
    assert now.download_bytes == len(weights)
    assert now.downloads == 7


def test_searching_and_judging_without_a_hub() -> None:
    with pytest.raises(NetworkError, match="offline mode is on") as caught:
        search("chat", offline=True)
    assert caught.value.code == "TW-M13"
    with pytest.raises(NetworkError):
        search("chat", offline=False)
    with pytest.raises(ModelError):
        with_verdict(CPU_HOST, SUGGESTION, offline=True)


HERE = {"download_bytes": 0, "needs_network": False}


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({}, ["license unknown", "on the Hub"]),
        ({"downloads": 1200, "licence": "mit"}, ["mit", "on the Hub", "1.2 K downloads in 30 days"]),
        ({"gated": True, "parameters": 8_000_000_000}, ["8 B parameters", "license unknown", "gated: accept"]),
        ({"place": "offered"}, ["size unknown", "license unknown", "needs the network"]),
        ({"place": "offered", "download_bytes": 1 << 30}, ["1.0 GiB to download", "license unknown"]),
        (
            {"place": "offered", "download_bytes": 0, "needs_network": False},
            ["no weights to download", "works offline"],
        ),
        ({"place": "here", "download_bytes": 0, "needs_network": False}, ["no weights to download", "on this machine"]),
    ],
)
def test_what_is_not_known_is_not_shown(changes: dict[str, object], parts: list[str]) -> None:
    text = " · ".join(details(replace(SUGGESTION, **changes)))  # type: ignore[arg-type]
    for part in parts:
        assert part in text
    assert "None" not in text
    assert ("parameters" in text) == ("parameters" in changes)


def test_verdicts_as_text() -> None:
    assert verdict(Verdict("no", saying("why"))) == ("not possible", "why")
