"""A question: a text, a default, a check and the flag that answers it in advance; independent of the interface."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from wizard.kernel.errors import UsageError
from wizard.kernel.language import join, mark, tr

Value: TypeAlias = str | int | float | bool
Answers: TypeAlias = dict[str, object]
"""Name of a question → its answer. A question that was left to the wizard is missing."""
Kind: TypeAlias = Literal["text", "choice", "int", "float", "confirm", "secret"]

KINDS: dict[Kind, tuple[type[Value], str]] = {
    "text": (str, mark("a string")),
    "choice": (str, mark("one of the choices")),
    "int": (int, mark("an integer")),
    "float": (float, mark("a number")),
    "confirm": (bool, mark("yes or no (in TOML: true or false)")),
    "secret": (str, mark("a string")),
}
YES, NO = ("y", "yes", "true"), ("n", "no", "false")


def _always(_: Mapping[str, object]) -> bool:
    return True


def _anything(_: Any) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question.

    Attributes:
        name: Its key in an answers file.
        kind: Type of the answer.
        text: The question in a few words.
        flag: A flag, an argument or an environment variable that answers it in advance.
        default: Meaning of an empty answer.
        otherwise: Meaning of an empty answer without a default, in words.
        required: Whether the workflow cannot continue without an answer.
        choices: The options, for the kind ``choice``; a function if profiles define them: see `options`.
        when: Whether it applies, given the answers so far.
        validate: Returns the error in an answer of the right type; empty if it is valid.
        full: Returns the answer that a typed text is another form of.
        help: A sentence for learners.
    """

    name: str
    kind: Kind
    text: str
    flag: str
    default: Value | None = None
    otherwise: str = ""
    required: bool = False
    choices: tuple[str, ...] | Callable[[], tuple[str, ...]] = ()
    when: Callable[[Mapping[str, object]], bool] = _always
    validate: Callable[[Any], str] = _anything
    full: Callable[[str], str] = str
    help: str = ""

    @property
    def secret(self) -> bool:
        """Whether the answer is hidden while typed, and never saved."""
        return self.kind == "secret"

    @property
    def options(self) -> tuple[str, ...]:
        """The options.

        Raises:
            UsageError: TW-D02 if profiles define them and one is damaged.
        """
        return self.choices() if callable(self.choices) else self.choices

    @property
    def alternatives(self) -> tuple[str, ...]:
        """The options without the one that no answer stands for, which forms show as ``otherwise``."""
        return tuple(option for option in self.options if option != self.otherwise)

    def check(self, value: object, name: str = "") -> Value:
        """``value`` if it is a valid answer; errors call the question ``name``, by default as in a file of answers.

        Raises:
            UsageError: TW-U31 if its type is wrong, TW-U32 if it is invalid.
        """
        name = name or self.name
        kind, words = KINDS[self.kind]
        if kind is float and type(value) is int:
            value = float(value)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise UsageError(
                "TW-U31",
                tr("{name} must be {words}, not {shown}", name=name, words=tr(words), shown=_shown(self, value)),
                self._fix(),
            )
        wrong = self.validate(value)
        if self.options and value not in self.options:
            wrong = tr("it must be one of {choices}", choices=", ".join(self.options))
            if near := difflib.get_close_matches(str(value), self.options, 1):
                wrong = tr("{wrong}; did you mean {near}?", wrong=wrong, near=near[0])
        if wrong:
            raise UsageError(
                "TW-U32",
                tr("{name} cannot be {shown}: {wrong}", name=name, shown=_shown(self, value), wrong=wrong),
                self._fix(),
            )
        return value

    def _fix(self) -> str:
        """What to do about an invalid answer. The help on a number is about its purpose, so it does not help here."""
        about = tr(self.help) if self.help and self.kind not in ("int", "float") else ""
        return join(" ", tr("Use another value."), about)

    def parse(self, text: str, name: str = "") -> Value | None:
        """The answer for the typed ``text``; the default if it is empty. ``name``: see `check`.

        Raises:
            UsageError: TW-U31 or TW-U32; see `check`.
        """
        text = text.strip()
        if not text:
            return self.check("", name) if self.required else self.default
        value: object = self.full(text)
        try:
            if self.kind == "int":
                value = int(text)
            elif self.kind == "float":
                value = float(text)
            elif self.kind == "confirm" and text.lower() in YES + NO:
                value = text.lower() in YES
        except ValueError:
            pass  # still a string, which check rejects with the right message
        return self.check(value, name)


def _shown(question: Question, value: object) -> str:
    text = repr(value)
    return tr("the given value") if question.secret else text if len(text) <= 60 else text[:57] + "…"
