"""The script that compares the catalog with the Hub finds what differs, and says if it checked nothing."""

from __future__ import annotations

import pytest

from benchmarks import catalog
from tests.model.fake_hub import FakeHub, FakeRepo
from wizard.catalog.models import curated

MODEL = curated()["qwen3-8b"]
FILE = b"x"


def check(
    repos: dict[str, FakeRepo], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    with FakeHub(repos) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        status = catalog.main(["qwen3-8b"])
    printed = capsys.readouterr()
    return status, printed.out + printed.err


def test_differences_are_reported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert MODEL.gguf
    stated = {"tags": ["license:mit"], "gated": "auto", "safetensors": {"parameters": {"BF16": 7}, "total": 7}}
    repos = {MODEL.repo: FakeRepo({}, stated), MODEL.gguf: FakeRepo({MODEL.files[0]: FILE})}
    status, text = check(repos, monkeypatch, capsys)
    assert status == 1
    for part in ("license mit", "gated is auto", "7 parameters", "has 1 bytes", "4 differences"):
        assert part in text
    status, text = check({MODEL.repo: repos[MODEL.repo]}, monkeypatch, capsys)
    assert f"{MODEL.gguf}: 404" in text
    status, text = check({**repos, MODEL.gguf: FakeRepo({"other.gguf": FILE})}, monkeypatch, capsys)
    assert f"no file {MODEL.files[0]}" in text


def test_without_a_hub_nothing_was_checked(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert catalog.main([]) == 2
    assert f"none of {len(curated())} models was checked" in capsys.readouterr().err
