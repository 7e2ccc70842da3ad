"""Textual's driver for a terminal, made to write every picture whole."""

from __future__ import annotations

import os
import select
import sys
from typing import Any

from textual.drivers.linux_driver import LinuxDriver

from wizard.tui.textual_private import replace_file

TURN_S = 0.001
"""Seconds that one thread computes while another waits (Python's own: 5 ms). A key is read by one thread, counts in a
second and is seen when a third has written: each waits for its turn where pictures are drawn all the time."""


class Display:
    """The terminal as a file. All that is written arrives, as quickly as the terminal takes it.

    A terminal takes part of a picture and refuses the rest (EAGAIN) where another program of the same shell has left it
    in non-blocking mode: the mode belongs to the open file, which all of them share (fcntl(2), O_NONBLOCK). Python's
    own file then raises, which would end Textual's writing thread and with it everything that is shown; without a
    buffer (``PYTHONUNBUFFERED``, set in many containers) it drops the rest and says nothing. A signal can cut a write
    short as well (write(2)).

    Args:
        number: The descriptor to write to.
    """

    def __init__(self, number: int) -> None:
        self._number = number

    def fileno(self) -> int:
        """The descriptor."""
        return self._number

    def write(self, text: str) -> int:
        """Write all of ``text``, or nothing more when the terminal is gone: what it was told to stop still must be."""
        left = memoryview(text.encode("utf-8", "replace"))
        while left:
            try:
                left = left[os.write(self._number, left) :]
            except BlockingIOError:
                select.select([], [self._number], [])
            except OSError:  # EIO: the window was closed, and a signal is on its way
                break
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""


class Driver(LinuxDriver):
    """As Textual's, but for the file that it writes to."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        sys.setswitchinterval(TURN_S)
        replace_file(self, Display)
