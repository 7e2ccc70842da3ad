"""What is offered, in which order, and what is said of it, with and without a hub."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.advise.worlds import LLAMA_8B, LLAMA_405B, facts_of
from tests.chain_model import write_chain_model
from tests.model.fake_hub import FakeHub, FakeRepo
from tests.values import CPU_HOST
from tests.worded import saying
from wizard.advise.advice import Constraints
from wizard.advise.best import READING_MS
from wizard.advise.ranking import advise
from wizard.advise.reasons import because
from wizard.advise.verdict import Verdict
from wizard.catalog import profiles
from wizard.catalog.models import curated
from wizard.catalog.recipes import recipe
from wizard.kernel.errors import ModelError, NetworkError
from wizard.model.facts import WeightFile
from wizard.model.shipped_configs import has_config
from wizard.plan import offers as offers_module
from wizard.plan.offers import JUDGED, Suggestion, details, search, suggestions, with_verdict
from wizard.probe.host import Host
from wizard.probe.shorthand import host
from wizard.texts.advise import verdict

SUGGESTION = Suggestion("org/chat", "org/chat", place="hub")


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
    first, *others = offers
    assert (first.usable, first.group, first.estimated and first.estimated.fits) == (True, "best", True)
    assert all(offer.parameters and offer.date and offer.estimated for offer in offers if offer.ref != "demo")
    demo = next(suggestion for suggestion in others if suggestion.ref == "demo")
    assert demo.verdict is not None
    assert demo.verdict.word == "fits"


@pytest.mark.parametrize("where", ["1xT4", "1xA10", "1xH100", "8xH100"])
def test_on_a_gpu_the_best_is_first_and_then_the_sizes_follow_one_by_one(where: str) -> None:
    offers = suggestions(host(where), None, offline=False, ask=False)
    assert offers[0].group == "best"
    assert offers[0].ref != "demo"
    groups = [offer.group for offer in offers[1:]]
    assert groups == sorted(groups, key=list(dict.fromkeys(groups)).index)
    assert {model.repo for model in curated().values()} <= {suggestion.ref for suggestion in offers}
    llama = next(suggestion for suggestion in offers if "Llama-3.1-8B" in suggestion.ref)
    assert llama.gated
    for group in set(groups):
        usable = [offer.usable for offer in offers if offer.group == group]
        assert usable == sorted(usable, reverse=True)


def test_a_larger_machine_is_offered_a_larger_or_newer_model() -> None:
    """By the score: what two machines can serve, the larger one is not offered a worse model first."""
    first = [suggestions(host(where), None, offline=False, ask=False)[0] for where in ("1xT4", "1xH100", "8xH100")]
    scores = [offer.estimated.score for offer in first if offer.estimated]
    assert len(scores) == 3
    assert scores == sorted(scores)


def test_only_some_of_each_size_are_judged_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[str] = []

    def count(_: Host, suggestion: Suggestion, **_how: object) -> Suggestion:
        judged.append(suggestion.ref)
        return suggestion

    monkeypatch.setattr(offers_module, "with_verdict", count)
    monkeypatch.setattr("wizard.model.on_disk.stored_models", lambda folder: [])
    suggestions(host("8xH100"), Path("/m"), offline=False, ask=False)
    sizes = [model.size for model in curated().values() if model.repo in judged]
    assert sorted(sizes) == ["large"] * JUDGED + ["medium"] * JUDGED + ["small"] * JUDGED


def test_without_a_hub_models_with_a_bundled_configuration_are_judged() -> None:
    offers = suggestions(host("1xL4"), None, offline=True, ask=False)
    judged = {offer.ref for offer in offers if offer.usable and offer.ref != "demo"}
    assert len(judged) >= JUDGED
    assert all(has_config(ref) for ref in judged)
    texts = [details(offer) for offer in offers if offer.ref in judged]
    assert all("needs a network connection" in each for each in texts)
    assert (offers[0].ref, offers[0].group) == ("demo", "included")


def test_what_the_verdict_says_comes_before_what_the_size_says(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = suggestions(host("1xH100"), None, offline=False, ask=False)
    best = plain[0]

    def judged(_: Host, suggestion: Suggestion, **_how: object) -> Suggestion:
        word = "tight" if suggestion.ref == best.ref else "fits"
        return replace(suggestion, verdict=Verdict(word, None))  # type: ignore[arg-type]

    monkeypatch.setattr(offers_module, "with_verdict", judged)
    offers = suggestions(host("1xH100"), None, offline=False, ask=False)
    assert offers[0].ref != best.ref
    slow = replace(offers[0], verdict=Verdict("fits", because("served", gpus=1, tpot_ms=READING_MS + 1)))
    assert "slower than most people read" in details(slow)
    assert "slower than most people read" not in details(offers[0])


def test_without_a_gpu_only_models_with_gguf_files_are_listed() -> None:
    models = {model.repo: model for model in curated().values()}
    refs = {suggestion.ref for suggestion in suggestions(CPU_HOST, None, offline=True, ask=False)} - {"demo"}
    assert refs
    assert all(models[ref].files for ref in refs)


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
    assert [suggestion.ref for suggestion in offers if not suggestion.needs_network] == ["demo"]


def test_the_hub_is_asked_about_what_is_not_known(weights: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    before = suggestions(CPU_HOST, None, offline=False, ask=False)
    default = next(offer.ref for offer in before if offer.verdict is None)
    with FakeHub({default: FakeRepo({"chat.gguf": weights}, {"gated": "auto"})}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        offers = suggestions(CPU_HOST, None, offline=False, ask=True)
    known = next(offer for offer in offers if offer.ref == default)
    assert known.verdict is not None
    assert known.gated
    missing = [offer for offer in offers if not offer.usable and offer.verdict is None]
    assert missing
    assert all(offer.why_not for offer in missing)


def described(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    """Whatever is asked for is this model."""
    facts = replace(facts_of(LLAMA_8B), ref="org/chat", **changes)
    monkeypatch.setattr("wizard.model.source.find", lambda ref, *, offline: facts)


@pytest.mark.parametrize(
    ("known", "stated", "shown"),
    [
        (None, None, None),
        ("MIT", None, "MIT"),
        (None, "mit", "mit"),
        ("MIT", "mit", "MIT"),
        ("MIT", "apache-2.0", "apache-2.0"),
    ],
)
def test_a_license_is_written_as_the_list_writes_it(
    known: str | None, stated: str | None, shown: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    described(monkeypatch, licence=stated)
    assert with_verdict(host("1xH200"), replace(SUGGESTION, licence=known)).licence == shown


@pytest.mark.parametrize(
    ("weights", "local", "size"),
    [
        ((), False, 5),
        ((WeightFile("a", 1, "safetensors"), WeightFile("b", 2, "safetensors")), False, 3),
        ((WeightFile("a", 1, "safetensors"), WeightFile("b", None, "safetensors")), False, 5),
        ((WeightFile("a", 1, "safetensors"),), True, 0),
    ],
)
def test_the_files_are_downloaded_that_are_not_here(
    weights: tuple[WeightFile, ...], local: bool, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    described(monkeypatch, weights=weights, weight_bytes=5, local=local)
    now = with_verdict(host("1xH200"), SUGGESTION)
    assert (now.download_bytes, now.needs_network) == (size, not local)


def test_what_the_files_do_not_say_stays_as_the_list_says(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = replace(SUGGESTION, parameters=7, gated=True)
    described(monkeypatch, gated=None)
    assert with_verdict(host("1xH200"), listed).gated is True
    assert with_verdict(host("1xH200"), listed).parameters == facts_of(LLAMA_8B).parameters
    described(monkeypatch, gated=False)
    assert with_verdict(host("1xH200"), listed).gated is False
    assert with_verdict(host("1xH200"), SUGGESTION).why_not is None


def test_what_cannot_be_served_has_the_first_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = facts_of(LLAMA_405B)
    monkeypatch.setattr("wizard.model.source.find", lambda ref, *, offline: facts)
    first, *others = advise(host("1xA10"), facts, Constraints()).rejections
    assert first.reason not in [others[0].reason, others[-1].reason]
    refused = with_verdict(host("1xA10"), SUGGESTION)
    assert (refused.usable, refused.why_not) == (False, first.reason)


def test_a_damaged_recipe_and_what_needs_the_network_are_not_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(ref: str, *, offline: bool) -> None:
        assert offline  # nobody is to be asked
        raise ModelError("TW-M15", f"{ref} is damaged", "")

    monkeypatch.setattr("wizard.model.source.find", refuse)
    offered = {suggestion.ref: suggestion for suggestion in suggestions(CPU_HOST, None, offline=True, ask=True)}
    demo = offered.pop("demo")
    assert (demo.usable, demo.needs_network, demo.why_not) == (False, True, "demo is damaged")
    fitting = [other for other in offered.values() if other.verdict is None]
    assert {(other.usable, other.needs_network, other.why_not) for other in fitting} == {
        (False, True, "the Hub is not contacted (--offline)")
    }
    unanswered = suggestions(CPU_HOST, None, offline=False, ask=True)  # at this address there is no hub
    silent = {other.why_not for other in unanswered if other.ref != "demo" and other.verdict is None}
    assert silent == {"the Hugging Face Hub does not respond"}
    later = suggestions(CPU_HOST, None, offline=False, ask=False)
    fitting = [other for other in later if other.ref != "demo" and other.verdict is None]
    assert {(other.usable, other.needs_network) for other in fitting} == {(True, True)}


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


ZERO = "0 downloads in the last 30 days"
OFFERED = replace(SUGGESTION, place="offered")
LOCAL = replace(SUGGESTION, download_bytes=0, needs_network=False)


@pytest.mark.parametrize(
    ("suggestion", "parts"),
    [
        (SUGGESTION, ["license unknown", "on the Hub"]),
        (
            replace(SUGGESTION, downloads=1200, licence="mit\n", download_bytes=1 << 20),
            ["1.0 MiB to download", "mit", "on the Hub", "1.2 K downloads in the last 30 days"],
        ),
        (replace(SUGGESTION, downloads=0, parameters=0), ["0 parameters", "license unknown", "on the Hub", ZERO]),
        (
            replace(SUGGESTION, gated=True, parameters=8_000_000_000),
            ["8 B parameters", "license unknown", "gated: accept its license on the Hub", "on the Hub"],
        ),
        (OFFERED, ["size unknown", "license unknown", "needs a network connection"]),
        (replace(OFFERED, download_bytes=1 << 30), ["1.0 GiB to download", "license unknown"]),
        (
            replace(OFFERED, download_bytes=1 << 30, reachable=False),
            ["1.0 GiB to download", "license unknown", "needs a network connection"],
        ),
        (
            replace(OFFERED, download_bytes=0),
            ["no weights to download", "license unknown", "needs a network connection"],
        ),
        (replace(LOCAL, place="offered"), ["no weights to download", "license unknown", "works offline"]),
        (replace(LOCAL, place="here"), ["no weights to download", "license unknown", "on this machine"]),
        (replace(LOCAL, place="here", download_bytes=None), ["size unknown", "license unknown", "on this machine"]),
    ],
)
def test_what_is_not_known_is_not_shown_but_for_the_license(suggestion: Suggestion, parts: list[str]) -> None:
    assert details(suggestion) == parts


def test_verdicts_as_text() -> None:
    assert verdict(Verdict("no", saying("why"))) == ("not possible", "why")
