"""A build in a separate process, which outlives the terminal, the browser's tab or the kernel that it began in.

The process (`wizard.run.builder`) writes what happens to a file, its record. Any number of followers in other processes
read it, from the beginning and then live, and show its end, also later.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, Set
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGINT, SIGKILL, SIGTERM

from wizard.kernel import errors, proctable
from wizard.kernel.language import tr, used
from wizard.kernel.paths import ServerFolder, Workspace
from wizard.kernel.process import stop_group
from wizard.kernel.secrets import environment_for, given_secrets, redact
from wizard.kernel.text import plain
from wizard.kernel.values import from_data, to_data, to_json
from wizard.plan.plan import Plan
from wizard.run.diagnose import CommandError
from wizard.run.diagnose import Failure as CommandFailure
from wizard.run.events import Event, read_event
from wizard.serve.exposure import Exposure

LOOK_S = 0.05
"""Seconds between two looks for new events."""
PIECE = 1 << 16
"""Bytes to read at once: an interface draws in between."""
LADDER = ((SIGINT, 30.0), (SIGTERM, 10.0), (SIGKILL, 5.0))
"""How the process is stopped: the first signal lets it stop the running step, which can take a while."""
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
"""Another one after each start of the machine (random(4))."""


@dataclass(frozen=True, slots=True)
class Build:
    """A build that is running or has ended.

    Attributes:
        name: The server that it sets up.
        pid: Its process.
        started: The start time of that process as the kernel counts it.
        boot: The start of the machine that this time counts from.
        at: When it began, in seconds since 1970.
        caller: The process that it ends with, and its start time; None if it outlives that.
        skip: See `wizard.run.engine.run`, as for ``exposure`` and ``keep``: how it was started, for whoever retries it.
        exposure: As above.
        keep: As above.
    """

    name: str
    pid: int
    started: str
    boot: str
    at: float
    caller: tuple[int, str] | None = None
    skip: tuple[str, ...] = ()
    exposure: Exposure | None = None
    keep: bool | None = None

    @property
    def running(self) -> bool:
        """Whether its process is alive; the pid alone may be another's by now."""
        return proctable.lives(self.pid, self.started) and boot_id() == self.boot

    @property
    def ending(self) -> bool:
        """Whether it is being stopped, because the process that it ends with was killed."""
        return self.caller is not None and not proctable.lives(*self.caller)


@dataclass(frozen=True, slots=True)
class Order:
    """What the process is to do; it reads this from its standard input.

    Attributes:
        plan: The plan.
        redo: IDs of steps to run again.
        skip: IDs of steps to skip.
        exposure: See `wizard.run.engine.run`, as for ``keep``.
        keep: As above.
        caller: The process that the build ends with, and its start time; None if it outlives that.
        language: The language of texts that are not translated later.
        secrets: The values of the secret variables, for the commands that need them, and to be found in all output.
    """

    plan: Plan
    redo: tuple[str, ...]
    skip: tuple[str, ...]
    exposure: Exposure | None
    keep: bool | None
    caller: tuple[int, str] | None
    language: str
    secrets: dict[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Failure:
    """The error that ended a build: the name of its class in `wizard.kernel.errors`, and its parts."""

    kind: str
    code: str
    what: str
    todo: str
    known: str = ""
    command: CommandFailure | None = None
    """The details of a failed command."""

    @classmethod
    def of(cls, error: errors.WizardError) -> Failure:
        """``error`` as data."""
        kind = next(each.__name__ for each in type(error).__mro__ if each.__module__ == errors.__name__)
        command = error.failure if isinstance(error, CommandError) else None
        return cls(kind, **error.as_json(), known=error.known, command=command)

    def error(self) -> errors.WizardError:
        """The error again."""
        if self.command is not None:
            return CommandError(self.what, self.todo, self.command, self.known)
        error: errors.WizardError = getattr(errors, self.kind)(self.code, self.what, self.todo)
        error.known = self.known
        return error


def boot_id() -> str:
    """The machine's current start; empty if it is unknown."""
    with suppress(OSError):
        return BOOT_ID.read_text(encoding="ascii").strip()
    return ""


def me() -> tuple[int, str]:
    """This process and its start time."""
    return os.getpid(), proctable.start_time(os.getpid())


def building(workspace: Workspace) -> Build | None:
    """The build that is running in ``workspace``; there is at most one."""
    builds = (recorded(workspace.server(name)) for name in workspace.names())
    return next((build for build in builds if build is not None and build.running), None)


def recorded(server: ServerFolder) -> Build | None:
    """The last build of ``server``; None if there was none, or its record is damaged."""
    try:
        with server.build.open(encoding="utf-8") as file:
            return from_data(Build, json.loads(file.readline()), where=str(server.build))
    except (OSError, ValueError, RecursionError, errors.UsageError):
        return None


async def run(
    plan: Plan,
    *,
    redo: Set[str] = frozenset(),
    skip: Set[str] = frozenset(),
    exposure: Exposure | None = None,
    keep: bool | None = None,
    leaving: threading.Event | None = None,
) -> AsyncGenerator[Event, None]:
    """Start the build of ``plan`` and yield its events. Closing the generator stops the build.

    Args:
        plan: The plan.
        redo: See `wizard.run.engine.run`, as for ``skip``, ``exposure`` and ``keep``.
        skip: As above.
        exposure: As above.
        keep: As above.
        leaving: None: the build ends with this process, however that ends. Otherwise it outlives this process, and
            closing the generator leaves it running once this event is set.

    Raises:
        WizardError: See `wizard.run.engine.run`; TW-U07 if it was stopped elsewhere.
        WorkspaceError: TW-R100 if a build is running in the workspace.
        StepError: TW-R101 if its process was killed.
    """
    workspace = Workspace(Path(plan.workspace))
    if build := building(workspace):
        if not build.ending:
            raise occupied(build, workspace)
        await stop_group(build.pid, LADDER, leader_only=True)
    caller = me() if leaving is None else None
    order = Order(plan, tuple(sorted(redo)), tuple(sorted(skip)), exposure, keep, caller, used(), given_secrets())
    process = _start()
    try:
        await asyncio.to_thread(_give, order, process)
        async with aclosing(_followed(workspace.server(plan.name))) as events:
            async for event in events:
                yield event
    except (asyncio.CancelledError, GeneratorExit):
        if leaving is None or not leaving.is_set():
            await stop_group(process.pid, LADDER, leader_only=True)
        raise


async def attach(
    workspace: Workspace, name: str | None = None, *, leaving: threading.Event
) -> AsyncGenerator[Event, None]:
    """The events of a build from its beginning, live while it is running, and its end.

    Closing the generator stops the build, unless ``leaving`` is set.

    Args:
        workspace: The workspace.
        name: The server that it sets up; by default the one that is being built, else the one that was built last.
        leaving: As for `run`.

    Raises:
        UsageError: TW-R103 if nothing was built.
        WizardError: The error that ended the build; see `run`.
    """
    server = workspace.server(find(workspace, name).name)
    try:
        async with aclosing(_followed(server)) as events:
            async for event in events:
                yield event
    except (asyncio.CancelledError, GeneratorExit):
        build = recorded(server)
        if build is not None and build.running and not leaving.is_set():
            await stop_group(build.pid, LADDER, leader_only=True)
        raise


def find(workspace: Workspace, name: str | None = None) -> Build:
    """The build of the server ``name``; by default the one that is running, else the last one.

    Raises:
        UsageError: TW-R103 if there is none.
    """
    names = workspace.names() if name is None else [name]
    builds = [build for each in names if (build := recorded(workspace.server(each))) is not None]
    if not builds:
        raise errors.UsageError(
            "TW-R103",
            tr("there is no build of {name} in {folder}", name=name, folder=workspace.root)
            if name
            else tr("there is no build in {folder}", folder=workspace.root),
            tr("Start one, for example with `triton-wizard up demo`."),
        )
    return max(builds, key=lambda build: (build.running, build.at))


async def cancel(workspace: Workspace, name: str | None = None) -> Build | None:
    """Stop the running build, if it is that of ``name``; completed steps are kept. None if there is none.

    Raises:
        WorkspaceError: TW-R104 if it cannot be stopped, because another user started it.
    """
    build = building(workspace)
    if build is None or name not in (None, build.name):
        return None
    if not await stop_group(build.pid, LADDER, leader_only=True):
        message = tr("cannot stop the build of {name}: process {pid}", name=build.name, pid=build.pid)
        raise errors.WorkspaceError("TW-R104", message, tr("Stop it as the user who started it."))
    return build


def occupied(build: Build, workspace: Workspace) -> errors.WorkspaceError:
    """TW-R100: ``build`` is running."""
    text = tr(
        "{name} is being built in {folder} since {time}, by process {pid}",
        name=build.name,
        folder=workspace.root,
        time=time.strftime("%H:%M", time.localtime(build.at)),
        pid=build.pid,
    )
    todo = tr("Watch it with `triton-wizard attach`, or stop it with `triton-wizard cancel`.")
    return errors.WorkspaceError("TW-R100", text, todo)


def left(name: str) -> errors.CancelledError:
    """TW-R102: only the view of the build of ``name`` has ended."""
    return errors.CancelledError(
        "TW-R102",
        tr("you left the view; the build of {name} continues", name=name),
        tr("Watch it with `triton-wizard attach`, or stop it with `triton-wizard cancel`."),
    )


async def _followed(server: ServerFolder) -> AsyncGenerator[Event, None]:
    """The events of the last build of ``server``, also of one that has ended; then its error.

    The end is reported when the process has exited, so that another build can begin.
    """
    alive, rest, complete = True, b"", False
    failure: Failure | None = None
    with server.build.open("rb") as file:
        build = from_data(Build, json.loads(file.readline()), where=file.name)
        while alive:
            alive = build.running  # looked at first: what an ended process wrote is then all there
            while piece := file.read(PIECE):
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    try:
                        data = json.loads(line)
                    except ValueError:  # half of it: the disk was full
                        continue
                    if "kind" in data:
                        failure = from_data(Failure, data, where=file.name)
                        continue
                    complete = data["event"] == "Ready"
                    yield read_event(data, where=file.name)
                await asyncio.sleep(0)
            if alive:
                await asyncio.sleep(LOOK_S)
    if failure is not None:
        raise failure.error()
    if not complete:
        raise _killed(server.name, tr("Its log: {log}", log=server.build_log))


def _killed(name: str, why: str) -> errors.StepError:
    return errors.StepError(
        "TW-R101",
        tr("the process that builds {name} ended before the build did; was it killed?", name=name),
        tr("Run `up` again: completed steps are kept. {why}", why=why),
    )


def _start() -> subprocess.Popen[bytes]:
    """Start the process in its own session, so that no signal to a terminal's process group reaches it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "wizard.run.builder"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        env=environment_for(),
        cwd="/",  # so that no file of the current folder is imported
    )
    threading.Thread(target=process.wait, daemon=True).start()  # no zombie is left
    return process


def _give(order: Order, process: subprocess.Popen[bytes]) -> None:
    """Give the order and wait until the process is the workspace's writer; raise the error if it could not be that.

    Of an order with a caller, the pipe stays open: its end tells the process that the caller has ended.
    """
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the process was started without pipes")
    with suppress(BrokenPipeError):
        process.stdin.write(to_json(order).encode() + b"\n")
        process.stdin.flush()
        if order.caller is None:
            process.stdin.close()
    output = process.stdout.read().decode(errors="replace")
    last = output.rstrip().rpartition("\n")[2]
    try:
        data = json.loads(last)
    except ValueError as error:
        raise _killed(order.plan.name, redact(plain(last))) from error
    if data:
        raise from_data(Failure, data, where="stdout").error()


def begin(server: ServerFolder, order: Order) -> int:
    """In the process: make its record, in one piece with its first line; return the open file."""
    build = Build(
        name=server.name,
        pid=os.getpid(),
        started=proctable.start_time(os.getpid()),
        boot=boot_id(),
        at=time.time(),
        caller=order.caller,
        skip=order.skip,
        exposure=order.exposure,
        keep=order.keep,
    )
    new = server.build.with_name(server.build.name + ".new")
    record = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o600)
    os.write(record, f"{to_json(to_data(build))}\n".encode())
    new.replace(server.build)
    return record
