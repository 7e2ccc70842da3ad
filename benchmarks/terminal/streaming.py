"""The wizard in a terminal of its own while it streams: lines of a build, or tokens of an answer.

As a script it is the program under test: ``streaming.py build WORKSPACE [LINES_PER_S]`` or
``streaming.py chat WORKSPACE URL``.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import queue
import re
import signal
import struct
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pyte
from textual import work

from wizard.advise.advice import Choice, Memory
from wizard.flow.values import State
from wizard.kernel.paths import Workspace
from wizard.model.facts import ModelFacts
from wizard.plan.plan import Command, Done, Estimate, Plan, Step
from wizard.run.build import cancel
from wizard.tui.app import WizardApp
from wizard.tui.flow import Flow

LINES_PER_S = 10_000
EMITTER = """
import sys, time
begun, said = time.monotonic(), 0
while True:
    due = int((time.monotonic() - begun) * {rate})
    what = "Copying blob sha256:8a1e25ce7c4f75e372e9 layer"
    sys.stdout.write("".join(f"[{{n:09}}] {{what}} {{n % 97}} of 97, unpacked\\n" for n in range(said, due)))
    sys.stdout.flush()
    said = due
    time.sleep(0.01)
"""
"""Writes so many lines per second for ever, each with its number; what it is late with it makes up for."""


def plan(workspace: Workspace, rate: int) -> Plan:
    """A first step that only writes ``rate`` lines per second, and others that the cursor can go to."""
    facts = ModelFacts("lines", "folder", "/nowhere", "lines", None, None)
    memory = Memory(0, 0, 0, 0, 0, 0, 0)
    choice = Choice("llamacpp", "native", "Q8_0", None, "f16", 1, 1, 1, 1, "none", memory)
    say = Command((sys.executable, "-c", EMITTER.format(rate=rate)))
    step = Step("lines", "Write lines", "To see how the screen keeps up.", (say,), Done(), Estimate(3600.0))
    never = (Step(name, f"Then {name}", "It never comes to it.", (), Done(), Estimate(1.0)) for name in ("one", "two"))
    return Plan("lines", str(workspace.root), "lines", facts, choice, (step, *never))


class BuildApp(WizardApp):
    """Begins with the build, which is carried out by the wizard's own engine."""

    rate = LINES_PER_S

    @work
    async def _walk(self) -> None:
        state = State(manner="screens", at="build", trail=("review",), plan=plan(self.workspace, self.rate))
        await Flow(self, self.journey, self.workspace).walk(state)


class ChatApp(WizardApp):
    """Begins with a chat with the server at ``url``."""

    url = ""

    @work
    async def _walk(self) -> None:
        from wizard.tui import background

        endpoint = await background.call(partial(self._at, self.url))
        state = State(manner="screens", at="chat", endpoint=endpoint)
        await Flow(self, self.journey, self.workspace).walk(state)

    def _at(self, url: str):  # type: ignore[no-untyped-def]
        from wizard.journey import at

        return at(url)


class Terminal:
    """A program in a terminal of ``columns`` × ``rows`` cells, and what is on it now.

    What the program writes is read in pieces, by a thread, so that pyte's work on one does not make the next look
    late; a picture is as old as the piece that completed it.
    """

    def __init__(self, argv: list[str], *, columns: int, rows: int) -> None:
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.pid, self._master = pty.fork()
        if self.pid == 0:
            os.environ |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
            os.execv(sys.executable, [sys.executable, *argv])
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._pieces: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
        sys.setswitchinterval(0.0005)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                piece = os.read(self._master, 1 << 16)
            except OSError:  # the program has ended
                return
            self._pieces.put((time.monotonic(), piece))

    def piece(self, deadline: float) -> tuple[float, bytes] | None:
        """Take a piece, if one comes before ``deadline``, and when it came; it will not be in the picture."""
        try:
            return self._pieces.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            return None

    def _next(self, deadline: float) -> float | None:
        """Draw a piece, if one comes before ``deadline``; returns when it came."""
        piece = self.piece(deadline)
        if piece is None:
            return None
        self._stream.feed(piece[1])
        return piece[0]

    def press(self, keys: bytes) -> float:
        """Send ``keys``; returns the clock just before."""
        now = time.monotonic()
        os.write(self._master, keys)
        return now

    def until(self, shown: Callable[[str], object], seconds: float = 30.0) -> float:
        """Wait until the picture is such that ``shown``; returns the clock when the piece that made it so was read.

        Raises:
            TimeoutError: It never was.
        """
        deadline = time.monotonic() + seconds
        while (came := self._next(deadline)) is not None:
            if shown(self.text):
                return came
        raise TimeoutError(f"never shown:\n{self.text}")

    def rest(self, seconds: float) -> None:
        """Let the program work for ``seconds`` and keep the picture up to date."""
        deadline = time.monotonic() + seconds
        while self._next(deadline) is not None:
            pass

    def skip(self, seconds: float) -> None:
        """Let the program work for ``seconds`` and read what it writes, without a picture of it."""
        deadline = time.monotonic() + seconds
        while self.piece(deadline) is not None:
            pass

    @property
    def text(self) -> str:
        """The picture, one line for each row."""
        return "\n".join(self.screen.display)

    def numbers(self) -> list[int]:
        """Numbers of the emitter's lines that are in sight."""
        return [int(number) for number in re.findall(r"\[(\d{9})\]", self.text)]

    def cpu_seconds(self) -> float:
        """Processor time that the program itself has taken."""
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_bytes(self) -> int:
        """Main memory that the program has now (RSS)."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def end(self) -> None:
        """Tell the program to end, as a terminal that is closed does, and wait until it has."""
        os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)
        self._reader.join()
        os.close(self._master)


@contextmanager
def building(folder: Path, rate: int, *, columns: int, rows: int) -> Iterator[Terminal]:
    """The wizard in a terminal while it builds in ``folder``; both end with the block, also after SIGTERM.

    A build outlives its terminal, and this one would write until the disk is full.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        terminal = Terminal([__file__, "build", str(folder), str(rate)], columns=columns, rows=rows)
        try:
            yield terminal
        finally:
            terminal.end()
    finally:
        asyncio.run(cancel(Workspace(folder)))


def main() -> int:
    """Run the wizard."""
    kind, folder, *rest = sys.argv[1:]
    workspace = Workspace(Path(folder))
    app = BuildApp(workspace) if kind == "build" else ChatApp(workspace)
    if isinstance(app, ChatApp):
        app.url = rest[0]
    elif rest:
        app.rate = int(rest[0])
    return app.run() or 0


if __name__ == "__main__":
    sys.exit(main())
