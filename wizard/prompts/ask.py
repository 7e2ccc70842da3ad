"""Two ways to ask in a terminal: with menus (questionary), and line by line where the cursor cannot be moved."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Protocol, TypeVar

from wizard.kernel.errors import UsageError
from wizard.kernel.text import plain
from wizard.plan.questions import Question, Value
from wizard.prompts.show import clip, columns

T = TypeVar("T")
Options = Sequence[tuple[str, T]]
"""What is shown and what it stands for."""


class Ask(Protocol):
    """Asks. Ctrl-C raises KeyboardInterrupt, the end of input EOFError."""

    def choose(self, text: str, options: Options[T], first: int = 0) -> T:
        """One of ``options``; Enter takes the one at ``first``."""

    def line(self, text: str, *, secret: bool = False) -> str:
        """What is typed."""


def asker() -> Ask:
    """The way to ask in this terminal."""
    return Lines() if os.environ.get("TERM", "dumb") == "dumb" else Menus()


class Menus:
    """Menus with the arrow keys."""

    def choose(self, text: str, options: Options[T], first: int = 0) -> T:
        """See `Ask`."""
        import questionary

        room = columns(sys.stdout) - 4
        choices = [
            questionary.Choice(clip(plain(title), room), value=index) for index, (title, _) in enumerate(options)
        ]
        menu = questionary.select(
            text, choices, default=choices[first], instruction="(arrow keys, Enter)", use_jk_keys=False
        )
        picked: int = menu.unsafe_ask()
        return options[picked][1]

    def line(self, text: str, *, secret: bool = False) -> str:
        """See `Ask`."""
        import questionary

        typed: str = (questionary.password if secret else questionary.text)(text).unsafe_ask()
        return typed


class Lines:
    """Numbered lists and plain lines: for ``TERM=dumb``, and for whoever has a screen read aloud."""

    def choose(self, text: str, options: Options[T], first: int = 0) -> T:
        """See `Ask`; TW-U35 is shown for what is no number of the list."""
        print(text)
        for number, (title, _) in enumerate(options, 1):
            print(f"  {number}) {plain(title)}")
        while True:
            typed = self.line(f"1 to {len(options)} ({first + 1}):")
            if not typed:
                return options[first][1]
            if typed.isdecimal() and 1 <= int(typed) <= len(options):
                return options[int(typed) - 1][1]
            print(UsageError("TW-U35", f"{plain(typed)[:40]!r} is not in the list", f"Type 1 to {len(options)}."))

    def line(self, text: str, *, secret: bool = False) -> str:
        """See `Ask`."""
        if secret:
            from getpass import getpass

            return getpass(f"{text} ")
        return input(f"{text} ").strip()


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
