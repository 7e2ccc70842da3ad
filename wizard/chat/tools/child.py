"""An MCP server as a child process: in its own session, without our environment, and with bounded output.

The official package can start one too, but it keeps a line of any length in memory, and a cancelled task could leave
the process running.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncGenerator, Mapping

from wizard.chat.tools.config import ToolServer
from wizard.kernel.process import stop_group
from wizard.kernel.text import one_line

LARGEST_LINE = 16 * 2**20
"""Bytes of a message; a larger one ends the connection."""
TAIL = 2_000
"""Bytes of the standard error output to keep: its end says why a server exited."""
CLOSE_S = 1.0
"""Seconds that a server has to exit after its standard input was closed, as the protocol asks."""
LADDER = ((signal.SIGTERM, 2.0), (signal.SIGKILL, 2.0))
INHERITED = (
    "HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
)  # fmt: skip
"""Environment variables that a server gets besides its own, as from other programs: none has a secret. The first
ones are those of the official package (``mcp/client/stdio.py`` of 2.3, ``DEFAULT_INHERITED_ENV_VARS``).
"""
_READ = 1 << 16


class LineTooLongError(Exception):
    """The server wrote more than `LARGEST_LINE` without a newline."""


class ToolChild:
    """A running server.

    Attributes:
        pid: Its process ID, which is also its process group.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.pid = process.pid
        self._tail = b""
        self._listener = asyncio.ensure_future(self._listen())

    @classmethod
    async def start(cls, server: ToolServer) -> ToolChild:
        """Start ``server``.

        Raises:
            OSError: The program does not exist or cannot be executed.
        """
        process = await asyncio.create_subprocess_exec(
            *server.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            env=environment(server.env),
            cwd=server.cwd,
        )
        return cls(process)

    @property
    def last_line(self) -> str:
        """The last line of its standard error output."""
        lines = self._tail.decode(errors="replace").strip().splitlines()
        return one_line(lines[-1])[:300] if lines else ""

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """The lines that it writes, without blank ones, until it closes its output.

        Raises:
            LineTooLongError: A line is too long.
        """
        stdout, parts, size = self._process.stdout, list[bytes](), 0
        while stdout and (data := await stdout.read(_READ)):
            first, *others = data.split(b"\n")
            parts.append(first)
            size += len(first)
            for piece in others:
                if line := b"".join(parts).strip():
                    yield line
                parts, size = [piece], len(piece)
            if size > LARGEST_LINE:
                raise LineTooLongError

    async def write(self, line: bytes) -> None:
        """Send it a line; waits while it does not read.

        Raises:
            OSError: It does not read any more.
        """
        stdin = self._process.stdin
        if stdin is None or stdin.is_closing():
            raise BrokenPipeError
        stdin.write(line + b"\n")
        await stdin.drain()

    async def stop(self) -> None:
        """Close its standard input, then stop the whole group; returns at once if all have exited."""
        if self._process.stdin:
            self._process.stdin.close()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._process.wait(), CLOSE_S)
        await stop_group(self.pid, LADDER)
        self._listener.cancel()
        transport = getattr(self._process, "_transport", None)  # otherwise open while another process holds a pipe
        if transport is not None:
            transport.close()

    def kill(self) -> None:
        """Kill the group now."""
        with contextlib.suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)

    async def _listen(self) -> None:
        stderr = self._process.stderr
        while stderr and (data := await stderr.read(_READ)):
            self._tail = (self._tail + data)[-TAIL:]


def environment(own: Mapping[str, str]) -> dict[str, str]:
    """The environment of a server with ``own`` variables."""
    return {name: value for name in INHERITED if (value := os.environ.get(name)) is not None} | dict(own)
