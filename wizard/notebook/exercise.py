"""Exercises of a notebook: a check says whether an answer is right, and otherwise what is wrong, with a hint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from wizard.kernel.language import tr
from wizard.notebook.html import text

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check. It is shown, not raised, so that the cells below still run."""

    right: bool
    message: str

    def __repr__(self) -> str:
        return f"{'✓' if self.right else '✗'} {self.message}"

    def _repr_html_(self) -> str:
        color = "#3fa34d" if self.right else "#c98a1b"
        shown = repr(self)
        return f'<div><b style="color:{color}">{shown[0]}</b>{text(shown[1:])}</div>'


def check(given: T, passes: Callable[[T], bool | str], *, hint: str) -> Checked:
    """Check the answer ``given`` to an exercise.

    Args:
        given: The answer; ``...`` if there is none yet.
        passes: Returns True if it is right, else False or what is wrong with it.
        hint: What to do about it.
    """
    if given is ...:
        return _wrong(tr("Replace the dots in the cell above with your answer."), hint)
    try:
        result = passes(given)
    except Exception as error:
        reason = tr(
            "{value} cannot be checked: {error}", value=f"{given!r:.80}", error=f"{type(error).__name__}: {error}"
        )
        return _wrong(reason, hint)
    if result is True:
        return Checked(True, tr("Correct."))
    if not result and isinstance(given, tuple):
        return _wrong(tr("{value} is several values: write a number without commas.", value=f"{given!r:.80}"), hint)
    return _wrong(result or tr("Not correct yet: {value}.", value=f"{given!r:.80}"), hint)


def _wrong(reason: str, hint: str) -> Checked:
    return Checked(False, tr("{reason} Hint: {hint}", reason=reason, hint=hint))
