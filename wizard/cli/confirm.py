"""A confirmation in plain text, for commands that ask one question."""

from __future__ import annotations

import sys

from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr


def yes(question: str) -> bool:
    """The answer to a question whose default is yes; False at the end of input.

    Raises:
        UsageError: TW-U03 if no terminal is attached.
    """
    from wizard.kernel.text import is_terminal

    if not is_terminal():
        message = tr("a confirmation is needed, but no terminal is attached")
        raise UsageError("TW-U03", message, tr("Pass --yes to accept it."))
    return agreed(question, default=True)


def agreed(question: str, *, default: bool) -> bool:
    """The answer that is typed in the terminal, ``default`` for Enter; False at the end of input (Ctrl-D)."""
    print(f"{question} {'[Y/n]' if default else '[y/N]'} ", end="", file=sys.stderr, flush=True)
    while line := sys.stdin.readline():
        reply = line.strip().lower()
        if reply in ("", "y", "yes", "n", "no"):
            return reply.startswith("y") if reply else default
        print(f"{tr('Type y or n:')} ", end="", file=sys.stderr, flush=True)
    return False
