"""Whether a server that runs is the one that a plan would start: it is left alone, or started anew."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.ports import reserved
from tests.run.runs import events_of, outcomes, touch
from tests.values import plan_of, python_step
from wizard.kernel.errors import ServerError, WorkspaceError
from wizard.kernel.lock import STOPPING, is_stopping, writing
from wizard.kernel.paths import Workspace
from wizard.plan.artefacts import IMAGE, SERVER
from wizard.plan.plan import MADE_FROM, Done, Estimate, Plan, Ports, Start, Step, Wait
from wizard.run import engine
from wizard.run.engine import run
from wizard.run.events import Output, Ready
from wizard.serve import care, find
from wizard.serve.stop import stop

Make = Callable[..., Plan]


@pytest_asyncio.fixture
async def planned(tmp_path: Path) -> AsyncGenerator[Make, None]:
    """Plans of one server, a program that waits.

    It reads what ``one`` makes and not what ``two`` makes, and ``image``, which is looked for every time.
    """
    workspace = Workspace(tmp_path / "w")
    with reserved() as first:

        def make(*, made: str = "made", ports: int = first, start: Step | None = None) -> Plan:
            argv = (sys.executable, "-c", "import signal; signal.pause()", "--")
            env = (("PATH", os.environ["PATH"]), (MADE_FROM, made))
            action = Start(argv, env, Ports(ports, ports + 1, ports + 2), "test")
            steps = [python_step(name, touch(tmp_path / name), tmp_path / name) for name in ("one", "two")]
            image = replace(python_step("image", ""), writes=(IMAGE,))
            reads = (IMAGE, str(tmp_path / "one"))
            serve = Step("start", "Start", "", (action,), Done(server=True), Estimate(1), reads=reads, writes=(SERVER,))
            return plan_of(workspace.root, image, *steps, start or serve)

        yield make
        await stop(workspace.server("test"))


async def carried(plan: Plan, **asked: Any) -> tuple[dict[str, str], int]:
    """How each step ended, and the process of the server."""
    events, error = await events_of(plan, **asked)
    assert error is None
    (last,) = (event for event in events if isinstance(event, Ready))
    ended = outcomes(events)
    assert ended.pop("image") == "done"
    return ended, last.endpoint.pid


async def test_a_server_of_the_same_plan_is_left_alone(planned: Make) -> None:
    first, pid = await carried(planned())
    assert first == {"one": "done", "two": "done", "start": "done"}
    assert await carried(planned()) == (dict.fromkeys(first, "skipped"), pid)


async def test_a_server_that_is_shutting_down_is_waited_for(planned: Make, tmp_path: Path) -> None:
    """It has logged Triton's line about the signal, and still runs."""
    _, pid = await carried(planned())
    noted = find.note(Workspace(tmp_path / "w").server("test"))
    assert noted
    with Path(noted.log).open("a") as log:  # noqa: ASYNC230 -- a line
        log.write("Signal (15) received.\n")
    events, error = await events_of(planned())
    assert error is None
    lines = [line for event in events if isinstance(event, Output) for line in event.lines]
    assert lines[0] == "The server is shutting down; waiting for it."
    assert not any("older settings" in line for line in lines)
    (last,) = (event for event in events if isinstance(event, Ready))
    assert last.endpoint.pid != pid
    assert outcomes(events)["start"] == "done"


async def test_another_wizard_that_stops_servers_is_waited_for(
    planned: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first event comes when the wizard is the workspace's writer: a build's record begins with it."""
    workspace = Workspace(tmp_path / "w")
    workspace.make()
    waits = asyncio.Event()

    def look(workspace: Workspace) -> bool:
        if stopping := is_stopping(workspace):
            waits.set()
        return stopping

    monkeypatch.setattr(engine, "is_stopping", look)
    with ExitStack() as stack:
        stack.enter_context(writing(workspace, STOPPING))
        assert is_stopping(workspace)
        events = run(planned())
        beginning = asyncio.ensure_future(anext(events))
        await waits.wait()
        assert not beginning.done()
        stack.close()
        assert not is_stopping(workspace)
        first = await beginning
        assert isinstance(first, Output)
        assert first.lines == ("Waited for another wizard that was stopping servers here.",)
        with pytest.raises(WorkspaceError, match="TW-K04"), writing(workspace):
            pass
        assert isinstance([event async for event in events][-1], Ready)
    with writing(workspace):
        assert not is_stopping(workspace), "it does not stop servers"
    assert not is_stopping(Workspace(tmp_path / "none"))
    workspace.lock.write_text(f"{os.getpid()} 1 {STOPPING}\n")  # of a killed one, whose pid is used again
    assert not is_stopping(workspace)


async def test_a_failed_up_does_not_end_that_the_server_is_kept_running(planned: Make, tmp_path: Path) -> None:
    server = Workspace(tmp_path / "w").server("test")
    assert isinstance((await events_of(planned(start=never_ready(planned)), keep=True))[1], ServerError)
    await carried(planned())
    first = care.running(server)
    assert first, "as the failed one was asked to"
    assert isinstance((await events_of(planned(start=never_ready(planned))))[1], ServerError)
    assert care.running(server) is None
    await carried(planned())
    second = care.running(server)
    assert second
    assert second.pid != first.pid
    await carried(planned(), keep=False)
    await carried(planned(made="other"))
    assert care.note(server) is None
    await carried(planned(made="other"), keep=True)
    await stop(server)
    await carried(planned(made="other"))
    assert care.note(server) is None


def never_ready(planned: Make) -> Step:
    """The start of the server, whose time is over at once."""
    start = planned().steps[-1]
    wait = Wait("test", start.actions[0].ports, 0.0)
    return replace(start, actions=(replace(start.actions[0], env=()), wait))


@pytest.mark.parametrize("difference", ["made", "ports"])
async def test_a_server_of_another_plan_is_restarted(planned: Make, difference: str) -> None:
    _, pid = await carried(planned())
    other = (
        planned(made="other") if difference == "made" else planned(ports=planned().steps[-1].actions[0].ports.http + 3)
    )  # type: ignore[union-attr]
    outcome, now = await carried(other)
    assert outcome == {"one": "skipped", "two": "skipped", "start": "done"}
    assert now != pid


@pytest.mark.parametrize(
    ("name", "outcome"), [("one", "done"), ("two", "skipped")], ids=["what it reads", "what it does not read"]
)
async def test_a_server_is_restarted_when_its_inputs_change(
    planned: Make, tmp_path: Path, name: str, outcome: str
) -> None:
    _, pid = await carried(planned())
    (tmp_path / name).unlink()
    ended, now = await carried(planned())
    assert (ended[name], ended["start"]) == ("done", outcome)
    assert (now == pid) == (outcome == "skipped")


async def test_a_server_is_restarted_on_request(planned: Make) -> None:
    _, pid = await carried(planned())
    ended, now = await carried(planned(), redo={"start"})
    assert ended == {"one": "skipped", "two": "skipped", "start": "done"}
    assert now != pid


async def test_a_server_that_has_ended_is_started(planned: Make, tmp_path: Path) -> None:
    _, pid = await carried(planned())
    await stop(Workspace(tmp_path / "w").server("test"))
    ended, now = await carried(planned())
    assert ended["start"] == "done"
    assert now != pid


async def test_a_step_that_starts_no_server_is_not_skipped_because_one_runs(planned: Make, tmp_path: Path) -> None:
    await carried(planned())
    step = replace(planned().steps[-1], done=Done())
    ended, _ = await carried(planned(start=step))
    assert ended["start"] == "done"
    assert find.running(Workspace(tmp_path / "w").server("test"))
