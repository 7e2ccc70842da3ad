"""A benchmark from its first run to its report, with FakeAiperf in AIPerf's place: what it does wrong loses nothing."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.bench.fake_aiperf import RECORDED
from wizard.bench import aiperf
from wizard.bench import bench as bench_module
from wizard.bench.bench import BenchItem, Outlook, bench
from wizard.bench.dataset import Dataset, Prompt
from wizard.bench.folder import Folder
from wizard.bench.generator import Rig
from wizard.bench.load import Load, Point, ServiceLevel
from wizard.bench.measured import Measured
from wizard.bench.report import Machine, Report, Target
from wizard.bench.sampling import Watched
from wizard.kernel import proctable
from wizard.kernel.errors import ServerError, StepError, UsageError, WizardError, WorkspaceError
from wizard.kernel.files import unfinished
from wizard.probe.live import Reading
from wizard.probe.load import CpuReading
from wizard.run.events import Progress, StepFinished, StepStarted

FAKE = (sys.executable, str(Path(__file__).with_name("fake_aiperf.py")))
TWO = Load((Point(1), Point(4)), requests=40, warmup=1, repeats=1)
PROMPTS = (Prompt("Hello", 8), Prompt("World", 8))


def order(load: Load = TWO) -> Report:
    return Report(
        format=1,
        made="2026-11-25T12:00:00+00:00",
        command="triton-wizard bench demo",
        target=Target("demo", "demo", "http://127.0.0.1:9000/v1"),
        machine=Machine("a processor", 8),
        versions={},
        load=load,
        dataset=Dataset(),
        level=ServiceLevel(),
    )


def rig(**changes: object) -> Rig:
    return replace(Rig(FAKE, Watched(lambda: Reading(CpuReading(0.5))), 8, mark="a test"), **changes)  # type: ignore[arg-type]


async def agreed(outlook: Outlook) -> Load | None:
    raise AssertionError(f"a short benchmark asked: {outlook}")


def start(folder: Path, load: Load = TWO, **changes: object) -> AsyncGenerator[BenchItem, None]:
    return bench(order(load), PROMPTS, Folder(folder), rig(**changes), agreed)


async def items_of(items: AsyncGenerator[BenchItem, None]) -> tuple[list[BenchItem], WizardError | None]:
    received: list[BenchItem] = []
    try:
        async with aclosing(items):
            async for item in items:
                received.append(item)
    except WizardError as error:
        return received, error
    return received, None


async def error_after_the_first_level(items: AsyncGenerator[BenchItem, None], then: Callable[[], object]) -> str | None:
    """The code of the error that follows when ``then`` is called after the first level."""
    try:
        async with aclosing(items):
            async for item in items:
                if isinstance(item, Measured):
                    then()
    except WizardError as error:
        return error.code
    return None


def behave(monkeypatch: pytest.MonkeyPatch, behavior: str) -> None:
    monkeypatch.setenv("FAKE_AIPERF", behavior)


async def test_every_level_is_measured_and_reported(tmp_path: Path) -> None:
    items, error = await items_of(start(tmp_path / "out"))
    assert error is None
    report = items[-1]
    assert isinstance(report, Report)
    assert [point.point for point in report.points] == [Point(1), Point(4)]
    assert report.partial == ""
    first, four = report.points
    assert first.tokens_per_s is not None
    assert four.tokens_per_s is not None
    assert four.tokens_per_s.value == pytest.approx(4 * first.tokens_per_s.value, rel=0.1)
    assert (first.sent, four.sent) == (40, 40)
    assert [item.step for item in items if isinstance(item, StepStarted)] == ["c1-1", "c4-1"]
    assert [item.outcome for item in items if isinstance(item, StepFinished)] == ["done", "done"]
    assert Folder(tmp_path / "out").read()[0] == report


async def test_levels_are_measured_in_turn_and_refined(tmp_path: Path) -> None:
    items, error = await items_of(start(tmp_path / "out", replace(TWO, repeats=3, requests=20)))
    assert error is None
    assert [item.step for item in items if isinstance(item, StepStarted)] == [
        *("c1-1", "c4-1", "c1-2", "c4-2", "c1-3", "c4-3"),
    ]
    last = [item for item in items if isinstance(item, Measured)][-1]
    assert (last.runs, last.method, last.sent) == (("c4-1", "c4-2", "c4-3"), "runs", 60)
    _, runs = Folder(tmp_path / "out").read()
    assert [run.id for run in runs] == ["c1-1", "c1-2", "c1-3", "c4-1", "c4-2", "c4-3"]


async def test_an_open_loop_is_measured(tmp_path: Path) -> None:
    items, error = await items_of(start(tmp_path / "out", Load((Point(rate=2.5),), seconds=2.0, repeats=1)))
    assert error is None
    report = items[-1]
    assert isinstance(report, Report)
    assert report.points[0].point == Point(rate=2.5)
    assert "--request-rate 2.5 --request-rate-mode poisson" in Folder(tmp_path / "out").read()[1][0].command


async def test_three_percent_of_errors_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    behave(monkeypatch, "some-fail")
    items, error = await items_of(start(tmp_path / "out", replace(TWO, requests=100)))
    assert error is None
    report = items[-1]
    assert isinstance(report, Report)
    assert report.points[0].errors == {"HTTP 503": 3}
    assert "bench-errors" in [warning.code for warning in report.points[0].warnings]


@pytest.mark.parametrize(
    ("behavior", "kind", "code", "says", "kept"),
    [
        (
            "dies",
            StepError,
            "TW-C63",
            "AIPerf failed: Failed for SystemController (id=system_controller): the worker has died",
            21,
        ),
        ("hangs", StepError, "TW-C63", "no request ended for 1 s", 21),
        ("garbage", ServerError, "TW-C64", "no request succeeded; the first failed with no answer", 0),
        ("nothing", ServerError, "TW-C64", "no request succeeded", 0),
        ("fails", ServerError, "TW-C64", "the first failed with HTTP 503: ", 40),
        ("server-dies", ServerError, "TW-C65", "30 requests in a row failed, the last with HTTP 503", 40),
    ],
)
async def test_what_goes_wrong_has_a_code_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behavior: str, kind: type, code: str, says: str, kept: int
) -> None:
    behave(monkeypatch, behavior)
    items, error = await items_of(start(tmp_path / "out", silent_s=1.0))
    assert isinstance(error, kind)
    assert error is not None
    assert error.code == code
    assert says in error.what
    finished = [item for item in items if isinstance(item, StepFinished)]
    assert [(each.outcome, (each.error or {}).get("code")) for each in finished] == [("failed", code)]
    report, runs = Folder(tmp_path / "out").read()
    assert report.partial == code
    assert sum(len(run.requests) for run in runs) == kept
    assert all(run.partial == code for run in runs)


async def test_a_level_that_was_measured_survives_the_next_ones_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    then = partial(behave, monkeypatch, "dies")
    assert await error_after_the_first_level(start(tmp_path / "out"), then) == "TW-C63"
    report, _ = Folder(tmp_path / "out").read()
    assert [(point.point, point.sent) for point in report.points] == [(Point(1), 40), (Point(4), 21)]
    assert report.partial == "TW-C63"


async def test_a_server_whose_process_ends_is_noticed_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    behave(monkeypatch, "hangs")
    hanging = tmp_path / "out" / "aiperf" / "c1-1" / "hanging"
    _, error = await items_of(start(tmp_path / "out", lives=lambda: not hanging.exists()))
    assert error is not None
    assert (error.code, error.what) == ("TW-C65", "the server stopped answering: its process has ended")


async def test_stopping_keeps_what_was_measured_and_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    behave(monkeypatch, "hangs")
    mark = str(tmp_path)

    async def stopped_half_way() -> None:
        async with aclosing(start(tmp_path / "out", mark=mark)) as items:
            async for item in items:
                if isinstance(item, Progress) and (item.fraction or 0) > 0.5:
                    assert proctable.marked(proctable.STEP_MARK, mark)
                    task.cancel()

    task = asyncio.ensure_future(stopped_half_way())
    with pytest.raises(asyncio.CancelledError):
        await task
    report, runs = Folder(tmp_path / "out").read()
    assert report.partial == "stopped"
    assert [(run.id, run.partial, len(run.requests)) for run in runs] == [("c1-1", "stopped", 21)]
    assert not proctable.marked(proctable.STEP_MARK, mark)


async def test_a_long_benchmark_is_announced_and_can_be_shortened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_module, "LONG_S", 12.0)
    seen: list[Outlook] = []

    async def shorten(outlook: Outlook) -> Load | None:
        seen.append(outlook)
        return outlook.shorter

    load = Load((Point(1), Point(2), Point(4)), requests=100, repeats=9)
    items, error = await items_of(bench(order(load), PROMPTS, Folder(tmp_path / "out"), rig(), shorten))
    assert error is None
    (outlook,) = seen
    assert outlook.seconds >= 26 * 100 * 0.12 - 1e-6
    assert (outlook.shorter.repeats, outlook.shorter.requests) == (1, None)
    assert outlook.shorter_s <= 15
    report = items[-1]
    assert isinstance(report, Report)
    assert report.partial == ""
    assert [point.runs for point in report.points] == [("c1-1",), ("c2-1",), ("c4-1",)]
    assert report.load == outlook.shorter


async def test_a_long_benchmark_can_be_declined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_module, "LONG_S", 1.0)

    async def decline(_: Outlook) -> Load | None:
        return None

    items, error = await items_of(bench(order(), PROMPTS, Folder(tmp_path / "out"), rig(), decline))
    assert error is None
    report = items[-1]
    assert isinstance(report, Report)
    assert report.partial == "stopped"
    assert len(report.points) == 1


async def test_a_missing_program_has_a_code(tmp_path: Path) -> None:
    _, error = await items_of(start(tmp_path / "out", program=(str(tmp_path / "aiperf"),)))
    assert error is not None
    assert (error.code, error.what) == ("TW-C63", "AIPerf failed: No such file or directory")


async def test_a_report_is_not_overwritten(tmp_path: Path) -> None:
    assert (await items_of(start(tmp_path / "out", replace(TWO, points=(Point(1),)))))[1] is None
    before = (tmp_path / "out" / "report.json").read_bytes()
    _, error = await items_of(start(tmp_path / "out"))
    assert isinstance(error, UsageError)
    assert error.code == "TW-C69"
    assert (tmp_path / "out" / "report.json").read_bytes() == before


async def test_a_folder_that_cannot_be_written_is_said_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    _, error = await items_of(start(tmp_path / "file" / "out"))
    assert isinstance(error, WorkspaceError)
    assert error.code == "TW-C68"


async def test_a_full_disk_is_said_before_anything_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wizard.bench.folder.LEAST_BYTES", 2**62)
    items, error = await items_of(start(tmp_path / "out"))
    assert (items, error and error.code) == ([], "TW-C68")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the kernel has no /dev/full")
async def test_a_disk_that_fills_up_keeps_what_was_written(tmp_path: Path) -> None:
    fill = partial(unfinished(tmp_path / "out" / "runs" / "c4-1.json").symlink_to, "/dev/full")
    assert await error_after_the_first_level(start(tmp_path / "out"), fill) == "TW-C68"
    report, runs = Folder(tmp_path / "out").read()
    assert report.points[0].sent == 40
    assert [run.id for run in runs] == ["c1-1"]


def test_a_report_that_is_missing_or_damaged_has_a_code(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        Folder(tmp_path).read()
    assert caught.value.code == "TW-C69"
    (tmp_path / "report.json").write_text("{")
    with pytest.raises(UsageError) as caught:
        Folder(tmp_path).read()
    assert caught.value.code == "TW-K02"


def test_the_recorded_output_of_aiperf_is_read() -> None:
    """Twelve requests after two of warm-up, one of which failed; see recorded/README.md."""
    records = [aiperf.record(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]
    assert [record is None for record in records] == [False] * 14
    measured = [record.request for record in records if record and not record.warmup]
    assert len(measured) == 12
    failed = [request for request in measured if request.error]
    assert [(request.error, request.latency_ms, request.output_tokens) for request in failed] == [
        ("HTTP 503", None, None)
    ]
    good = [request for request in measured if not request.error]
    assert {(request.input_tokens, request.output_tokens) for request in good} == {(8, 8)}
    for request in good:
        assert request.ttft_ms == pytest.approx(50, abs=25)
        assert request.tpot_ms == pytest.approx(10, abs=2)
        assert request.end_s - request.start_s == pytest.approx((request.latency_ms or 0) / 1000, abs=0.01)


@pytest.mark.parametrize("line", ["", "null", "[]", "{", '{"metadata": {}, "metrics": {}}', "[" * 100_000, '"x"'])
def test_what_is_no_record_is_skipped(line: str) -> None:
    assert aiperf.record(line) is None


def test_the_key_is_in_the_environment_and_never_an_argument(tmp_path: Path) -> None:
    files = aiperf.Files(tmp_path)
    words = aiperf.argv(order().target, Point(4), TWO, files, "c4-1", key="secret-key")
    environment = aiperf.environment({"HF_TOKEN": "hf_x", "PATH": "/bin"}, "secret-key")
    assert environment["TRITON_WIZARD_BENCH_KEY"] == "secret-key"
    files.write(PROMPTS, order().target)
    assert words[words.index("--config") + 1] == str(files.config)
    assert "${TRITON_WIZARD_BENCH_KEY}" in files.config.read_text(encoding="utf-8")
    assert "--config" not in aiperf.argv(order().target, Point(4), TWO, files, "c4-1")
    assert "HF_TOKEN" not in environment
    assert "secret-key" not in " ".join(words)


def test_generate_stream_is_asked_by_template(tmp_path: Path) -> None:
    target = replace(order().target, api="generate_stream", url="http://127.0.0.1:8000", model="my model")
    words = aiperf.argv(target, Point(4), TWO, aiperf.Files(tmp_path), "c4-1")
    assert "/v2/models/my%20model/generate_stream" in words
    assert words[words.index("--endpoint-type") + 1] == "template"
    aiperf.Files(tmp_path).write(PROMPTS, target)
    template = (tmp_path / "template.json").read_text(encoding="utf-8")
    body = template.replace("{{ text|tojson }}", json.dumps("Hi")).replace("{{ max_tokens }}", "8")
    assert json.loads(body) == {"text_input": "Hi", "parameters": {"stream": True, "max_tokens": 8}}
    assert os.path.isfile(tmp_path / "prompts.jsonl")  # noqa: PTH113
