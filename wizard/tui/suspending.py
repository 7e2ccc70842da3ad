"""Ctrl+Z: give the terminal back to the shell, with everything as it is, until ``fg``."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.app import App


def possible(app: App[int]) -> bool:
    """Whether a shell can resume the wizard. No shell is above a browser, nor a terminal's only program (a new tmux
    window, ``ssh -t HOST triton-wizard``, a container): there it would be stopped for ever.

    A shell with job control gives each command a process group; without one, the session's leader is in ours.
    """
    if app.is_web or app.is_headless or os.name != "posix":
        return False
    try:
        return os.getpgid(os.getsid(0)) != os.getpgrp()
    except OSError:  # the leader has exited
        return False


def suspend(app: App[int]) -> None:
    """Stop the whole process group, as a terminal does on Ctrl+Z: a program around this one (`uv run`) waits for it,
    and the shell waits for both. Builds and servers have groups of their own and continue.

    The terminal is restored first: after the shell has it, only the shell may change it.
    """
    with app.suspend():
        handler = signal.signal(signal.SIGTSTP, signal.SIG_DFL)  # Textual's would restore the terminal a second time
        try:
            os.killpg(0, signal.SIGTSTP)
        finally:
            signal.signal(signal.SIGTSTP, handler)
