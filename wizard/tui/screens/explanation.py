"""An explanation in a window, for terminals without room for it next to the stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from wizard.catalog.explanations import Part
from wizard.kernel.language import mark, tr
from wizard.tui.screens.modal import ReaderScreen


class ExplanationScreen(ReaderScreen):
    """The complete explanation, scrollable; one of its keys turns explanations off."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f3", "hide", mark("Stop explaining"), id="explanation.hide"),
    ]

    def __init__(self, explanation: Sequence[Part], hide: Callable[[], None]) -> None:
        super().__init__(tr("Explanation"), "\n\n".join(_text(part) for part in explanation))
        self._hide = hide

    def action_hide(self) -> None:
        """Close the window and turn explanations off."""
        self._hide()
        self.dismiss(None)


def _text(part: Part) -> str:
    lines = part.text.splitlines() if part.commands else [part.text]
    return "\n".join([part.heading, *(f"  {line}" for line in lines)])
