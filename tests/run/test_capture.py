"""A command's output at any speed: all of it in the log, little of it in memory, and no secret in either."""

from __future__ import annotations

import os
import signal
import stat
import sys
import tracemalloc
from collections.abc import Callable
from contextlib import aclosing, closing
from datetime import datetime
from pathlib import Path

import pytest

from tests.run import noise
from tests.run.runs import events_of, outcomes
from tests.values import plan_of
from wizard.kernel import process, proctable
from wizard.kernel.errors import WorkspaceError
from wizard.kernel.paths import Workspace
from wizard.kernel.process import LONGEST_LINE, Line
from wizard.plan.plan import Command, Done, Estimate, Step
from wizard.run import capture
from wizard.run.capture import SHOWN_LINES, Capture
from wizard.run.engine import run
from wizard.run.events import Output, Progress, StepFinished
from wizard.run.journal import Journal
from wizard.serve.log import times_of, view

READ = 1 << 22
TOKEN = b"hf_" + b"a1B2" * 8


def step_of(*argv: str) -> Step:
    return Step("one", "One", "", (Command((sys.executable, *argv)),), Done(), Estimate(1))


def log_of(folder: Path) -> Path:
    return folder / "w" / "servers" / "test" / "logs" / "one.log"


async def test_the_worst_output_is_in_the_log_as_it_was_written(tmp_path: Path) -> None:
    events, _ = await events_of(plan_of(tmp_path / "w", step_of(noise.__file__, "3")))
    assert outcomes(events) == {"one": "done"}
    log = log_of(tmp_path)
    command, _, written = log.read_bytes().partition(b"\n")
    assert command.endswith(b"noise.py 3")
    assert written == noise.BLOCK * 3
    times = [line.split() for line in times_of(log).read_text().splitlines()]
    offsets = [int(offset) for offset, _ in times]
    assert offsets[0] == 0
    assert offsets == sorted(set(offsets))
    assert [float(at) for _, at in times] == sorted(float(at) for _, at in times)
    lines = [line for event in events if isinstance(event, Output) for line in event.lines]
    assert not any("\x1b" in line or "\x00" in line for line in lines)
    assert any(isinstance(event, Progress) for event in events)


async def test_a_line_of_a_log_is_shown_with_the_time_when_it_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = iter([0.0, 86_400.5])
    monkeypatch.setattr(capture.time, "time", lambda: next(now))
    log = log_of(tmp_path)
    log.parent.mkdir(parents=True)
    with closing(Capture(log)) as written:
        written.feed(b"one\r\n\x1b[32mtwo\x1b[0m\rthr")
        written.feed(b"ee\n")
    shown = view(Workspace(tmp_path / "w"), "test", lines=3, step="one", raw=False, times=True)
    moments = [datetime.fromisoformat(line.split()[0]).timestamp() for line in shown]
    assert moments == [0.0, 0.0, 86_400.5]
    assert [line.split()[1] for line in shown] == ["one", "two", "three"]
    times_of(log).unlink()
    assert view(Workspace(tmp_path / "w"), "test", lines=1, step="one", raw=False, times=True) == ["three"]


@pytest.mark.parametrize("piece", [noise.BLOCK, b"x", b"\r", b"\n", b"1%\r\n"], ids=["noise", "x", "r", "n", "rn"])
def test_memory_is_bounded_whatever_is_written(tmp_path: Path, piece: bytes) -> None:
    piece *= READ // len(piece)

    def peak(pieces: int) -> int:
        tracemalloc.start()
        with closing(Capture(tmp_path / "log")) as written:
            for _ in range(pieces):
                written.feed(piece)
        assert (tmp_path / "log").stat().st_size == pieces * len(piece)
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    assert peak(2) < 48_000_000
    assert peak(4) < peak(2) + 2_000_000


@pytest.mark.parametrize("token", [TOKEN, b"correct horse \xc3\xa9 battery"], ids=["token", "value"])
def test_a_secret_in_a_line_without_end_is_not_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, token: bytes
) -> None:
    """Where the line is cut: before the last bytes of what was read."""
    monkeypatch.setenv("HF_TOKEN", token.decode())
    cut = LONGEST_LINE + 2 - 4096
    for at in (*range(cut - len(token), cut + 2, 3), LONGEST_LINE - 10):
        line = b" " * at + token
        with closing(Capture(tmp_path / "log")) as log:
            for piece in (line[: LONGEST_LINE + 2], line[LONGEST_LINE + 2 :], b" " * LONGEST_LINE):
                log.feed(piece)
        written = (tmp_path / "log").read_bytes()
        assert written == b" " * at + "•••".encode() + b" " * LONGEST_LINE, at


def fed(tmp_path: Path, *pieces: bytes) -> list[list[Line]]:
    with closing(Capture(tmp_path / "log")) as log:
        return [log.feed(piece) for piece in pieces]


def test_interfaces_get_the_latest_lines_and_how_many_others_there_are(tmp_path: Path) -> None:
    lines = fed(tmp_path, b"".join(b"%d\n" % n for n in range(SHOWN_LINES + 7)))[0]
    assert lines[0].text == "… lines that are only in the log: 7 …"
    assert [line.text for line in lines[1:]] == [str(n) for n in range(7, SHOWN_LINES + 7)]
    lines = fed(tmp_path, b"a\n" + b"x" * READ + b"\n" + b"b\n")[0]
    assert (lines[0].text, lines[-1].text) == ("… lines that are only in the log: 1 …", "b")
    assert len(lines[1].text) == 4000


def test_updates_are_told_from_lines(tmp_path: Path) -> None:
    first, second, third = fed(tmp_path, b"a\n1%\r2%\r", b"\r\nb\r\nc", b"d\n")
    assert first == [Line("a"), Line("1%", update=True), Line("")]
    assert second == [Line("2%", update=True), Line(""), Line("b")]
    assert third == [Line("cd")]
    assert (tmp_path / "log").read_bytes() == b"a\n1%\r2%\r\r\nb\r\ncd\n"


async def stopped(tmp_path: Path, step: Step, when: Callable[[Output], bool]) -> None:
    """Stop the run as Ctrl-C does, after an output."""
    async with aclosing(run(plan_of(tmp_path / "w", step))) as events:
        async for event in events:
            if isinstance(event, Output) and when(event):
                break
    assert proctable.marked(proctable.STEP_MARK, str(tmp_path / "w")) == []
    ended = [event for event in Journal(tmp_path / "w" / "journal.jsonl").events() if isinstance(event, StepFinished)]
    assert [event.outcome for event in ended] == ["cancelled"]


async def test_a_program_that_pours_and_ignores_signals_is_stopped(tmp_path: Path) -> None:
    await stopped(tmp_path, step_of(noise.__file__, "1", "deaf"), lambda _: True)


async def test_the_last_words_of_a_stopped_program_are_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It exits only after someone has read them: they are more than a pipe holds."""
    monkeypatch.setattr(process, "STOP_LADDER", ((signal.SIGINT, 60.0),))  # however slow the machine is
    code = "import signal\ntry:\n    print('begun')\n    signal.pause()\nexcept KeyboardInterrupt:\n"
    code += f"    print('x' * {LONGEST_LINE}, 'last words')"
    await stopped(tmp_path, step_of("-c", code), lambda output: "begun" in output.lines)
    assert log_of(tmp_path).read_bytes().endswith(b" last words\n")


async def test_logs_are_for_the_user_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        await events_of(plan_of(tmp_path / "w", step_of("-c", "print(1)")))
    finally:
        os.umask(before)
    log = log_of(tmp_path)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (log, times_of(log))] == [0o600] * 2


async def test_a_full_disk_stops_the_step_and_keeps_the_others(tmp_path: Path) -> None:
    """Linux's /dev/full takes no byte, as a full disk does (ENOSPC)."""
    log = log_of(tmp_path)
    log.parent.mkdir(parents=True)
    log.symlink_to("/dev/full")
    made = tmp_path / "made"
    first = Step("zero", "Zero", "", (Command(("touch", str(made))),), Done((str(made),)), Estimate(1))
    events, error = await events_of(plan_of(tmp_path / "w", first, step_of(noise.__file__, "1", "deaf")))
    assert isinstance(error, WorkspaceError)
    assert error.code == "TW-R04"
    assert f"cannot write {log}" in error.what
    assert "o space left" in error.what
    assert outcomes(events) == {"zero": "done", "one": "failed"}
    assert proctable.marked(proctable.STEP_MARK, str(tmp_path / "w")) == []
    assert [event.outcome for event in Journal(tmp_path / "w" / "journal.jsonl").finished().values()] == ["done"]
