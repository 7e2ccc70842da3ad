"""The script that compares the catalog with the Hub finds what differs, and says if it checked nothing."""

from __future__ import annotations

import pytest

from benchmarks import catalog
from tests.model.fake_hub import FakeHub, FakeRepo
from wizard.catalog import gguf_types
from wizard.catalog.models import curated
from wizard.model.hub import access as hub_

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


def agreeing() -> dict[str, FakeRepo]:
    """The two repositories as the catalog has them; the file is not of the size that its bits give, but unknown."""
    assert MODEL.gguf
    assert MODEL.licence
    repos = {MODEL.repo: FakeRepo({}, {"tags": [f"license:{MODEL.licence.lower()}"]}), MODEL.gguf: FakeRepo({})}
    size = round(MODEL.parameters * gguf_types.bits()["Q4_K_M"] / 8)
    repos[MODEL.gguf].info = {"siblings": [{"rfilename": MODEL.files[0], "size": size, "blobId": "0" * 40}]}
    return repos


def test_what_agrees_has_no_differences(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    status, text = check(agreeing(), monkeypatch, capsys)
    assert (status, text.strip()) == (0, "1 models, 0 differences, 0 repositories not checked")


def test_a_renamed_repository_is_a_difference(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    repos = agreeing()
    repos["Qwen/New-8B"] = repos[MODEL.repo]
    repos[MODEL.repo] = FakeRepo({}, moved="Qwen/New-8B")
    status, text = check(repos, monkeypatch, capsys)
    assert status == 1
    assert f"{MODEL.repo}: renamed to Qwen/New-8B" in text


def test_denied_access_is_no_difference(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    repos = agreeing()
    repos[MODEL.repo].closed = True
    status, text = check(repos, monkeypatch, capsys)
    assert status == 2
    assert f"not checked: {MODEL.repo}: 403 Client Error." in text
    assert "0 differences, 1 repositories not checked" in text


@pytest.mark.parametrize(("times", "status"), [(2, 0), (3, 2)])
def test_too_many_requests_are_sent_again_when_the_hub_says(
    times: int, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    repos = agreeing()
    repos[MODEL.repo].limited = times
    got, text = check(repos, monkeypatch, capsys)
    assert got == status
    assert ("429 Too Many Requests" in text) == bool(status)


@pytest.mark.parametrize("trouble", ["foreign", 500])
def test_a_hub_in_trouble_is_no_difference(
    trouble: int | str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(hub_, "reachable", lambda: True)
    with FakeHub({}, trouble) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        assert catalog.main(["qwen3-8b"]) == 2
    assert "0 differences, 2 repositories not checked" in capsys.readouterr().out


def test_a_name_that_the_catalog_lacks_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert catalog.main(["qwen3-9b"]) == 2
    assert "not in the catalog: qwen3-9b" in capsys.readouterr().err


def test_without_a_hub_nothing_was_checked(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert catalog.main([]) == 2
    assert f"none of {len(curated())} models was checked" in capsys.readouterr().err
