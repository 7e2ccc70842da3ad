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
    print(f"{question} [Y/n] ", end="", file=sys.stderr, flush=True)
    while (reply := sys.stdin.readline().lower()) and reply.strip() not in ("", "y", "yes", "n", "no"):
        print(f"{tr('Type y or n:')} ", end="", file=sys.stderr, flush=True)
    return bool(reply) and not reply.strip().startswith("n")
