"""Errors in a command line are reported like all others: with a code, a suggestion, and a remedy."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Collection, Sequence
from typing import Any, NoReturn

from wizard.kernel.errors import UsageError
from wizard.kernel.language import join, tr
from wizard.kernel.text import plain

SIMILAR = 0.7
"""Similarity from which on a word counts as a misspelling; at 0.6 ``--speculative`` is one of ``--seat``."""


class Parser(argparse.ArgumentParser):
    """Raises TW-U09 instead of printing the usage, which would bury the error."""

    def error(self, message: str) -> NoReturn:
        """Raise argparse's error.

        Raises:
            UsageError: TW-U09.
        """
        self._refuse(message)

    def parse_known_args(  # type: ignore[override]  # one signature for argparse's overloads
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> Any:
        """As argparse does; unknown arguments are rejected by the command that they were passed to.

        Raises:
            UsageError: TW-U09.
        """
        flags = self._option_string_actions
        first = args[0].partition("=")[0] if args else ""
        if first.startswith("--") and not any(flag.startswith(first) for flag in flags):
            self._refuse(_unknown(first), first, flags)  # not the value after it, parsed as a command
        known, rest = super().parse_known_args(args, namespace)
        if rest:
            self._refuse(_unknown(" ".join(rest)), rest[0].partition("=")[0], flags)
        return known, rest

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.dest == "command" and value not in (action.choices or ()):
            self._refuse(tr("unknown command: {name}", name=plain(value)[:40]), value, list(action.choices or ()))
        super()._check_value(action, value)

    def _refuse(self, message: str, typed: str = "", known: Collection[str] = ()) -> NoReturn:
        near = difflib.get_close_matches(typed, known, 1, SIMILAR)
        todo = tr("Run `{command} --help` for usage.", command=self.prog)
        if not near and typed in _flags():
            raise UsageError(
                "TW-U09", message, tr("Omit {flag}: `{command}` does not use it.", flag=typed, command=self.prog)
            )
        raise UsageError("TW-U09", message, join(" ", tr("Did you mean {name}?", name=near[0]), todo) if near else todo)


def _flags() -> set[str]:
    """Flags that other commands have."""
    from wizard.plan.questions import QUESTIONS

    return {question.flag for question in QUESTIONS}


def _unknown(words: str) -> str:
    return tr("unrecognized arguments: %s") % plain(words)
