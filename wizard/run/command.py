"""Run one command of a step: its output as events and in the step's log, and what failed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from wizard.kernel import proctable
from wizard.kernel.language import tr
from wizard.kernel.process import Child, Line, finish
from wizard.kernel.secrets import environment_for, redact
from wizard.kernel.text import plain
from wizard.plan.plan import Command, Step
from wizard.run.capture import Capture
from wizard.run.diagnose import FIX_THE_CAUSE, Cause, CommandError, Failure, diagnose
from wizard.run.events import Event, Output, Progress
from wizard.run.progress import Meter
from wizard.serve import causes

KEPT_LINES = 200
"""Lines of a failed command to search for an error if its cause is not known."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a command runs.

    Attributes:
        workspace: Marks the process, so that the next wizard finds it if this one is killed.
        folder: The current folder, unless the command has its own.
        log: The step's log, for the error.
    """

    workspace: Path
    folder: Path
    log: Path


async def carry(
    step: Step, command: Command, place: Place, capture: Capture, meter: Meter
) -> AsyncGenerator[Event, None]:
    """Run ``command`` and yield its output and progress; closing it stops the whole process group.

    Raises:
        StepError: TW-R03 if it fails.
        OSError: The log cannot be written.
    """
    environment = environment_for(command.secrets) | dict(command.env)
    environment |= proctable.step_marks(place.workspace)
    environment.setdefault("PYTHONUNBUFFERED", "1")
    environment.setdefault("TQDM_POSITION", "-1")  # huggingface_hub: show bars without a terminal, too
    await clean_up(command)
    if command.unless and await finish(command.unless, environment) == 0:
        return
    try:
        child = await Child.start(command.argv, env=environment, cwd=command.cwd or str(place.folder))
    except OSError as error:
        cause = Cause(tr("could not start the command"), str(error.strerror), tr(FIX_THE_CAUSE))
        raise _failed(step, command, place, cause) from error
    start = capture.size
    kept: list[str] = []
    status: int | None = None
    try:
        async for lines in _captured(child, capture):
            for event in shown(step, lines, meter):
                yield event
            kept = [*kept, *(line.text for line in lines if not line.update)][-KEPT_LINES:]
        status = await child.wait()
    finally:
        await child.stop(capture.feed)
        if status != 0:
            await clean_up(command)
    if status:
        known = await asyncio.to_thread(causes.in_file, place.log, start)
        raise _failed(step, command, place, diagnose(status, kept, known))


async def _captured(child: Child, capture: Capture) -> AsyncGenerator[list[Line], None]:
    async with aclosing(child.chunks()) as chunks:
        async for data in chunks:
            yield capture.feed(data)
    yield capture.feed(b"", end=True)


def _failed(step: Step, command: Command, place: Place, cause: Cause) -> CommandError:
    shell = redact(Command(command.argv).shell())
    why = redact(plain(cause.why))
    return CommandError(
        tr("step '{title}' failed: {why}", title=step.title, why=why),
        tr(
            "{todo} Then run `up` again to resume from here. Full output: {log}; command: {command}",
            todo=cause.todo,
            log=place.log,
            command=shell,
        ),
        Failure(redact(plain(cause.how)), redact(plain(cause.line)), cause.todo, str(place.log), shell),
        cause.known,
    )


async def clean_up(command: Command) -> None:
    """Remove what the command's own processes left, or an earlier wizard's; if that fails, so does the command."""
    if command.cleanup:
        await finish(command.cleanup.remove, environment_for())


def shown(step: Step, lines: Sequence[Line], meter: Meter) -> list[Event]:
    """A batch of lines as events: the lines, and the progress that they report."""
    events: list[Event] = []
    if texts := clean(line.text for line in lines if not line.update):
        events.append(Output(step.id, texts, time.time()))
    if last := meter.read([line.text for line in lines]):
        reading, line = last
        text = redact(plain(line)).strip()
        events.append(Progress(step.id, reading.fraction, reading.eta_s, text, time.time(), redact(reading.activity)))
    return events


def clean(lines: Iterable[str]) -> tuple[str, ...]:
    """Lines without control characters and secrets; no empty ones."""
    texts = [line if line.isprintable() else plain(line) for line in lines if line.strip()]
    return tuple(redact("\n".join(texts)).split("\n")) if texts else ()  # no secret contains a line break
