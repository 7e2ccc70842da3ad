"""A report is opened by its folder or its file, and gives the options that measure it again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench.sample import REPORT, RUNS
from wizard.bench import opened as module
from wizard.bench.dataset import Dataset
from wizard.bench.folder import Folder
from wizard.bench.load import Load, Point, ServiceLevel
from wizard.bench.opened import opened, wanted_again
from wizard.bench.order import load_of
from wizard.kernel.errors import UsageError
from wizard.kernel.values import to_json


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = Folder(tmp_path / "bench")
    place.make()
    place.keep(REPORT)
    for run in RUNS:
        place.keep(run)
    return place.root


@pytest.mark.parametrize("name", ["", "report.json"])
def test_folder_and_file_are_the_same(folder: Path, name: str) -> None:
    report, runs = opened(folder / name)
    assert report == REPORT
    assert {run.id for run in runs} == {run.id for run in RUNS}


def test_a_copy_elsewhere_has_no_runs(tmp_path: Path) -> None:
    copy = tmp_path / "h100.json"
    copy.write_text(to_json(REPORT))
    assert opened(copy) == (REPORT, ())


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (None, "TW-C69"),
        (b"{", "TW-K02"),
        (b"{}", "TW-K01"),
        (b"\xff\xfe", "TW-K02"),
        (b"[]", "TW-K01"),
        (b"", "TW-K02"),
    ],
)
def test_what_is_no_report_is_an_error(tmp_path: Path, content: bytes | None, code: str) -> None:
    path = tmp_path / "other.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        opened(path)
    assert caught.value.code == code
    assert "other.json" in caught.value.what


def test_an_enormous_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "other.json"
    path.write_text(to_json(REPORT))
    monkeypatch.setattr(module, "LARGEST_BYTES", 100)
    with pytest.raises(UsageError, match="too large"):
        opened(path)


@pytest.mark.parametrize(
    "load",
    [
        Load((Point(concurrency=1), Point(concurrency=8)), requests=64, warmup=2, repeats=3, seed=7),
        Load((Point(rate=0.5), Point(rate=2.5)), seconds=20.0, warmup=0, repeats=1, seed=0),
    ],
)
def test_the_options_order_the_same_load(load: Load) -> None:
    dataset = Dataset("prompts", 100, 200, "prompts.txt", "0" * 64, 12)
    wanted = wanted_again(replace(REPORT, load=load, dataset=dataset, level=ServiceLevel(100, 50)))
    assert load_of(wanted, None) == load
    assert (wanted.dataset, wanted.isl, wanted.osl) == ("prompts.txt", 200, 100)
    assert (wanted.ttft, wanted.tpot, wanted.api) == (100, 50, "openai")
