"""Textual's driver for a terminal, changed to write every frame completely."""

from __future__ import annotations

import os
import select
import sys
from typing import Any

from textual.drivers.linux_driver import LinuxDriver

from wizard.tui.textual_private import replace_file

TURN_S = 0.001
"""Seconds before a thread yields to another (Python's default: 5 ms). A key is read by one thread, handled in a second,
and visible when a third has written: each waits for its turn while frames are drawn continuously.
"""


class Display:
    """The terminal as a file. All output arrives, as fast as the terminal accepts it.

    A terminal accepts part of a frame and rejects the rest (EAGAIN) if another program in the same shell has left it in
    non-blocking mode: the mode belongs to the open file, which all of them share (fcntl(2), O_NONBLOCK). Python's own
    file then raises, which would end Textual's writer thread and with it all output; without a buffer
    (``PYTHONUNBUFFERED``, set in many containers) it silently drops the rest. A signal can interrupt a write as well
    (write(2)).

    Args:
        number: The descriptor to write to.
    """

    def __init__(self, number: int) -> None:
        self._number = number

    def fileno(self) -> int:
        """The descriptor."""
        return self._number

    def write(self, text: str) -> int:
        """Write all of ``text``, or nothing more once the terminal is closed: a clean shutdown must still be
        possible.
        """
        left = memoryview(text.encode("utf-8", "replace"))
        while left:
            try:
                left = left[os.write(self._number, left) :]
            except BlockingIOError:
                select.select([], [self._number], [])
            except OSError:  # EIO: the window was closed, and a signal follows
                break
        return len(text)

    def flush(self) -> None:
        """No effect: nothing is buffered."""


class Driver(LinuxDriver):
    """Textual's driver, except for the output file."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        sys.setswitchinterval(TURN_S)
        replace_file(self, Display)
