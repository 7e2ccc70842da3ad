"""`bench --open` and `bench --replay`: a report is shown as it is, and used only as far as the user agrees."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.bench.sample import REPORT, RUNS
from tests.cli.test_cli import wizard_inside
from wizard import journey
from wizard.bench.dataset import Dataset
from wizard.bench.folder import Folder
from wizard.bench.order import Wanted
from wizard.bench.report import Report, Target
from wizard.cli import bench_runs
from wizard.kernel.files import unfinished
from wizard.kernel.values import to_data
from wizard.serve.endpoint import Endpoint


def kept(folder: Path, report: Report = REPORT) -> str:
    place = Folder(folder)
    place.make()
    place.keep(report)
    for run in RUNS:
        place.keep(run)
    return str(place.report)


def test_without_a_terminal_it_is_text(tmp_path: Path) -> None:
    for path in (kept(tmp_path / "a"), str(tmp_path / "a")):
        done = wizard_inside("bench", "--open", path)
        assert done.returncode == 0
        assert "1,453 ±4%" in done.stdout
        assert "###" not in done.stdout
        assert done.stderr == ""
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["report.json", "runs"]


def test_plain_has_a_line_for_each_figure(tmp_path: Path) -> None:
    lines = wizard_inside("bench", "--open", kept(tmp_path / "a"), "--plain").stdout.splitlines()
    at = lines.index("  load: 8 at once")
    assert lines[at + 1 : at + 3] == ["    tokens/s: 775 ±4%", "    requests/s: 12.1"]


def test_json_is_the_report(tmp_path: Path) -> None:
    done = wizard_inside("bench", "--open", kept(tmp_path / "a"), "--json")
    assert json.loads(done.stdout) == to_data(REPORT)


def test_png_writes_pages_and_pictures_beside_the_report(tmp_path: Path) -> None:
    done = wizard_inside("bench", "--open", kept(tmp_path / "a"), "--png")
    assert done.returncode == 0
    written = [Path(line) for line in done.stderr.splitlines()]
    names = ["report.html", "report.md", "throughput-ttft.png", "throughput-tpot.png", "ttft.png"]
    assert [path.name for path in written] == [*names, "predicted-throughput.png", "predicted-tpot.png", "time.png"]
    assert all(path.stat().st_size > 1000 for path in written)


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    path = kept(tmp_path / "a")
    unfinished(tmp_path / "a" / "report.html").mkdir()
    done = wizard_inside("bench", "--open", path, "--png")
    assert done.returncode == 6
    assert "TW-C68" in done.stderr


def test_pictures_of_another_report_are_not_written(tmp_path: Path) -> None:
    kept(tmp_path / "a")
    copy = (tmp_path / "a" / "report.json").rename(tmp_path / "a" / "old.json")
    done = wizard_inside("bench", "--open", str(copy), "--png")
    assert "TW-C67" in done.stderr
    assert not (tmp_path / "a" / "report.html").exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--open", "nothing.json"], "TW-C69"),
        (["--replay", "nothing.json"], "TW-C69"),
        (["--open", "REPORT", "--replay", "REPORT"], "TW-C67"),
        (["--replay", "REPORT", "--concurrency", "3"], "TW-C67"),
        (["--replay", "REPORT", "--request-rate", "3", "--seed", "9"], "TW-C67"),
    ],
)
def test_bad_input(tmp_path: Path, words: list[str], code: str) -> None:
    path = kept(tmp_path / "a")
    done = wizard_inside("bench", *(path if word == "REPORT" else word for word in words))
    assert done.returncode == 2
    assert code in done.stderr
    if "--seed" in words:
        assert "--request-rate, --seed would change them" in done.stderr


class FakeServer:
    """In place of a server and of the load generator: what `journey` was asked to measure."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, now: Report) -> None:
        self.asked: list[tuple[str, str | None]] = []
        self.measured: list[tuple[Wanted, str]] = []
        monkeypatch.setattr(journey, "at", self._endpoint)
        monkeypatch.setattr(journey, "endpoint", lambda _workspace, name: self._endpoint(name, None))
        monkeypatch.setattr(journey, "bench_order", lambda *_: now)
        monkeypatch.setattr(journey, "load_generator", lambda _workspace: None)
        monkeypatch.setattr(journey, "bench", self._bench)

    def _endpoint(self, name: str, model: str | None) -> Any:
        self.asked.append((name, model))
        return Endpoint(name, name, "127.0.0.1", None, None, None, "")  # type: ignore[arg-type]

    async def _bench(
        self, _workspace: Any, _endpoint: Any, wanted: Wanted, _folder: Path, _agree: Any, command: str
    ) -> AsyncGenerator[None, None]:
        self.measured.append((wanted, command))
        return
        yield


def test_a_replay_measures_the_same_on_the_same_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = FakeServer(monkeypatch, REPORT)
    done = wizard_inside("bench", "--replay", kept(tmp_path / "a"))
    assert done.returncode == 0, done.stderr
    assert "Server, machine, programs and prompts are the same." in done.stderr
    ((wanted, again),) = server.measured
    assert server.asked == [("sample", None)]
    assert (wanted.concurrency, wanted.requests, wanted.repeats, wanted.seed) == ((1, 2, 4, 8, 16, 32), 64, 3, 7)
    assert again == REPORT.command


def test_a_replay_tells_what_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = replace(REPORT, machine=replace(REPORT.machine, gpus=("Another GPU",)))
    FakeServer(monkeypatch, now)
    done = wizard_inside("bench", "--replay", kept(tmp_path / "a"))
    assert "Different from the report:\n  GPUs: Another GPU, was Example GPU" in done.stderr


def test_another_server_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = FakeServer(monkeypatch, REPORT)
    wizard_inside("bench", "other", "--replay", kept(tmp_path / "a"))
    assert server.asked == [("other", None)]
    ((_, again),) = server.measured
    assert "--replay" in again, "the command that was typed"


@pytest.mark.parametrize(
    "report",
    [
        replace(REPORT, target=Target("elsewhere", "m", "https://example.org/v1")),
        replace(REPORT, dataset=Dataset("prompts", path="/etc/passwd", isl=None)),
    ],
)
def test_what_a_report_names_is_used_only_with_consent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, report: Report
) -> None:
    server = FakeServer(monkeypatch, report)
    path = kept(tmp_path / "a", report)
    done = wizard_inside("bench", "--replay", path)
    assert done.returncode == 2
    assert "TW-U03" in done.stderr
    assert report.dataset.path or report.target.url in done.stderr
    assert server.asked == server.measured == []
    assert wizard_inside("bench", "--replay", path, "--yes").returncode == 0
    assert len(server.measured) == 1


def test_saying_no_measures_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = replace(REPORT, target=Target("elsewhere", "m", "https://example.org/v1"))
    server = FakeServer(monkeypatch, report)
    monkeypatch.setattr(bench_runs, "yes", lambda _question: False)
    done = wizard_inside("bench", "--replay", kept(tmp_path / "a", report))
    assert done.returncode == 130
    assert "TW-U06" in done.stderr
    assert server.asked == []
