"""A report is opened by its folder or its file, and gives the options that measure it again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench.sample import REPORT, RUNS
from tests.bench.sample_reports import COMPARISON, PERPLEXITY, QUALITY, keep_each
from wizard.bench import opened as module
from wizard.bench.dataset import Dataset
from wizard.bench.folder import Folder
from wizard.bench.load import Load, Point, ServiceLevel
from wizard.bench.opened import AnyReport, earlier, opened, wanted_again
from wizard.bench.order import load_of
from wizard.kernel.errors import UsageError
from wizard.kernel.paths import Workspace
from wizard.kernel.values import to_json
from wizard.texts.benchmark.offers import report_kind, report_line


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


def test_earlier_reports_are_of_every_kind_the_latest_first(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    keep_each(workspace.bench)
    opened_reports = earlier(workspace)
    assert [each.folder and each.folder.name for each in opened_reports] == [
        *("6-speed", "5-tune", "4-comparison", "3-votes", "2-perplexity", "1-quality")
    ]
    assert [report_kind(each.report) for each in opened_reports] == [
        *("Benchmark", "Tuning", "Comparison", "Blind vote", "Perplexity", "Quality")
    ]
    assert [report_line(each.report) for each in opened_reports[1:]] == [
        "2026-11-25 12:00 · sample",
        "2026-11-24 12:00 · sample, faster",
        "2026-11-23 12:00 · small, full",
        "2026-11-22 12:00 · small-q4.gguf",
        "2026-11-21 12:00 · small, full",
    ]


@pytest.mark.parametrize(
    "nothing",
    [
        replace(COMPARISON, reports=tuple(replace(each, points=()) for each in COMPARISON.reports)),
        replace(QUALITY, subjects=tuple(replace(each, scores=()) for each in QUALITY.subjects)),
        replace(PERPLEXITY, perplexity=PERPLEXITY.perplexity and replace(PERPLEXITY.perplexity, value=None)),
    ],
    ids=["comparison", "quality", "perplexity"],
)
def test_reports_without_results_are_not_listed(tmp_path: Path, nothing: AnyReport) -> None:
    folder = Workspace(tmp_path).bench / "nothing"
    folder.mkdir(parents=True)
    (folder / "report.json").write_text(to_json(nothing))
    assert earlier(Workspace(tmp_path)) == []
