"""The environments of the load generator and lm_eval, created by a plan step like an engine's and reused afterwards."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, closing
from dataclasses import dataclass

from wizard.advise import compatibility
from wizard.advise.reasons import Refused
from wizard.catalog.environments import Environment, environment
from wizard.kernel.errors import HostError, StepError, WorkspaceError
from wizard.kernel.files import private_folder
from wizard.kernel.language import mark, tr
from wizard.kernel.lock import writing
from wizard.kernel.paths import Workspace
from wizard.kernel.secrets import redact
from wizard.plan.plan import LINK_BYTES_PER_S, Command, Done, Estimate, Step
from wizard.plan.runtimes.venv import Venv
from wizard.probe.host import Host
from wizard.probe.interpreters import usable_interpreter
from wizard.run.capture import Capture
from wizard.run.command import Place, carry
from wizard.run.diagnose import CommandError
from wizard.run.events import Event, StepFinished, StepStarted
from wizard.run.journal import Journal, made, still_done
from wizard.run.progress import Meter


@dataclass(frozen=True, slots=True)
class Program:
    """A program that measures, with an environment of its own.

    Attributes:
        name: Of the environment in ``profiles/environments``.
        step: Id of the step that creates it.
        title: The step's title.
        why: What the program is for, and why it is separate.
    """

    name: str
    step: str
    title: str
    why: str


AIPERF = Program(
    "aiperf",
    "bench-environment",
    mark("Create the environment of the load generator"),
    mark(
        "{engine} sends the requests and measures each of them. It gets its own environment and runs as a separate "
        "process, so it neither changes nor slows down the wizard."
    ),
)
LM_EVAL = Program(
    "lm-eval",
    "lm-eval-environment",
    mark("Create the environment of {engine}"),
    mark(
        "{engine} asks the questions and scores the answers. It gets its own environment and runs as a separate "
        "process, so it does not change the wizard."
    ),
)
PROGRAMS = {program.name: program for program in (AIPERF, LM_EVAL)}
JOURNAL = "bench"
"""Stands for the server in the journal: the environment is shared by all."""


def of(host: Host, workspace: Workspace, program: Program = AIPERF) -> Venv:
    """Where ``program`` is or will be in ``workspace``.

    Raises:
        Refused: TW-C61 if this machine cannot run it.
    """
    wanted: Environment = environment(program.name)
    barriers = compatibility.obstacles(host, wanted)
    interpreter = usable_interpreter(host, wanted.pythons)
    if barriers or interpreter is None:
        raise Refused("TW-C61", HostError, barriers[0])
    return Venv(workspace.environments, wanted, interpreter)


def step(venv: Venv) -> Step:
    """The step that creates it."""
    complete = str(venv.root / "complete")
    size = venv.environment.download_bytes
    program, engine = PROGRAMS[venv.environment.name], venv.environment.engine
    return Step(
        id=program.step,
        title=tr(program.title, engine=engine),
        why=tr(program.why, engine=engine),
        actions=(*venv.install(), venv.check(), Command(("touch", complete))),
        done=Done(files=(venv.python, complete)),
        estimate=Estimate(20 + size / LINK_BYTES_PER_S, size, venv.environment.disk_bytes),
        identity=str(venv.root),
        reads=(venv.interpreter.path,),
        writes=(venv.environment.name,),
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
        private_folder(workspace.bench)
        with closing(Capture(path)) as capture:
            for command in wanted.actions:
                if isinstance(command, Command):
                    async with aclosing(carry(wanted, command, place, capture, meter)) as events:
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
