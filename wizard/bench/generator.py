"""One run: AIPerf as a process, its records read as they come, samples beside it."""

from __future__ import annotations

import asyncio
import re
import shlex
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from wizard.bench import aiperf, sampling
from wizard.bench.load import Load, Point
from wizard.bench.report import Target
from wizard.bench.run import Run, Sample
from wizard.kernel import proctable
from wizard.kernel.errors import ServerError, StepError
from wizard.kernel.language import tr
from wizard.kernel.process import Child, Line
from wizard.kernel.secrets import environment_for, redact
from wizard.kernel.text import one_line, plain

POLL_S = 0.5
IN_A_ROW = 20
"""Failed requests in a row, or as many as run at once if that is more, after which the server counts as dead."""
SILENT_S = aiperf.REQUEST_S + 60.0
"""Seconds without a record after which AIPerf counts as hanging."""
MESSAGE = 200
"""Characters of a server's error message to show."""
LOGGED = re.compile(r"^[\d:.]+ +ERROR +")
"""Time and level before a message in its log."""
KEPT_LINES = 60
"""Lines of AIPerf's output to search for an error."""


@dataclass(frozen=True, slots=True)
class Rig:
    """What a benchmark runs with on this machine; none of it is in the report.

    Attributes:
        program: AIPerf's program, and arguments before its own.
        watched: What is sampled.
        cores: Processor cores of this machine.
        mark: The workspace, which marks the process for the next wizard.
        key: The API key of the server's address.
        lives: Whether the server's process is alive: Triton never ends the requests of a model whose process has
            ended, see `wizard.chat.watch`.
        silent_s: See `SILENT_S`.
    """

    program: tuple[str, ...]
    watched: sampling.Watched
    cores: int
    mark: str = ""
    key: str | None = None
    lives: Callable[[], bool] = lambda: True
    silent_s: float = SILENT_S


@dataclass(slots=True)
class Recorder:
    """What a run has recorded so far."""

    point: Point
    number: int
    command: str = ""
    records: list[aiperf.Record] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    warmed: int = 0
    """Requests of the warm-up that have ended."""
    failing: int = 0
    """Requests that failed since the last one that succeeded, the warm-up's included."""
    first: str = ""
    """The first error, with what the server said."""
    last: float = field(default_factory=time.monotonic)
    """When something was recorded last, or the run began."""

    def add(self, line: str) -> None:
        """Take a line of the records."""
        record = aiperf.record(line)
        if record is None or record.cancelled:
            return
        self.last = time.monotonic()
        self.failing = self.failing + 1 if record.request.error else 0
        if record.request.error and not self.first:
            self.first = f"{record.request.error}: {one_line(plain(redact(record.message)))[:MESSAGE]}"
        if record.warmup:
            self.warmed += 1
        else:
            self.records.append(record)

    @property
    def succeeded(self) -> int:
        """Measured requests that succeeded."""
        return sum(not each.request.error for each in self.records)

    def run(self, partial: str = "") -> Run:
        """The run; ``partial`` is why it ended early."""
        ordered = sorted(self.records, key=lambda each: each.start)
        began = ordered[0].start if ordered else time.time()
        requests = tuple(replace(each.request, start_s=each.start - began, end_s=each.end - began) for each in ordered)
        samples = tuple(sampling.within(self.samples, began))
        return Run(self.point, self.number, began, requests, samples, self.command, partial)


async def recorded(
    recorder: Recorder, rig: Rig, target: Target, load: Load, files: aiperf.Files, run: str
) -> AsyncGenerator[None, None]:
    """Run AIPerf and fill ``recorder``; yields now and then. Closing it stops the process group.

    Raises:
        StepError: TW-C63 if AIPerf fails, or hangs.
        ServerError: TW-C64 if no request succeeds, TW-C65 if the server stops answering.
    """
    words = (*rig.program, *aiperf.argv(target, recorder.point, load, files, run, key=rig.key))
    recorder.command = redact(shlex.join(words))
    environment = aiperf.environment(environment_for(), rig.key) | proctable.step_marks(Path(rig.mark))
    try:
        child = await Child.start(words, env=environment, cwd=str(files.folder))
    except OSError as error:
        raise failed(str(error.strerror), files) from error
    output: list[str] = []
    tasks = (
        asyncio.ensure_future(_drain(child, output.append)),
        asyncio.ensure_future(sampling.watch(rig.watched, child.pid, recorder.samples.append)),
    )
    try:
        tail = Tail(files.output(run) / aiperf.RECORDS)
        exit_status: asyncio.Future[int] = asyncio.ensure_future(child.wait())
        while not exit_status.done():
            await asyncio.wait([exit_status], timeout=POLL_S)
            tail.read(recorder.add)
            _check(recorder, rig, files)
            yield
        tail.read(recorder.add)
        if exit_status.result() and (recorder.succeeded or not recorder.first):
            await asyncio.wait([tasks[0]], timeout=1.0)
            raise failed(cause(output) or tr("exit status {status}", status=exit_status.result()), files)
    finally:
        for task in tasks:
            task.cancel()
        await child.stop()
        await asyncio.gather(*tasks, return_exceptions=True)
        tail.read(recorder.add)
    if not recorder.succeeded:
        raise useless(recorder)


async def _drain(child: Child, keep: Callable[[str], object]) -> None:
    async for lines in child.output():
        for line in lines:
            keep(_text(line))


def _text(line: Line) -> str:
    return redact(plain(line.text))


def _check(recorder: Recorder, rig: Rig, files: aiperf.Files) -> None:
    """Raise what ends a run early."""
    if not rig.lives():
        raise dead(tr("its process has ended"))
    if recorder.failing >= max(IN_A_ROW, recorder.point.concurrency or 0):
        if not recorder.succeeded:
            raise useless(recorder)
        error = recorder.records[-1].request.error if recorder.records else ""
        text = tr("{count} requests in a row failed, the last with {error}", count=recorder.failing, error=error)
        raise dead(text)
    if time.monotonic() - recorder.last > rig.silent_s:
        raise failed(tr("no request ended for {seconds:.0f} s", seconds=rig.silent_s), files)


def dead(why: str) -> ServerError:
    """The error for a server that stopped answering."""
    todo = tr("Look at its log (`triton-wizard logs`). What was measured before is kept and marked as partial.")
    return ServerError("TW-C65", tr("the server stopped answering: {why}", why=why), todo)


def useless(recorder: Recorder) -> ServerError:
    """The error for a run without a success."""
    message = tr("no request succeeded; the first failed with {error}", error=recorder.first or tr("no answer"))
    todo = tr("Check that the model answers: `triton-wizard chat -m Hello`. An empty answer counts as failed.")
    return ServerError("TW-C64", message, todo)


def failed(why: str, files: aiperf.Files) -> StepError:
    """The error for AIPerf itself."""
    folder = files.folder / "aiperf"
    todo = tr("Run the command again. If it fails again, look at AIPerf's log in {folder}.", folder=folder)
    return StepError("TW-C63", tr("AIPerf failed: {why}", why=why), todo)


def cause(output: list[str]) -> str:
    """The line of AIPerf's output that says why it failed; empty if there is none."""
    lines = [line.strip(" │╭╰─•") for line in output[-KEPT_LINES:]]
    for start in ("Reason:", "Error:"):
        for line in lines:
            if line.startswith(start):
                return line.removeprefix(start).strip()
    return next((LOGGED.sub("", line) for line in reversed(lines) if "ERROR" in line or "Error" in line), "")


class Tail:
    """New whole lines of a file that another process appends to."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0
        self._rest = b""

    def read(self, add: Callable[[str], object]) -> None:
        """Call ``add`` with each line that is complete now."""
        with suppress(OSError), self._path.open("rb") as file:
            file.seek(self._at)
            data = file.read()
            self._at += len(data)
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                add(line.decode(errors="replace"))
