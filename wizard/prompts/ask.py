"""Questions in a terminal: menus and edited lines by questionary, or plain lines where the cursor cannot be moved."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, TypeVar

from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.text import one_line, plain, wrap
from wizard.plan.question import Question, Value
from wizard.prompts.question_input import unechoed
from wizard.prompts.speech import columns, fitted, say, spoken

T = TypeVar("T")
Options = Sequence[tuple[str, T]]
"""Displayed text and its value."""


class Ask:
    """Asks in the terminal of standard input and output.

    A list is a menu for the arrow keys. Typing a number or a name opens an input line, so that typed text is never lost
    to the menu's Enter. With ``TERM=dumb`` (also for screen readers) there is only the line. Ctrl-C raises
    KeyboardInterrupt, the end of input (Ctrl-D) EOFError.
    """

    def __init__(self) -> None:
        self._menus = os.environ.get("TERM", "dumb") != "dumb"

    def choose(self, text: str, options: Options[T], first: int = 0, *, other: Callable[[str], T] | None = None) -> T:
        """One of ``options``; Enter takes the one at ``first``.

        For an invalid number TW-U35 is shown, and the question is repeated.

        Args:
            text: The question.
            options: The options.
            first: Index of the default option.
            other: Converts typed text that is not a number; its UsageError is shown.
        """
        titles = [
            wrap(spoken(one_line(title)), columns() - 2, first=f"  {number}) ", indent="     ")
            for number, (title, _) in enumerate(options, 1)
        ]
        if not self._menus:
            print("\n".join([fitted(plain(text)), *titles]))
        with unechoed() if self._menus else nullcontext():
            return self._chosen(text, titles, options, first, other)

    def _chosen(
        self, text: str, titles: list[str], options: Options[T], first: int, other: Callable[[str], T] | None
    ) -> T:
        while True:
            begun = ""
            if self._menus:
                picked = _menu(fitted(plain(text)), titles, first)
                if isinstance(picked, int):
                    print(titles[picked])
                    return options[picked][1]
                print("\n".join(titles))  # the menu is gone, and with it the meaning of the numbers
                begun = picked
            how = tr("Type 1 to {last}, or press Enter for {first}:", last=len(options), first=first + 1)
            typed = self.line(how, begun=begun)
            if not typed:
                return options[first][1]
            if typed.isdecimal() and 1 <= int(typed) <= len(options):
                return options[int(typed) - 1][1]
            try:
                if other is None or typed.isdecimal():
                    raise UsageError(
                        "TW-U35",
                        tr("{typed!r} is not in the list", typed=plain(typed)[:40]),
                        tr("Type 1 to {last}.", last=len(options)),
                    )
                return other(typed)
            except UsageError as error:
                say(str(error))

    def line(self, text: str, *, begun: str = "", secret: bool = False) -> str:
        """The typed text; a ``secret`` is shown as asterisks if the cursor can be moved, otherwise it is hidden.

        Args:
            text: The question.
            begun: Text that was already typed; only with menus.
            secret: Whether to hide it.
        """
        *before, text = fitted(text, columns() - 1).split("\n")
        if before:
            print("\n".join(before))
        if self._menus:
            import questionary

            ask = questionary.password if secret else questionary.text
            typed: str = ask(text, default=begun, qmark="", output=_output()).unsafe_ask()
        elif secret:
            from getpass import getpass

            typed = getpass(f"{text} ")
        else:
            typed = input(f"{text} ")
        return typed.strip()


def _menu(text: str, titles: list[str], first: int) -> int | str:
    """The index that the user selected with the arrow keys and Enter, or the first typed key (or paste).

    The menu disappears then, and the question stays; questionary would put both on one line and break it anywhere.
    """
    import questionary
    from prompt_toolkit.filters import to_filter
    from prompt_toolkit.key_binding import KeyBindings, merge_key_bindings
    from prompt_toolkit.keys import Keys

    choices = [questionary.Choice(title.strip(), value=index) for index, title in enumerate(titles)]
    menu = questionary.select(
        text,
        choices,
        default=choices[first],
        qmark="",
        pointer=">",
        instruction="\n" + fitted(tr("(arrow keys and Enter, or type a number; Enter selects the marked one)")),
        use_jk_keys=False,
        use_emacs_keys=False,
        output=_output(),
    )
    for window in menu.application.layout.find_all_windows():
        window.wrap_lines = to_filter(True)  # a narrow terminal must not hide the cost of an option
    keys = KeyBindings()

    @keys.add(Keys.Any)
    @keys.add(Keys.BracketedPaste)  # otherwise it goes into a buffer that is never read
    def typed(event: Any) -> None:
        if text := one_line(event.data):
            event.app.exit(result=text)

    @keys.add("c-d")
    def ended(event: Any) -> None:
        event.app.exit(exception=EOFError)

    menu.application.key_bindings = merge_key_bindings([menu.application.key_bindings or KeyBindings(), keys])
    menu.application.erase_when_done = True
    try:
        picked: int | str = menu.unsafe_ask()
    finally:
        print(text)
    return picked


def _output() -> Any:
    """Standard output without querying the terminal's cursor position: some terminals never respond, which causes a
    warning.

    Source: prompt_toolkit, ``Renderer.request_absolute_cursor_position``.
    """
    from prompt_toolkit.output import ColorDepth
    from prompt_toolkit.output.vt100 import Vt100_Output

    depth = ColorDepth.from_env()  # NO_COLOR, which only `create_output` reads
    output = Vt100_Output.from_pty(sys.stdout, term=os.environ.get("TERM"), default_color_depth=depth)
    output.enable_cpr = False
    return output


def ask_question(ask: Ask, question: Question, default: Value | None = None) -> Value | None:
    """The answer to ``question``; after an invalid answer the error is shown and the question repeated.

    Args:
        ask: The input.
        question: The question.
        default: Replaces the question's own default.
    """
    default = question.default if default is None else default
    if question.help:
        say(tr(question.help))
    if question.options:
        options: list[tuple[str, Value | None]] = [(choice, choice) for choice in question.alternatives]
        if question.default is None and not question.required:
            options.insert(0, (tr(question.otherwise), None))
        first = next((at for at, (_, value) in enumerate(options) if value == default), 0)
        return ask.choose(tr(question.text), options, first)
    text = _how(question, default)
    while True:
        typed = ask.line(text, secret=question.secret)
        if not typed and default is not None:
            return default
        try:
            return question.parse(typed)
        except UsageError as error:
            say(f"{error.code}: {error.what}")  # the remedy was shown before the question


def _how(question: Question, default: Value | None) -> str:
    """The question, the valid answers, and the default."""
    text = tr(question.text)
    if question.kind == "confirm":
        return tr("{question} (y or n; Enter: {default}):", question=text, default=tr("yes") if default else tr("no"))
    if default is None and not question.otherwise:
        return tr("{question} (type it, then press Enter):", question=text)
    empty = tr(question.otherwise) if default is None else default
    if question.secret:
        return tr("{question} (hidden; Enter: {default}):", question=text, default=empty)
    return tr("{question} (Enter: {default}):", question=text, default=empty)
