"""The environment of the load generator, created by a plan step like an engine's and reused afterwards."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

from wizard.advise import compatibility
from wizard.advise.reasons import Refused
from wizard.catalog.environments import Environment, environment
from wizard.kernel.errors import HostError, StepError, WorkspaceError
from wizard.kernel.language import tr
from wizard.kernel.lock import writing
from wizard.kernel.paths import Workspace
from wizard.kernel.secrets import redact
from wizard.plan.plan import LINK_BYTES_PER_S, Command, Done, Estimate, Step
from wizard.plan.runtimes.venv import Venv
from wizard.probe.host import Host
from wizard.probe.interpreters import usable_interpreter
from wizard.run.command import Place, carry
from wizard.run.diagnose import CommandError
from wizard.run.events import Event, StepFinished, StepStarted
from wizard.run.journal import Journal, made, still_done
from wizard.run.progress import Meter

NAME = "aiperf"
JOURNAL = "bench"
"""Stands for the server in the journal: the environment is shared by all."""


def of(host: Host, workspace: Workspace) -> Venv:
    """Where AIPerf is, or will be, in ``workspace``.

    Raises:
        Refused: TW-C61 if this machine cannot run it.
    """
    wanted: Environment = environment(NAME)
    barriers = compatibility.obstacles(host, wanted)
    interpreter = usable_interpreter(host, wanted.pythons)
    if barriers or interpreter is None:
        raise Refused("TW-C61", HostError, barriers[0])
    return Venv(workspace.environments, wanted, interpreter)


def step(venv: Venv) -> Step:
    """The step that creates it."""
    complete = str(venv.root / "complete")
    size = venv.environment.download_bytes
    return Step(
        id="bench-environment",
        title=tr("Create the environment of the load generator"),
        why=tr(
            "{engine} sends the requests and measures each of them. It gets its own environment and runs as a "
            "separate process, so it neither changes nor slows down the wizard.",
            engine=venv.environment.engine,
        ),
        actions=(*venv.install(), venv.check(), Command(("touch", complete))),
        done=Done(files=(venv.python, complete)),
        estimate=Estimate(20 + size / LINK_BYTES_PER_S, size, venv.environment.disk_bytes),
        identity=str(venv.root),
        reads=(venv.interpreter.path,),
        writes=(NAME,),
    )


def is_made(workspace: Workspace, venv: Venv) -> bool:
    """Whether it exists, complete and unchanged."""
    return _done(Journal(workspace.journal), step(venv))


def _done(journal: Journal, wanted: Step) -> bool:
    return still_done(wanted, journal.finished().get(wanted.fingerprint))


async def prepared(workspace: Workspace, venv: Venv) -> AsyncGenerator[Event, None]:
    """Create the environment unless it exists; closing it stops the command that runs.

    Raises:
        StepError: TW-C62 if a command fails.
        WorkspaceError: TW-K03, TW-K04, TW-R01, TW-C68 if the workspace is not usable.
    """
    wanted, journal = step(venv), Journal(workspace.journal)
    if _done(journal, wanted):
        return
    workspace.make()
    with writing(workspace):
        started = StepStarted(wanted.id, wanted.title, 1, 1, time.time())
        journal.add(JOURNAL, started)
        yield started
        began = time.monotonic()
        try:
            async with aclosing(_carried(workspace, wanted)) as events:
                async for event in events:
                    yield event
        except (StepError, WorkspaceError) as error:
            finished = StepFinished(wanted.id, "failed", time.monotonic() - began, redact(error.what), time.time())
            journal.add(JOURNAL, finished)
            yield finished
            raise
        except (asyncio.CancelledError, GeneratorExit):
            stopped = StepFinished(wanted.id, "cancelled", time.monotonic() - began, "", time.time())
            journal.add(JOURNAL, stopped)
            raise
        seconds = time.monotonic() - began
        done = StepFinished(wanted.id, "done", seconds, "", time.time(), wanted.fingerprint, made(wanted))
        journal.add(JOURNAL, done)
        yield done


async def _carried(workspace: Workspace, wanted: Step) -> AsyncGenerator[Event, None]:
    path = workspace.bench / "environment.log"
    place = Place(workspace.root, workspace.bench, path)
    meter = Meter(wanted.estimate)
    try:
        workspace.bench.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as log:
            for command in wanted.actions:
                if isinstance(command, Command):
                    async with aclosing(carry(wanted, command, place, log, meter)) as events:
                        async for event in events:
                            yield event
    except CommandError as error:
        todo = tr("{todo} Then run `bench` again. Full output: {log}", todo=error.failure.todo, log=path)
        raise StepError("TW-C62", error.what, todo) from error
    except OSError as error:
        raise unwritable(error.filename or path, error) from error


def unwritable(path: object, error: OSError) -> WorkspaceError:
    """The error for a file of a benchmark that cannot be written."""
    return WorkspaceError(
        "TW-C68",
        tr("cannot write {path}: {why}", path=path, why=error.strerror or str(error)),
        tr("Free some space or choose another folder with --out DIR. What was measured before is kept."),
    )
