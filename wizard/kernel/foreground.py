"""Run a command in the foreground of the terminal, as a shell does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wizard.kernel.secrets import environment_for
from wizard.kernel.text import is_terminal


def foreground(line: str) -> int:
    """Run the shell line ``line`` and return its exit status; negative: the signal that ended it.

    It has this process's terminal, unlike a plan's steps: sudo can ask for the password there, and Ctrl-C and Ctrl-Z
    are for the command. Only for the main thread, as signal handlers are.
    """
    environment = environment_for()
    # Last: the wizard's own programs, such as hf, if the user has none.
    environment["PATH"] = os.pathsep.join(filter(None, (environment.get("PATH"), str(Path(sys.executable).parent))))
    sys.stdout.flush()  # before the command's output
    sys.stderr.flush()
    with _keys_for_the_command(), _terminal_restored():
        return subprocess.run(("sh", "-c", line), env=environment, check=False).returncode


@contextmanager
def _keys_for_the_command() -> Iterator[None]:
    """Keys that send a signal reach this process, too; a handler, unlike SIG_IGN, is not inherited (execve(2))."""
    handlers = {
        signal.SIGINT: signal.signal(signal.SIGINT, lambda *_: None),
        signal.SIGQUIT: signal.signal(signal.SIGQUIT, lambda *_: None),
        signal.SIGTSTP: signal.signal(signal.SIGTSTP, signal.SIG_DFL),  # stopped together, for the same shell
    }
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


@contextmanager
def _terminal_restored() -> Iterator[None]:
    """A command that is killed while it reads a password leaves the terminal without echo."""
    import termios

    if not is_terminal():
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
