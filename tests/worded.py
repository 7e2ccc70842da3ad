"""The texts of notes, obstacles and rejections, for tests of what is said."""

from __future__ import annotations

from wizard.advise.advice import Rejection
from wizard.advise.reasons import Note, Obstacle, Reason, because
from wizard.texts import advise, reasons, remedies


def text_of(value: Note | Obstacle | Rejection) -> str:
    return advise.note(value) if isinstance(value, Note) else reasons.text(value.reason)


def remedy_of(value: Obstacle | Rejection) -> str:
    return remedies.text(value.remedies)


def saying(text: str) -> Reason:
    """A reason with just this text."""
    return because("needs-name", name=text)


def noted(text: str, source: str | None = None) -> Note:
    """A note with just this text."""
    return Note("calibration-damaged", {"damage": text}, source)


def limited(text: str) -> Note:
    return Note("limit", {"why": saying(text)})


def behind(text: str) -> Note:
    return Note("behind", {"goal": "chat", "why": saying(text.rstrip(".")), "though": None})
