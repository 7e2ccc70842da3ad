"""A build in a separate process, which survives the notebook's kernel; any kernel can follow and stop it.

``python -m wizard.notebook.build_process`` reads a plan from standard input, runs it, and prints its events as JSON
lines.
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from wizard import journey
from wizard.kernel import errors, proctable
from wizard.kernel.language import tr
from wizard.kernel.paths import ServerFolder, Workspace
from wizard.kernel.process import stop_group
from wizard.kernel.secrets import redact
from wizard.kernel.values import from_data, from_json, messages, to_data, to_document, to_json
from wizard.plan.plan import Plan
from wizard.run.events import Event, event_data, read_event

LOOK_S = 0.1
"""Seconds between two looks for new events."""
LADDER = ((signal.SIGINT, 30.0), (signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0))
"""How it is stopped: the first signal lets it stop the running step, which can take a while."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The error that ended a build: the name of its class in `wizard.kernel.errors`, and its parts."""

    kind: str
    code: str
    what: str
    todo: str


def running(server: ServerFolder) -> bool:
    """Whether a build of ``server`` is running in a process of this module."""
    return _process(server) is not None


async def run(plan: Plan) -> AsyncGenerator[Event, None]:
    """The events of the build of ``plan``, from its beginning; a running build of the same server is joined.

    Closing the generator stops the build. If this process is killed, the build continues.

    Raises:
        WizardError: See `wizard.journey.run`; TW-U07 if the build was stopped elsewhere.
        StepError: TW-N11 if its process was killed.
    """
    server = Workspace(Path(plan.workspace)).server(plan.name)
    try:
        if not running(server):
            _start(plan, server)
        async with aclosing(_follow(server)) as events:
            async for event in events:
                yield event
    except (asyncio.CancelledError, GeneratorExit):
        if process := _process(server):
            await stop_group(process.pid, LADDER, leader_only=True)
        raise


async def _follow(server: ServerFolder) -> AsyncGenerator[Event, None]:
    alive, rest, ended = True, "", False
    with _events(server).open(encoding="utf-8") as file:
        while alive:
            alive = running(server)  # looked at first: what an ended process wrote is then all there
            *lines, rest = (rest + file.read()).split("\n")
            for line in lines:
                data = json.loads(line)
                if "kind" in data:
                    failure = from_data(Failure, data, where=file.name)
                    raise getattr(errors, failure.kind)(failure.code, failure.what, failure.todo)
                ended = data["event"] == "Ready"
                yield read_event(data, where=file.name)
            if alive:
                await asyncio.sleep(LOOK_S)
    if not ended:
        raise errors.StepError(
            "TW-N11",
            tr("the process that builds {name} was killed", name=server.name),
            tr("Continue with `up()`: completed steps are kept. Its log: {log}", log=_log(server)),
        )


def _start(plan: Plan, server: ServerFolder) -> None:
    """Start the process in its own session, so that no signal to the kernel's process group reaches it.

    Raises:
        WorkspaceError: TW-K03 if the workspace is not writable.
    """
    Workspace(Path(plan.workspace)).make()
    server.root.mkdir(parents=True, exist_ok=True)
    with _events(server).open("wb") as events, _log(server).open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "wizard.notebook.build_process"],
            stdin=subprocess.PIPE,
            stdout=events,
            stderr=log,
            start_new_session=True,
        )
    threading.Thread(target=process.wait, daemon=True).start()  # no zombie is left
    if row := proctable.read(process.pid):
        _note(server).write_text(json.dumps(asdict(row)), encoding="utf-8")
    if process.stdin:
        with suppress(BrokenPipeError), process.stdin as pipe:
            pipe.write(to_document(plan).encode())


def _process(server: ServerFolder) -> proctable.Process | None:
    try:
        process = proctable.Process(**json.loads(_note(server).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
    return process if proctable.alive(process) else None


def _note(server: ServerFolder) -> Path:
    """The process of the last build."""
    return server.root / "build.json"


def _events(server: ServerFolder) -> Path:
    return server.root / "build.jsonl"


def _log(server: ServerFolder) -> Path:
    """What the process itself prints, such as a bug's traceback; each step has its log in `ServerFolder.logs`."""
    return server.root / "build.log"


# -- in the process ----------------------------------------------------------------------------------------------------


def main() -> None:
    """Run the plan on standard input."""
    with suppress(asyncio.CancelledError):
        asyncio.run(_carry_out(from_json(Plan, sys.stdin.read(), where="-")))


async def _carry_out(plan: Plan) -> None:
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    signals = [signal.SIGINT, signal.SIGTERM]

    def stop() -> None:
        if task and signals:
            signals.clear()  # a second cancellation would stop the clean-up
            task.cancel()

    for number in tuple(signals):
        loop.add_signal_handler(number, stop)
    try:
        async with aclosing(journey.run(plan)) as events:
            async for event in events:
                _say(event_data(event), event)
    except asyncio.CancelledError:
        todo = tr("Continue with `up()`.")
        _fail(errors.CancelledError("TW-U07", tr("stopped; completed steps are kept"), todo))
    except errors.WizardError as error:
        _fail(error)


def _fail(error: errors.WizardError) -> None:
    kind = next(each.__name__ for each in type(error).__mro__ if each.__module__ == errors.__name__)
    failure = Failure(kind, **error.as_json())
    _say(to_data(failure), failure)


def _say(data: dict[str, object], value: object) -> None:
    print(redact(to_json({**data, "messages": messages(value)})), flush=True)


if __name__ == "__main__":
    main()
