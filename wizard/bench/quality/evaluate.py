"""Scores of one or two servers on the tasks of lm_eval, as a stream."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO, TypeAlias

from wizard.bench.bench import STOPPED
from wizard.bench.environment import unwritable
from wizard.bench.folder import Folder
from wizard.bench.generator import Tail, dead
from wizard.bench.quality import tasks
from wizard.bench.quality.paired import differences
from wizard.bench.quality.report import Quality, Score, Subject
from wizard.bench.quality.tasks import Evaluation
from wizard.kernel import proctable
from wizard.kernel.errors import StepError, WizardError
from wizard.kernel.language import tr
from wizard.kernel.process import Child
from wizard.kernel.secrets import redact
from wizard.run.events import Event, Progress, StepFinished, StepStarted

LIVES_S = 1.0
QualityItem: TypeAlias = Event | Quality


@dataclass(frozen=True, slots=True)
class Evaluator:
    """What an evaluation runs with on this machine; none of it is in the report.

    Attributes:
        program: The environment's Python and `evaluation.py`.
        own: The folder of our tasks.
        cache: For datasets.
        mark: The workspace, which marks the process for the next wizard.
        keys: API key of each server.
        lives: Whether each server's process is alive.
    """

    program: tuple[str, ...]
    own: Path
    cache: Path
    mark: str = ""
    keys: tuple[str | None, ...] = (None, None)
    lives: tuple[Callable[[], bool], ...] = (lambda: True, lambda: True)


async def evaluated(
    order: Quality, evaluation: Evaluation, folder: Folder, evaluator: Evaluator
) -> AsyncGenerator[QualityItem, None]:
    """Ask the servers of ``order`` that have no scores yet; yields events, and the report at the end.

    After each task the report is on disk, marked as partial until the end: closing this generator, or an error, loses
    nothing that was answered.

    Raises:
        UsageError: TW-C69 if the folder has a report; TW-C90, TW-C91, TW-C92 if a task cannot be used.
        WorkspaceError: TW-C68 if it is not writable.
        StepError: TW-C93 if lm_eval fails.
        ServerError: TW-C64, TW-C65 if a server does not answer.
    """
    folder.make()
    state = _State(order, folder)
    try:
        for at, subject in enumerate(order.subjects):
            if not subject.scores:
                async with aclosing(_asked(state, at, evaluation, evaluator)) as events:
                    async for event in events:
                        yield event
    except WizardError as error:
        if any(subject.scores for subject in state.report.subjects):
            state.keep(error.code)
        raise
    except (asyncio.CancelledError, GeneratorExit):
        state.keep(STOPPED)
        raise
    state.keep("")
    yield state.report


async def _asked(state: _State, at: int, evaluation: Evaluation, evaluator: Evaluator) -> AsyncGenerator[Event, None]:
    target = state.report.subjects[at].target
    step = f"quality-{at + 1}"
    yield StepStarted(step, tr("Questions to {name}", name=target.name), at + 1, state.count, time.time())
    began = time.monotonic()
    try:
        async with aclosing(_run(state, at, evaluation, evaluator)) as beats:
            async for task, done, count, failed in beats:
                text = tr("{task}: {done} of {count}", task=task, done=done, count=count)
                if failed:
                    text = tr("{requests}, {count} failed", requests=text, count=failed)
                yield Progress(step, done / count if count else None, None, text, time.time())
        if error := tasks.unanswered(state.report.subjects[at].scores):
            raise error
    except WizardError as error:
        yield StepFinished(step, "failed", time.monotonic() - began, error.what, time.time(), error=error.as_json())
        raise
    yield StepFinished(step, "done", time.monotonic() - began, "", time.time())


async def _run(
    state: _State, at: int, evaluation: Evaluation, evaluator: Evaluator
) -> AsyncGenerator[tuple[str, int, int, int], None]:
    """Run lm_eval for a server; yields its progress, and fills the state with its results."""
    place, log = state.files(at), state.folder.root / "lm_eval.log"
    order = tasks.order(evaluation, state.report.subjects[at].target, evaluator.own, place)
    path = place.with_name(f"order-{at + 1}.json")
    environment = tasks.environment(evaluator.keys[at], evaluator.cache)
    environment |= proctable.step_marks(Path(evaluator.mark))
    try:
        path.write_text(json.dumps(order), encoding="utf-8")
        with log.open("a", encoding="utf-8", buffering=1) as output:  # a full disk is noticed at once
            child = await _started((*evaluator.program, str(path)), environment, state.folder.root)
            async with aclosing(_watched(state, at, child, evaluator.lives[at], output)) as beats:
                async for beat in beats:
                    yield beat
    except OSError as error:
        raise unwritable(error.filename or log, error) from error
    if state.error:
        raise state.error
    if status := await child.wait():
        raise tasks.failed(status, log)


async def _started(words: Sequence[str], environment: dict[str, str], folder: Path) -> Child:
    try:
        return await Child.start(words, env=environment, cwd=str(folder))
    except OSError as error:
        raise StepError(
            "TW-C93", tr("lm_eval failed: {why}", why=error.strerror), tr("Run the command again.")
        ) from error


async def _watched(
    state: _State, at: int, child: Child, lives: Callable[[], bool], log: TextIO
) -> AsyncGenerator[tuple[str, int, int, int], None]:
    """Take lm_eval's records until it ends, and its output into ``log``; yields its progress. Closing it stops it."""
    tail = Tail(state.files(at))
    watch = asyncio.ensure_future(_ended(lives, child))
    try:
        async for lines in child.output():
            for line in lines:
                if beat := tasks.progress(line.text):
                    yield beat
                elif line.text.strip():
                    log.write(redact(line.text) + "\n")
            tail.read(lambda line: state.take(at, line))
        await child.wait()
    finally:
        watch.cancel()
        await child.stop()
        tail.read(lambda line: state.take(at, line))
    if not lives():
        raise dead(tr("its process has ended"))


async def _ended(lives: Callable[[], bool], child: Child) -> None:
    """Stop ``child`` when the server's process has ended."""
    while lives():  # noqa: ASYNC110 - it is another program's process
        await asyncio.sleep(LIVES_S)
    await child.stop()


class _State:
    """What has been answered so far."""

    def __init__(self, report: Quality, folder: Folder) -> None:
        self.report = report
        self.folder = folder
        self.count = sum(not subject.scores for subject in report.subjects)
        self.error: WizardError | None = None

    def files(self, at: int) -> Path:
        """The file with all questions and answers of a server."""
        return self.folder.root / "runs" / f"answers-{at + 1}.jsonl"

    def take(self, at: int, line: str) -> None:
        """Take a record of a server."""
        record = tasks.result(line)
        if isinstance(record, WizardError):
            self.error = record
        elif record:
            self._add(at, record)

    def _add(self, at: int, scores: tuple[Score, ...]) -> None:
        subjects = list(self.report.subjects)
        subjects[at] = Subject(subjects[at].target, (*subjects[at].scores, *scores))
        rows = differences(*subjects) if len(subjects) == 2 else ()
        self.report = replace(self.report, subjects=tuple(subjects), differences=rows)
        self.keep(STOPPED)

    def keep(self, partial: str) -> None:
        """Write the report.

        Raises:
            WorkspaceError: TW-C68 if it cannot be written.
        """
        self.report = replace(self.report, partial=partial)
        self.folder.keep(self.report)
