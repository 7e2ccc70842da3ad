"""A benchmark from its first run to its report, as a stream."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from wizard.bench import aiperf
from wizard.bench.dataset import Prompt
from wizard.bench.derive import derived
from wizard.bench.environment import unwritable
from wizard.bench.folder import Folder
from wizard.bench.generator import Recorder, Rig, recorded
from wizard.bench.load import Load, Point
from wizard.bench.measured import Measured
from wizard.bench.report import Report
from wizard.bench.run import Run
from wizard.kernel.errors import WizardError
from wizard.kernel.language import ntr, tr
from wizard.run.events import Event, Progress, StepFinished, StepStarted

LONG_S = 600.0
"""Seconds from which on a benchmark is announced, and a shorter one offered."""
SHORTEST_S = 5.0
"""Seconds of a run of the shorter one, at least."""
STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Outlook:
    """How long a benchmark will take, from its first run."""

    seconds: float
    """For the runs that are left."""
    load: Load
    """As ordered."""
    shorter: Load
    """One run of each level, for a time that keeps all of it within `LONG_S`."""
    shorter_s: float


Agree: TypeAlias = Callable[[Outlook], Awaitable[Load | None]]
"""Chooses the load to go on with, or None to stop."""
Ready: TypeAlias = Callable[[int], AsyncGenerator[Event, None]]
"""Starts the server of the subject with this number, if it does not run."""
BenchItem: TypeAlias = Event | Measured | Report


async def bench(
    order: Report, prompts: Sequence[Prompt], folder: Folder, rig: Rig, agree: Agree
) -> AsyncGenerator[BenchItem, None]:
    """Measure what ``order``, a report without results, describes.

    Yields events of the runs, after each run what is known of its level of load, and the report at the end. Every level
    is measured once before any is repeated, so that what changes with time meets all of them. After each run the report
    is on disk, marked as partial until the end: closing this generator, or an error, loses nothing.

    Args:
        order: The report to be, without points.
        prompts: Of its dataset, at least one.
        folder: Where it goes.
        rig: What it runs with.
        agree: Asked once, after the first run, if the rest takes longer than `LONG_S`.

    Raises:
        UsageError: TW-C69 if the folder has a report.
        WorkspaceError: TW-C68 if it is not writable.
        StepError: TW-C63 if AIPerf fails.
        ServerError: TW-C64, TW-C65 if the server does not answer.
    """
    subject = Subject(order, prompts, folder)
    subject.rig = rig
    subject.begin()
    async with aclosing(measure([subject], agree)) as items:
        async for item in items:
            yield item
    yield subject.report


async def measure(
    subjects: Sequence[Subject], agree: Agree, ready: Ready | None = None
) -> AsyncGenerator[Event | Measured, None]:
    """Measure the ``subjects``, all under the same load, in the order of `sequence`; see `bench`.

    Args:
        subjects: What is measured; each keeps its own report.
        agree: As in `bench`.
        ready: Starts a subject's server before a run, where they take turns: then it must have its ``rig`` and target.
            None: all of them are running.
    """
    try:
        async with aclosing(_runs(subjects, agree, ready)) as items:
            async for item in items:
                yield item
    except WizardError as error:
        _keep(subjects, error.code)
        raise
    except (asyncio.CancelledError, GeneratorExit):
        _keep(subjects, STOPPED)
        raise
    _keep(subjects, None)


def _keep(subjects: Sequence[Subject], partial: str | None) -> None:
    """Write all reports: why they are ``partial``; None: they are complete unless it was decided to stop."""
    for subject in subjects:
        why = "" if subject.complete else STOPPED
        subject.keep(why if partial is None else partial)


def sequence(load: Load, subjects: int, *, turns: bool) -> list[tuple[int, Point, int]]:
    """The order of the runs: number of the subject, level, and number of the run.

    What changes with time, such as the temperature, shall meet all subjects: the order of the subjects is reversed each
    time (A B B A). If they take ``turns``, a subject measures all levels before the next one is started.
    """
    runs: list[tuple[int, Point, int]] = []
    ahead = True
    for number in range(1, load.repeats + 1):
        for points in [load.points] if turns else [(point,) for point in load.points]:
            order = range(subjects) if ahead else reversed(range(subjects))
            runs += [(subject, point, number) for subject in order for point in points]
            ahead = not ahead
    return runs


async def _runs(
    subjects: Sequence[Subject], agree: Agree, ready: Ready | None
) -> AsyncGenerator[Event | Measured, None]:
    load, began = subjects[0].report.load, time.monotonic()
    left = sequence(load, len(subjects), turns=ready is not None)
    place = Place(len(left))
    while left:
        at, point, number = left.pop(0)
        if ready:
            async with aclosing(ready(at)) as events:
                async for event in events:
                    yield event
        place.number += 1
        place.named = subjects[at].report.target.name if len(subjects) > 1 else ""
        async with aclosing(run_once(subjects[at], point, number, place)) as events:
            async for event in events:
                yield event
        yield subjects[at].measured[point]
        if place.number == 1:
            outlook = subjects[at].outlook(time.monotonic() - began, len(left), len(subjects))
            chosen = await agree(outlook) if outlook.seconds > LONG_S else load
            if chosen is None:
                return
            left = [run for run in left if run[2] <= chosen.repeats]
            place.runs = len(left) + 1 if chosen.repeats < load.repeats else place.runs
            for subject in subjects:
                subject.report = replace(subject.report, load=chosen)
    for subject in subjects:
        subject.complete = True


@dataclass(slots=True)
class Place:
    """Where a run is among all runs."""

    runs: int
    """Their number, as ordered."""
    number: int = 0
    named: str = ""
    """What is measured, if it is said with each run."""


async def run_once(subject: Subject, point: Point, number: int, place: Place) -> AsyncGenerator[Event, None]:
    """A run of a level of load; what it measured is kept however it ends. Raises as `bench`."""
    load, recorder = subject.report.load, Recorder(point, number)
    name = Run(point, number, 0.0).id
    title = tr("{load}, run {number} of {runs}", load=title_of(point), number=number, runs=load.repeats)
    title = f"{place.named}: {title}" if place.named else title
    yield StepStarted(name, title, place.number, place.runs, time.time())
    began = time.monotonic()
    why = STOPPED
    try:
        running = recorded(recorder, subject.rig, subject.report.target, load, subject.files, name)
        shown = -1
        async with aclosing(running) as beats:
            async for _ in beats:
                if shown != (shown := recorder.warmed + len(recorder.records)):
                    yield _progress(name, recorder, load)
        why = ""
    except WizardError as error:
        why = error.code
        yield StepFinished(name, "failed", time.monotonic() - began, error.what, time.time(), error=error.as_json())
        raise
    finally:
        subject.add(recorder.run(why))
    yield StepFinished(name, "done", time.monotonic() - began, "", time.time())


def title_of(point: Point) -> str:
    """``4 concurrent requests``, ``2.5 requests/s``."""
    if point.concurrency is None:
        return tr("{rate:g} requests/s", rate=point.rate or 0.0)
    return ntr("{count} concurrent request", "{count} concurrent requests", point.concurrency, count=point.concurrency)


def _progress(step: str, recorder: Recorder, load: Load) -> Progress:
    done = len(recorder.records)
    if not done:
        text = tr("warming up: {count} requests", count=recorder.warmed)
        return Progress(step, None, None, text, time.time())
    spent = max(each.end for each in recorder.records) - min(each.start for each in recorder.records)
    failing = done - recorder.succeeded
    text = ntr("{count} request", "{count} requests", done, count=done)
    if failing:
        text = tr("{requests}, {count} failed", requests=text, count=failing)
    fraction = done / load.requests if load.requests else spent / (load.seconds or spent or 1.0)
    fraction = min(1.0, fraction)
    return Progress(step, fraction, spent / fraction - spent if fraction else None, text, time.time())


@dataclass(slots=True)
class Subject:
    """A server that is measured, and what has been measured of it so far."""

    report: Report
    prompts: Sequence[Prompt]
    folder: Folder
    rig: Rig = field(init=False)
    """Where its server runs; set before it is measured."""
    runs: list[Run] = field(default_factory=list)
    measured: dict[Point, Measured] = field(default_factory=dict)
    complete: bool = False

    @property
    def files(self) -> aiperf.Files:
        """What the load generator reads and writes."""
        return aiperf.Files(self.folder.root)

    def begin(self) -> None:
        """Make the folder, and write what the load generator reads; again after the target has changed.

        Raises:
            UsageError: TW-C69 if the folder has a report.
            WorkspaceError: TW-C68 if it is not writable.
        """
        if not self.runs:
            self.folder.make()
        try:
            self.files.write(self.prompts, self.report.target)
        except OSError as error:
            raise unwritable(error.filename or self.folder.root, error) from error

    def add(self, run: Run) -> None:
        """Take a run, and write it and the report.

        Raises:
            WorkspaceError: TW-C68 if they cannot be written.
        """
        self.runs.append(run)
        mine = [each for each in self.runs if each.point == run.point and each.requests]
        if mine:
            report = self.report
            self.measured[run.point] = derived(mine, report.level, report.target, self.rig.cores)
        self.folder.keep(run)
        self.keep(run.partial or STOPPED)

    def keep(self, partial: str) -> None:
        """Write the report.

        Raises:
            WorkspaceError: TW-C68 if it cannot be written.
        """
        points = tuple(self.measured[point] for point in self.report.load.points if point in self.measured)
        self.report = replace(self.report, points=points, partial=partial)
        self.folder.keep(self.report)

    def outlook(self, first_s: float, left: int, subjects: int = 1) -> Outlook:
        """How long the rest takes.

        With a number of requests, a level of more concurrency is assumed to take the time of the first one at most: the
        server works on more of them at once. (A server whose slots are full takes as long as before.)

        Args:
            first_s: What the first run took, the start of its server included.
            left: Runs that are left.
            subjects: Servers that are measured.
        """
        load = self.report.load
        run = self.runs[0]
        spent = max((each.end_s for each in run.requests), default=0.0)
        around = max(0.0, first_s - spent)
        each_s = load.seconds if load.seconds is not None else spent
        few = max(1, len(load.points) * subjects - 1)
        seconds = max(SHORTEST_S, LONG_S / few - around)
        shorter = replace(load, requests=None, seconds=round(min(seconds, each_s)), repeats=1)
        return Outlook(left * (around + each_s), load, shorter, few * (around + (shorter.seconds or 0.0)))
