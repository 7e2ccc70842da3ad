"""Child processes: each in its own session, with output read in chunks, stopped step by step as a whole group.

Why not the obvious alternatives: cancelling an asyncio task kills nothing; ``Process.terminate`` leaves grandchildren
alive; ``async for line in stdout`` raises on 64 KiB without a newline, which every progress bar writes.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import re
import signal
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass

from wizard.kernel import proctable

FLUSH_SECONDS = 0.05
"""Output is delivered in batches at most this often; a view that gets each line separately takes 10 to 60 times
longer.
"""
_READ = 1 << 16
_ENDS = re.compile(r"\r\n|\n|\r")

STOP_LADDER: tuple[tuple[signal.Signals, float], ...] = (
    (signal.SIGINT, 5.0),
    (signal.SIGTERM, 5.0),
    (signal.SIGKILL, 5.0),
)
"""Signals to the group, each with the seconds to wait for it to take effect."""


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
        if end and self._rest:
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
            limit=1 << 20,
        )
        return cls(process)

    async def output(self, ends: re.Pattern[str] = _ENDS) -> AsyncGenerator[list[Line], None]:
        """Batches of whole lines until the program closes its output; at most one per `FLUSH_SECONDS`.

        ``ends``: where lines end, for a program that does not end them while it works.
        """
        stdout = self._process.stdout
        if stdout is None:
            raise RuntimeError("the child was started without a pipe")
        splitter = LineSplitter(ends)
        last = 0.0
        while data := await stdout.read(_READ):
            if lines := splitter.feed(data):
                yield lines
            await asyncio.sleep(max(0.0, FLUSH_SECONDS - (time.monotonic() - last)))
            last = time.monotonic()
        if rest := splitter.feed(b"", end=True):
            yield rest

    async def wait(self) -> int:
        """The exit status (negative: killed by that signal)."""
        return await self._process.wait()

    async def stop(self) -> None:
        """Stop the whole group, see `stop_group`; returns at once if it has exited."""
        await stop_group(self.pid)


async def finish(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Run ``argv`` to its end, discard its output, and return its exit status (127: it cannot be executed)."""
    try:
        child = await Child.start(argv, env=env)
    except OSError:
        return 127
    try:
        async for _ in child.output():
            pass
        return await child.wait()
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
