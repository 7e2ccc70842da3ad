"""Child processes: each in its own session, with output read in chunks, stopped step by step as a whole group.

Why not the obvious alternatives: cancelling an asyncio task kills nothing; ``Process.terminate`` leaves grandchildren
alive; ``async for line in stdout`` raises on 64 KiB without a newline, which every progress bar writes.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import re
import signal
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from wizard.kernel import proctable

FLUSH_SECONDS = 0.05
"""Output is delivered in batches at most this often; a view that gets each line separately takes 10 to 60 times
longer.
"""
_READ = 1 << 21
"""Maximum bytes of a batch: 40 MB/s, so that the program does not have to wait for us."""
_LAST_SECONDS = 0.3
"""To read what a stopped group has left in the pipe; a process that left the group may keep it open."""
LONGEST_LINE = 1 << 20
"""Bytes, or characters, after which a line without an end is passed on in parts."""
_ENDS = re.compile(r"\r\n|\n|\r")

STOP_LADDER: tuple[tuple[signal.Signals, float], ...] = (
    (signal.SIGINT, 0.8),
    (signal.SIGTERM, 0.4),
    (signal.SIGKILL, 5.0),
)
"""Signals to the group, each with the seconds to wait for it to take effect; a command ends within 2 s of Ctrl-C."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of output. ``update`` is True when a carriage return ended it: the next line overwrites it."""

    text: str
    update: bool = False


class LineSplitter:
    r"""Bytes in, whole lines out: decodes UTF-8 across chunk boundaries and splits on ``\\n``, ``\\r\\n`` and
    ``\\r``, or where ``ends`` matches.
    """

    def __init__(self, ends: re.Pattern[str] = _ENDS) -> None:
        self._ends = ends
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._rest = ""

    def feed(self, data: bytes, *, end: bool = False) -> list[Line]:
        """Add ``data``; return the lines that it completes, and with ``end`` also the unfinished last one."""
        text = self._rest + self._decode(data, end)
        lines: list[Line] = []
        start = 0
        for match in self._ends.finditer(text):
            if match.group() == "\r" and match.end() == len(text) and not end:
                break  # a \n may follow in the next chunk
            lines.append(Line(text[start : match.start()], update=match.group() == "\r"))
            start = match.end()
        self._rest = text[start:]
        if self._rest and (end or len(self._rest) > LONGEST_LINE):
            lines.append(Line(self._rest))
            self._rest = ""
        return lines


class Child:
    """A running program in its own process group, with its standard input closed."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.pid = process.pid

    @classmethod
    async def start(cls, argv: Sequence[str], *, env: Mapping[str, str], cwd: str | None = None) -> Child:
        """Start ``argv`` with exactly the environment ``env``.

        Raises:
            OSError: The program does not exist or cannot be executed.
        """
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
            env=dict(env),
            cwd=cwd,
            limit=_READ,
        )
        return cls(process)

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Batches of output until the program closes it; at most one per `FLUSH_SECONDS`."""
        last = 0.0
        while data := await self._stdout.read(_READ):
            yield data
            await asyncio.sleep(max(0.0, FLUSH_SECONDS - (time.monotonic() - last)))
            last = time.monotonic()

    async def output(self, ends: re.Pattern[str] = _ENDS) -> AsyncGenerator[list[Line], None]:
        """As `chunks`, but whole lines.

        ``ends``: where lines end, for a program that does not end them while it works.
        """
        splitter = LineSplitter(ends)
        async with aclosing(self.chunks()) as chunks:
            async for data in chunks:
                if lines := splitter.feed(data):
                    yield lines
        if rest := splitter.feed(b"", end=True):
            yield rest

    async def wait(self) -> int:
        """The exit status (negative: killed by that signal)."""
        return await self._process.wait()

    async def stop(self, last: Callable[[bytes], object] = len) -> None:
        """Stop the whole group, see `stop_group`; returns at once if it has exited.

        Args:
            last: Gets what it still writes: a program whose output is not read cannot exit.
        """
        reading = asyncio.ensure_future(self._read_on(last))
        try:
            await stop_group(self.pid, STOP_LADDER)
            await asyncio.wait({reading}, timeout=_LAST_SECONDS)
        finally:
            reading.cancel()

    async def _read_on(self, last: Callable[[bytes], object]) -> None:
        with contextlib.suppress(RuntimeError):  # `chunks` still reads in another task
            while data := await self._stdout.read(_READ):
                with contextlib.suppress(OSError):  # to stop it matters more
                    last(data)

    @property
    def _stdout(self) -> asyncio.StreamReader:
        if self._process.stdout is None:
            raise RuntimeError("the child was started without a pipe")
        return self._process.stdout


async def finish(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Run ``argv`` to its end and return its exit status (127: it cannot be executed)."""
    status, _ = await answered(argv, env)
    return status


async def answered(argv: Sequence[str], env: Mapping[str, str]) -> tuple[int, list[str]]:
    """As `finish`, with the lines of its output, errors included; for programs that print little."""
    lines: list[str] = []
    try:
        child = await Child.start(argv, env=env)
    except OSError as error:
        return 127, [str(error.strerror)]
    try:
        async for batch in child.output():
            lines += [line.text for line in batch]
        return await child.wait(), lines
    finally:
        await child.stop()


async def stop_group(
    group: int, ladder: Sequence[tuple[signal.Signals, float]] = STOP_LADDER, *, leader_only: bool = False
) -> bool:
    """Send each signal of ``ladder`` to the process group until no member is alive; True once none is.

    Zombies do not count: in a container no process may ever reap them. With ``leader_only`` it is enough that the
    group's first process has exited.
    """

    def gone() -> bool:
        return proctable.read(group) is None if leader_only else not proctable.group_members(group)

    for number, seconds in ladder:
        if gone():
            return True
        try:
            os.killpg(group, number)
        except ProcessLookupError:
            return True
        except PermissionError:  # another user's
            return False
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if gone():
                return True
            await asyncio.sleep(0.02)
    return gone()
