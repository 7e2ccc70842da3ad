"""The texts of notes, obstacles and rejections, for tests of what is said."""

from __future__ import annotations

from wizard.advise.advice import Rejection
from wizard.advise.reasons import Note, Obstacle
from wizard.texts import advise, reasons, remedies


def text_of(value: Note | Obstacle | Rejection) -> str:
    return advise.note(value) if isinstance(value, Note) else reasons.text(value.reason)


def remedy_of(value: Obstacle | Rejection) -> str:
    return remedies.text(value.remedies)
