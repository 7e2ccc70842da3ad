"""Wait until the model is ready, and detect at once when it never will be."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncGenerator
from pathlib import Path

from wizard.kernel.errors import ServerError
from wizard.kernel.language import join, tr
from wizard.kernel.process import LineSplitter
from wizard.kernel.secrets import redact
from wizard.kernel.text import plain
from wizard.kernel.units import duration
from wizard.serve import find, health, log, log_files
from wizard.serve.causes import Scan
from wizard.serve.endpoint import Endpoint

POLL_SECONDS = 0.05
FULL_BYTES = 4096
"""Free bytes of a disk that takes no more lines: a block of the usual size."""
LAST_LINES_S = 2.0
"""Seconds to wait for the last lines of a server that has exited; a process that outlives it may hold its log open."""


async def wait(endpoint: Endpoint, seconds: float) -> AsyncGenerator[tuple[str, ...], None]:
    """Yield the server's new log lines until its model is ready.

    Raises:
        ServerError: TW-S04 if the process exited, TW-S05 if it hangs because a library is missing, TW-S06 after
            ``seconds``.
    """
    until = time.monotonic() + seconds
    path, splitter, offset, seen = Path(endpoint.log), LineSplitter(), 0, list[str]()
    ended = float("inf")
    while True:
        if not find.alive(endpoint):
            ended = min(ended, time.monotonic())
        living = ended == float("inf") or (time.monotonic() < ended + LAST_LINES_S and not log_files.is_complete(path))
        data = _read_from(path, offset)
        offset += len(data)
        lines = tuple(line.text for line in splitter.feed(data, end=not living) if not log.NOISE.search(line.text))
        seen += lines
        if lines:
            yield lines
        # Its own log must report that all three services started: on a port that was taken meanwhile another server may
        # respond "ready" in its place, and a conflict on the metrics port ends it after it was ready. On a full
        # disk its log reports nothing.
        listening = all(any(service in line for line in seen) for service in log.STARTED) or _is_full(path)
        if listening and await asyncio.to_thread(health.is_ready, endpoint) and find.alive(endpoint):
            return
        _check(endpoint, living, seen, time.monotonic() > until, seconds)
        await asyncio.sleep(POLL_SECONDS)


def _is_full(path: Path) -> bool:
    return shutil.disk_usage(path.parent).free < FULL_BYTES


def _read_from(path: Path, offset: int) -> bytes:
    with path.open("rb") as file:
        file.seek(offset if offset <= file.seek(0, 2) else 0)  # a shorter file is the next one of a long log
        return file.read()


def _check(endpoint: Endpoint, living: bool, seen: list[str], late: bool, seconds: float) -> None:
    stuck = any(log.HOPELESS.search(line) for line in seen)
    if living and not stuck and not late:
        return
    why = redact(plain(log.cause(seen) or _last(seen)))
    if not living:
        raise _exited(endpoint, why, seen)
    if stuck:
        raise ServerError(
            "TW-S05",
            tr("the model process cannot start: {why}", why=why),
            tr("If a library is missing, install it (for libpython3.X: Python's shared library), then rerun `up`."),
        )
    raise ServerError(
        "TW-S06",
        tr("the model was not ready within {seconds}", seconds=duration(seconds)),
        tr(
            "Check {log}. If a large model was loading too slowly from disk, try again: it is now cached in memory.",
            log=endpoint.log,
        ),
    )


def _exited(endpoint: Endpoint, why: str, seen: list[str]) -> ServerError:
    """The error, with the remedy if the cause is known."""
    scan = Scan()
    scan.feed_lines(seen)
    todo = tr("Check the full log ({log}), fix the cause and rerun `up`.", log=endpoint.log)
    if known := scan.cause():
        todo = join(" ", known.cause, known.fix, tr("Then rerun `up`. Full log: {log}.", log=endpoint.log))
    error = ServerError("TW-S04", tr("Triton exited before the model was ready: {why}", why=why), todo)
    error.known = known.id if known else ""
    return error


def _last(seen: list[str]) -> str:
    """The last line of a log without a known cause."""
    line = next((line for line in reversed(seen) if line.strip()), None)
    return tr("its log does not show why; the last line is: {line}", line=line) if line else tr("its log is empty")
