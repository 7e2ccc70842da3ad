"""Textual's driver for a browser, in the wizard's process; changed to exit with its tab."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from textual.drivers.web_driver import WebDriver

from wizard.tui.textual_private import replace_write


class Driver(WebDriver):
    """A driver whose standard input ends when the tab is closed, or when the page's server is killed.

    Both reach the app as a signal, with the same effect as in a terminal: builds continue, served models keep running.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        replace_write(self, _while_read)

    def run_input_thread(self) -> None:
        """Read until the end of the app or of its input."""
        super().run_input_thread()
        if not self.exit_event.is_set():
            os.kill(os.getpid(), signal.SIGHUP)


def _while_read(write: Callable[[bytes], int]) -> Callable[[bytes], int]:
    def write_if_read(data: bytes) -> int:
        with suppress(BrokenPipeError):  # the page is closed; the shutdown must still complete
            return write(data)
        return len(data)

    return write_if_read
