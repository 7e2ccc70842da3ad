"""The real program in a terminal, as a user has it before the eyes."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Sequence

import pexpect
import pyte

from tests.e2e.conftest import Wizard

ENTER, ESCAPE, DOWN, F4 = "\r", "\x1b", "\x1b[B", "\x1bOS"
CONTROL_Q, CONTROL_R, CONTROL_T, CONTROL_U, CONTROL_Y = "\x11", "\x12", "\x14", "\x15", "\x19"
CLIPBOARD = re.compile(rb"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07")
"""What a terminal puts into its clipboard (xterm's control sequences, OSC 52)."""


def full_screen(wizard: Wizard) -> list[str]:
    """The command that opens the full-screen wizard."""
    return [sys.executable, "-m", "wizard", "--workspace", str(wizard.workspace), "--offline"]


def picture(screen: pyte.Screen) -> str:
    """What is on ``screen``, a line for each row.

    Its own `display` fails on the right half of a wide character whose left half was overwritten (pyte 0.8.2).
    """
    rows = (screen.buffer[row] for row in range(screen.lines))
    return "\n".join("".join(row[column].data for column in range(screen.columns)) for row in rows)


class Terminal:
    """A program in a terminal, and what is on it now."""

    def __init__(self, argv: Sequence[str], columns: int = 80, rows: int = 24) -> None:
        self.child: pexpect.spawn[bytes] = pexpect.spawn(
            argv[0], list(argv[1:]), dimensions=(rows, columns), timeout=60
        )
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.written = b""

    @property
    def text(self) -> str:
        return picture(self.screen)

    def until(self, condition: Callable[[], object]) -> None:
        """Read until ``condition`` holds; the time only bounds a wait in vain."""
        deadline = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < deadline, f"never seen:\n{self.text}"
            try:
                piece = self.child.read_nonblocking(1 << 16, timeout=1)
            except pexpect.TIMEOUT:
                continue
            self.written += piece
            self._stream.feed(piece)

    def shows(self, *words: str) -> None:
        """Read until all ``words`` are there."""
        self.until(lambda: all(word in self.text for word in words))

    def press(self, *keys: str) -> None:
        self.child.send("".join(keys))

    def leave(self) -> None:
        """Leave the wizard; the server goes on running."""
        self.press(CONTROL_Q)
        self.shows("Quit; the server keeps running")
        self.press(ENTER)
        self.child.expect(pexpect.EOF)
        self.child.close()
        assert self.child.exitstatus == 0
