"""Searching the hub, and the ways in which it fails."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from tests.model.fake_hub import FakeHub, FakeRepo
from wizard.kernel.errors import NetworkError
from wizard.model.hub import search as search_module
from wizard.model.hub.search import Hit, search

REPOS = {
    "org/small-chat": FakeRepo({}, {"downloads": 10, "tags": ["license:mit", "gguf"], "gguf": {"total": 1_000_000}}),
    "org/large-chat": FakeRepo(
        {},
        {
            "downloads": 900,
            "gated": "manual",
            "cardData": {"license": "other", "license_name": "own"},
            "safetensors": {"parameters": {"BF16": 8_000_000_000}, "total": 8_000_000_000},
        },
    ),
    "org/picture": FakeRepo({}),
}


def test_what_is_downloaded_most_comes_first_with_what_the_hub_says(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeHub(REPOS) as fake:
        monkeypatch.setenv("HF_ENDPOINT", fake.url)
        results = search("CHAT")
    assert results == [
        Hit("org/large-chat", 900, "own", gated=True, parameters=8_000_000_000, gguf=False),
        Hit("org/small-chat", 10, "mit", gated=False, parameters=1_000_000, gguf=True),
    ]
    query = parse_qs(urlsplit(fake.requests[0][1]).query)
    assert query["pipeline_tag"] == ["text-generation"]
    assert query["sort"] == ["downloads"]
    assert query["limit"] == ["20"]


def test_what_the_hub_omits_is_none_and_no_results_are_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeHub(REPOS) as fake:
        monkeypatch.setenv("HF_ENDPOINT", fake.url)
        assert search("picture") == [Hit("org/picture", None, None, gated=False, parameters=None, gguf=False)]
        assert search("no such model") == []
        assert len(search("org", limit=2)) == 2


@pytest.mark.parametrize(("trouble", "code"), [(503, "TW-M14"), ("foreign", "TW-M14"), (429, "TW-M14")])
def test_a_hub_that_answers_otherwise(trouble: int | str, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeHub(REPOS, trouble) as fake:
        monkeypatch.setenv("HF_ENDPOINT", fake.url)
        monkeypatch.setattr(search_module, "DEADLINE", 5.0)
        with pytest.raises(NetworkError) as caught:
            search("chat")
    assert caught.value.code == code


def test_a_hub_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeHub(REPOS, "silent") as fake:
        monkeypatch.setenv("HF_ENDPOINT", fake.url)
        monkeypatch.setattr(search_module, "DEADLINE", 0.2)
        with pytest.raises(NetworkError) as caught:
            search("chat")
    assert caught.value.code == "TW-M13"


def test_nobody_there_and_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NetworkError) as caught:
        search("chat")
    assert caught.value.code == "TW-M13"
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(NetworkError, match="offline") as caught:
        search("chat")
    assert caught.value.code == "TW-M13"
