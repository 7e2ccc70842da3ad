"""The terminal's clipboard: xterm's control sequence OSC 52 is the only standard way, except inside tmux.

tmux drops that sequence unless its option ``set-clipboard`` is ``on``, and since tmux 2.6 the default is
``external``. Text that is loaded with a command is passed on to the clipboard (``load-buffer -w``, since tmux 3.2;
tmux(1)).
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping

SECONDS = 5.0
"""Time limit for tmux to accept a text; it responds at once or, if its server has exited, never."""


def missing(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the terminal is known to have no clipboard support; most do not report it, and some ignore the sequence.

    GNU screen drops the sequence (tried with 4.9); it sets ``STY``.
    """
    if in_tmux(environ):
        return False
    plain = environ.get("TERM", "dumb") in ("linux", "dumb")
    return plain or environ.get("TERM_PROGRAM") == "Apple_Terminal" or bool(environ.get("STY"))


def in_tmux(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether this program runs in a tmux terminal."""
    return bool(environ.get("TMUX"))


def tmux_takes(text: str) -> bool:
    """Put ``text`` into tmux's buffer and the clipboard of the terminal around it (blocking); False if tmux cannot."""
    try:
        done = subprocess.run(
            ("tmux", "load-buffer", "-w", "-"),
            input=text.encode("utf-8", "replace"),
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
