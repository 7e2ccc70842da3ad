"""A build in a process of its own: the events of a run, one process for all followers, nothing lost by a kill."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from contextlib import aclosing
from pathlib import Path

import pytest

from tests.run.runs import events_of
from tests.values import plan_of, python_step
from wizard.kernel import proctable
from wizard.kernel.errors import CancelledError, ServerError, StepError, WizardError
from wizard.kernel.paths import ServerFolder, Workspace
from wizard.notebook import build_process
from wizard.plan.plan import Plan
from wizard.run.events import Event, Output, StepFinished, StepStarted
from wizard.run.journal import Journal

HANG = "import os, signal; print('pid', os.getpid(), flush=True); signal.pause()"


def appended(path: Path) -> str:
    return f"open({str(path)!r}, 'a').write('x')"


def hanging(folder: Path) -> Plan:
    """A step that is done at once, and one that never ends."""
    made = folder / "made"
    steps = (python_step("one", appended(made), made), python_step("two", HANG, folder / "never"))
    return plan_of(folder / "ws", *steps)


def server_of(plan: Plan) -> ServerFolder:
    return Workspace(Path(plan.workspace)).server(plan.name)


class Follower:
    """Follows a build in a task, until its end or a cancellation."""

    def __init__(self, plan: Plan) -> None:
        self.events: list[Event] = []
        self.pid = 0
        self.hangs = asyncio.Event()
        self.task = asyncio.create_task(self._follow(plan))

    async def _follow(self, plan: Plan) -> WizardError | None:
        try:
            async with aclosing(build_process.run(plan)) as followed:
                async for event in followed:
                    self.events.append(event)
                    if isinstance(event, Output) and event.lines[0].startswith("pid"):
                        self.pid = int(event.lines[0].split()[1])
                        self.hangs.set()
        except WizardError as error:
            return error
        return None

    async def stop(self) -> None:
        self.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await self.task

    def outcomes(self) -> dict[str, str]:
        return {event.step: event.outcome for event in self.events if isinstance(event, StepFinished)}


async def hanging_follower(plan: Plan) -> Follower:
    follower = Follower(plan)
    await follower.hangs.wait()
    return follower


async def test_it_has_the_events_and_the_error_of_a_run_in_this_process(tmp_path: Path) -> None:
    """These plans start no server, so TW-S02 is the end."""
    paths = {place: tmp_path / place for place in ("here", "there")}
    plans = {
        place: plan_of(tmp_path / "ws" / place, python_step("one", appended(path), path))
        for place, path in paths.items()
    }
    here, error_here = await events_of(plans["here"])
    there = Follower(plans["there"])
    error = await there.task
    assert isinstance(error, ServerError)
    assert error.code == "TW-S02"
    assert error.what.replace("there", "here") == str(getattr(error_here, "what", ""))
    assert [type(event) for event in there.events] == [type(event) for event in here]
    assert paths["there"].read_text() == "x"


async def test_closing_stops_the_step_and_a_second_run_resumes(tmp_path: Path) -> None:
    plan = hanging(tmp_path)
    follower = await hanging_follower(plan)
    await follower.stop()
    assert proctable.read(follower.pid) is None
    assert not build_process.running(server_of(plan))
    journal = Journal(Workspace(Path(plan.workspace)).journal)
    ends = [(event.step, event.outcome) for event in journal.events() if isinstance(event, StepFinished)]
    assert ends == [("one", "done"), ("two", "cancelled")]
    again = await hanging_follower(plan)
    assert again.outcomes() == {"one": "skipped"}
    await again.stop()


async def test_a_second_follower_joins_and_learns_of_the_stop(tmp_path: Path) -> None:
    plan = hanging(tmp_path)
    first, second = await hanging_follower(plan), await hanging_follower(plan)
    assert second.pid == first.pid
    assert [event.step for event in second.events if isinstance(event, StepStarted)] == ["one", "two"]
    await first.stop()
    error = await second.task
    assert isinstance(error, CancelledError)
    assert error.code == "TW-U07"
    assert proctable.read(first.pid) is None


async def test_a_killed_process_is_reported_and_leaves_no_step(tmp_path: Path) -> None:
    plan = hanging(tmp_path)
    follower = await hanging_follower(plan)
    os.kill(json.loads((server_of(plan).root / "build.json").read_text())["pid"], signal.SIGKILL)
    error = await follower.task
    assert isinstance(error, StepError)
    assert error.code == "TW-N11"
    assert str(server_of(plan).root / "build.log") in error.todo
    again = await hanging_follower(plan)
    assert proctable.read(follower.pid) is None, "the next run stops what the killed one left"
    assert (tmp_path / "made").read_text() == "x"
    await again.stop()


async def test_a_note_that_is_damaged_or_old_is_no_build(tmp_path: Path) -> None:
    plan = hanging(tmp_path)
    server = server_of(plan)
    assert not build_process.running(server)
    server.root.mkdir(parents=True)
    for text in ("", "[]", '{"pid": 1}', json.dumps({"pid": os.getpid(), "group": 1, "state": "R", "started": "0"})):
        (server.root / "build.json").write_text(text)
        assert not build_process.running(server), text


async def test_no_secret_is_in_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    token = "hf_" + "a1B2" * 8
    monkeypatch.setenv("HF_TOKEN", token)
    plan = plan_of(tmp_path / "ws", python_step("one", f"print('{token}'); raise SystemExit(3)", tmp_path / "never"))
    follower = Follower(plan)
    error = await follower.task
    assert isinstance(error, StepError)
    assert token not in str(error) + str(follower.events)
    for path in server_of(plan).root.glob("build*"):
        assert token not in path.read_text(), path
