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
from wizard.run.events import Event, Output, Progress, StepFinished, StepStarted

LONG_S = 600.0
"""Seconds from which on a benchmark is announced, and a shorter one offered."""
SHORTEST_S = 5.0
"""Seconds of a run of the shorter one, at least."""
AROUND_S = 6.0
"""Seconds that AIPerf takes around the time of a run: two runs of 8 s took 28 s (docs/bench.md)."""
STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Outlook:
    """How long a benchmark will take."""

    seconds: float
    """For the runs that are left."""
    load: Load
    """As ordered."""
    shorter: Load
    """One run of each level, for a time that keeps all of it within `LONG_S`."""
    shorter_s: float


Agree: TypeAlias = Callable[[Outlook], Awaitable[Load | None]]
"""Chooses the load to go on with, or None to stop."""
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
    folder.make()
    files = aiperf.Files(folder.root)
    try:
        files.write(prompts, order.target)
    except OSError as error:
        raise unwritable(error.filename or folder.root, error) from error
    state = _State(order, folder, rig, files)
    try:
        async with aclosing(_runs(state, agree)) as items:
            async for item in items:
                yield item
    except WizardError as error:
        state.keep(error.code)
        raise
    except (asyncio.CancelledError, GeneratorExit):
        state.keep(STOPPED)
        raise
    state.keep("" if state.complete else STOPPED)
    yield state.report


async def _runs(state: _State, agree: Agree) -> AsyncGenerator[Event | Measured, None]:
    began, first = time.monotonic(), True
    for number in range(1, state.report.load.repeats + 1):
        if number > state.report.load.repeats:  # a shorter load was chosen
            break
        for point in state.report.load.points:
            async with aclosing(_run(state, point, number)) as events:
                async for event in events:
                    yield event
            yield state.measured[point]
            if first:
                first = False
                outlook = state.outlook(time.monotonic() - began)
                chosen = await agree(outlook) if outlook.seconds > LONG_S else outlook.load
                if chosen is None:
                    return
                state.report = replace(state.report, load=chosen)
    state.complete = True


async def _run(state: _State, point: Point, number: int) -> AsyncGenerator[Event, None]:
    load, recorder = state.report.load, Recorder(point, number)
    name, count = Run(point, number, 0.0).id, len(load.points) * load.repeats
    title = tr("{load}, run {number} of {runs}", load=title_of(point), number=number, runs=load.repeats)
    yield StepStarted(name, title, state.started(), count, time.time())
    began = time.monotonic()
    why = STOPPED
    try:
        running = recorded(recorder, state.rig, state.report.target, load, state.files, name)
        shown = -1
        async with aclosing(running) as beats:
            async for lines in beats:
                if lines:
                    yield Output(name, lines, time.time())
                if shown != (shown := recorder.warmed + len(recorder.records)):
                    yield _progress(name, recorder, load)
        why = ""
    except WizardError as error:
        why = error.code
        yield StepFinished(name, "failed", time.monotonic() - began, error.what, time.time(), error=error.as_json())
        raise
    finally:
        state.add(recorder.run(why))
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
    if spent and (tokens := sum(each.request.output_tokens or 0 for each in recorder.records)):
        text = tr("{requests}, {rate:.0f} tokens/s so far", requests=text, rate=tokens / spent)
    fraction = done / load.requests if load.requests else spent / (load.seconds or spent or 1.0)
    fraction = min(1.0, fraction)
    return Progress(step, fraction, spent / fraction - spent if fraction else None, text, time.time())


@dataclass(slots=True)
class _State:
    """What has been measured so far."""

    report: Report
    folder: Folder
    rig: Rig
    files: aiperf.Files
    runs: list[Run] = field(default_factory=list)
    measured: dict[Point, Measured] = field(default_factory=dict)
    complete: bool = False

    def started(self) -> int:
        """Number of the run that begins, from 1."""
        return len(self.runs) + 1

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

    def outlook(self, first_s: float) -> Outlook:
        """How long the rest takes, after a first run of ``first_s`` seconds.

        With a number of requests, a level of more concurrency is assumed to take the time of the first one at most: the
        server works on more of them at once. (A server whose slots are full takes as long as before.)
        """
        load = self.report.load
        spent = max((each.end_s for each in self.runs[0].requests), default=0.0)
        each_s = load.seconds if load.seconds is not None else spent
        return _outlook(load, each_s, max(0.0, first_s - spent), done=1)


def expected(load: Load) -> Outlook | None:
    """How long all of ``load`` takes, before anything was measured; None if only requests limit its runs."""
    return None if load.seconds is None else _outlook(load, load.seconds, AROUND_S, done=0)


def _outlook(load: Load, each_s: float, around_s: float, *, done: int) -> Outlook:
    """For runs of ``each_s`` seconds, with ``around_s`` before and after each, of which ``done`` are over."""
    left = len(load.points) * load.repeats - done
    few = max(1, len(load.points) - done)
    seconds = max(SHORTEST_S, LONG_S / few - around_s)
    shorter = replace(load, requests=None, seconds=round(min(seconds, each_s)), repeats=1)
    return Outlook(left * (around_s + each_s), load, shorter, few * (around_s + (shorter.seconds or 0.0)))
