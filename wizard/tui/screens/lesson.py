"""A lesson in a window, for terminals where it has no room beside the stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from wizard.catalog.lessons import Part
from wizard.kernel.language import mark, tr
from wizard.tui.screens.modal import ReaderScreen


class LessonScreen(ReaderScreen):
    """The whole lesson, to be scrolled; one of its keys ends the lessons."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f3", "hide", mark("Stop explaining"), id="lesson.hide"),
    ]

    def __init__(self, lesson: Sequence[Part], hide: Callable[[], None]) -> None:
        super().__init__(tr("Explanation"), "\n\n".join(_text(part) for part in lesson))
        self._hide = hide

    def action_hide(self) -> None:
        """Close the window and show no lessons from here on."""
        self._hide()
        self.dismiss(None)


def _text(part: Part) -> str:
    lines = part.text.splitlines() if part.commands else [part.text]
    return "\n".join([part.heading, *(f"  {line}" for line in lines)])
