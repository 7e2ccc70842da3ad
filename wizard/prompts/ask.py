"""Questions asked line by line, by number or by name, so that cursor keys are never needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TypeVar

from wizard.kernel.errors import UsageError
from wizard.kernel.text import plain
from wizard.plan.questions import Question, Value

T = TypeVar("T")
Options = Sequence[tuple[str, T]]
"""What is shown and what it stands for."""


class Ask:
    """Numbered lists and plain lines: they work in every terminal, and read aloud.

    Ctrl-C raises KeyboardInterrupt, the end of input EOFError.
    """

    def choose(self, text: str, options: Options[T], first: int = 0, *, other: Callable[[str], T] | None = None) -> T:
        """One of ``options``, chosen by its number; Enter takes the one at ``first``.

        TW-U35 is shown for what is no number of the list, and it is asked again.

        Args:
            text: The question.
            options: What can be chosen.
            first: What Enter means.
            other: Makes a choice of typed text that is no number; a UsageError that it raises is shown.
        """
        print(text)
        for number, (title, _) in enumerate(options, 1):
            print(f"  {number}) {plain(title)}")
        while True:
            typed = self.line(f"1 to {len(options)} ({first + 1}):")
            if not typed:
                return options[first][1]
            if typed.isdecimal() and 1 <= int(typed) <= len(options):
                return options[int(typed) - 1][1]
            try:
                if other is None or typed.isdecimal():
                    raise UsageError(
                        "TW-U35", f"{plain(typed)[:40]!r} is not in the list", f"Type 1 to {len(options)}."
                    )
                return other(typed)
            except UsageError as error:
                print(error)

    def line(self, text: str, *, secret: bool = False) -> str:
        """What is typed; a ``secret`` shows as stars where the cursor can be moved, and not at all elsewhere."""
        if not secret:
            return input(f"{text} ").strip()
        if os.environ.get("TERM", "dumb") == "dumb":
            from getpass import getpass

            return getpass(f"{text} ")
        import questionary

        typed: str = questionary.password(text).unsafe_ask()
        return typed


def ask_question(ask: Ask, question: Question, default: Value | None = None) -> Value | None:
    """The answer to ``question``; a wrong one is told and asked again.

    Args:
        ask: How to ask.
        question: What to ask.
        default: What Enter means instead of the question's own default.
    """
    default = question.default if default is None else default
    if question.choices:
        first = question.choices.index(str(default)) if default in question.choices else 0
        return ask.choose(question.text, [(choice, choice) for choice in question.choices], first)
    if question.help:
        print(question.help)
    empty = question.otherwise if default is None else str(default)
    while True:
        typed = ask.line(f"{question.text} ({empty})" if empty else question.text, secret=question.secret)
        if not typed.strip() and default is not None:
            return default
        try:
            return question.parse(typed)
        except UsageError as error:
            print(error)
