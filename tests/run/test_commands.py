"""How a step's commands and files are carried out: where, whether at all, what is cleaned up, what is shown of them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.run.runs import chain, events_of, outcomes, touch
from tests.values import plan_of, python_step
from wizard.kernel import proctable
from wizard.kernel.errors import WorkspaceError
from wizard.plan.plan import Command, Containers, Done, Estimate, Step, Write
from wizard.run.diagnose import CommandError
from wizard.run.events import Output, Progress, StepFinished, StepStarted


def step_of(*actions: Command | Write) -> Step:
    return Step("one", "One", "", actions, Done(), Estimate(1))


def python(code: str) -> Command:
    return Command((sys.executable, "-c", code))


@pytest.mark.parametrize("folder", [None, "elsewhere"])
async def test_a_command_runs_in_the_servers_folder_or_in_its_own(tmp_path: Path, folder: str | None) -> None:
    (tmp_path / "elsewhere").mkdir()
    command = replace(python("import os; print(os.getcwd())"), cwd=str(tmp_path / folder) if folder else None)
    events, _ = await events_of(plan_of(tmp_path / "w", step_of(command)))
    expected = tmp_path / folder if folder else tmp_path / "w" / "servers" / "test"
    assert [event.lines for event in events if isinstance(event, Output)] == [(str(expected),)]


@pytest.mark.parametrize(("unless", "done"), [((), True), (("true",), False), (("false",), True), (("/no",), True)])
async def test_where_the_check_before_it_ends_well_a_command_is_not_run(
    tmp_path: Path, unless: tuple[str, ...], done: bool
) -> None:
    path = tmp_path / "made"
    command = replace(python(touch(path)), unless=unless)
    events, _ = await events_of(plan_of(tmp_path / "w", step_of(command)))
    assert outcomes(events) == {"one": "done"}
    assert path.exists() == done


@pytest.mark.parametrize(("end", "removals"), [("exit 0", 1), ("exit 1", 2), ("exit 3", 2), ("kill -9 $$", 2)])
async def test_containers_are_removed_before_a_command_and_after_it_failed(
    tmp_path: Path, end: str, removals: int
) -> None:
    """The engine is a script that lists no container and keeps a record."""
    engine, record = tmp_path / "engine", tmp_path / "record"
    engine.write_text(f'#!/bin/sh\necho "$@" >> {record}\n')
    engine.chmod(0o755)
    command = Command(("sh", "-c", f"echo command >> {record}; {end}"), cleanup=Containers(str(engine), ("a=b",)))
    _, error = await events_of(plan_of(tmp_path / "w", step_of(command)))
    assert isinstance(error, CommandError) == (end != "exit 0")
    removal = "ps --all --quiet --filter=label=a=b"
    assert record.read_text().splitlines() == [removal, "command", removal][: removals + 1]


@pytest.mark.parametrize(("after", "cause"), [(199, "error: the cause"), (200, "line 199")])
async def test_the_cause_is_looked_for_in_the_last_200_lines(tmp_path: Path, after: int, cause: str) -> None:
    code = f"print('error: the cause'); [print('line', n) for n in range({after})]; raise SystemExit(1)"
    _, error = await events_of(plan_of(tmp_path / "w", step_of(python(code))))
    assert isinstance(error, CommandError)
    assert error.failure.line == cause


async def test_every_action_of_a_step_is_done_in_order(tmp_path: Path) -> None:
    first, second = tmp_path / "a" / "b" / "first", tmp_path / "a" / "second"
    code = f"print(open({str(first)!r}).read(), open({str(second)!r}).read())"
    step = step_of(Write(str(first), "1"), Write(str(second), "2"), python(code))
    events, _ = await events_of(plan_of(tmp_path / "w", step))
    assert [event.lines for event in events if isinstance(event, Output)] == [("1 2",)]
    assert [path.name for path in (tmp_path / "a").iterdir() if path.is_file()] == ["second"]


async def test_empty_lines_are_not_shown_and_the_last_progress_counts(tmp_path: Path) -> None:
    code = r"import os; os.write(1, b'a\n\n  \n10%\rb\n20%\r40%\rc\n')"
    events, _ = await events_of(plan_of(tmp_path / "w", step_of(python(code))))
    assert [event.lines for event in events if isinstance(event, Output)] == [("a", "b", "c")]
    assert [(event.fraction, event.text) for event in events if isinstance(event, Progress)] == [(0.4, "40%")]


async def test_steps_are_numbered_and_timed(tmp_path: Path) -> None:
    began = time.monotonic()
    events, _ = await events_of(plan_of(tmp_path / "w", *chain(tmp_path)))
    taken = time.monotonic() - began
    numbers = [(event.step, event.index, event.count) for event in events if isinstance(event, StepStarted)]
    assert numbers == [("one", 1, 3), ("two", 2, 3), ("three", 3, 3)]
    assert 0 < sum(event.seconds for event in events if isinstance(event, StepFinished)) < taken


async def test_the_log_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    logs = tmp_path / "w" / "servers" / "test" / "logs"
    logs.mkdir(parents=True)
    (logs / "one.log").mkdir()
    _, error = await events_of(plan_of(tmp_path / "w", step_of(python(""))))
    assert isinstance(error, WorkspaceError)
    assert error.what == f"cannot write {logs / 'one.log'}: Is a directory"


async def test_what_a_killed_wizard_left_running_is_ended_and_a_strangers_is_not(tmp_path: Path) -> None:
    code = "import signal; print('begun', flush=True); signal.pause()"
    strays = []
    for folder in ("w", "other"):
        env = {**os.environ, proctable.STEP_MARK: str(tmp_path / folder)}
        stray = subprocess.Popen(  # noqa: ASYNC220
            [sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, start_new_session=True
        )
        assert stray.stdout
        stray.stdout.readline()
        strays.append(stray)
    try:
        await events_of(plan_of(tmp_path / "w", python_step("one", "")))
        assert strays[0].wait(20) < 0
        assert strays[1].poll() is None
    finally:
        for stray in strays:
            stray.kill()
            stray.communicate()
