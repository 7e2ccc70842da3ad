"""A list of notes, each after a mark; long ones wrap with a hanging indent. A single widget."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from textual.content import Content

from wizard.tui.widgets.lines import LEAST_WIDTH, Lines

Note: TypeAlias = "tuple[Content, Content]"
"""Mark and text."""
INDENT = 2


class Notes(Lines):
    """All notes are in a single widget, so that a change is visible at once."""

    def __init__(self) -> None:
        super().__init__()
        self._notes: tuple[Note, ...] = ()

    def show(self, notes: Iterable[Note]) -> None:
        """Show these notes instead of the current ones."""
        self._notes = tuple(notes)
        self.changed()

    def lines(self, width: int) -> list[Content]:
        """The notes, one below the other."""
        room = max(width - INDENT, LEAST_WIDTH)
        lines: list[Content] = []
        for mark, text in self._notes:
            first, *rest = [piece for line in text.split("\n") for piece in line.wrap(room)] or [Content("")]
            lead = Content.assemble(mark, " " * max(0, INDENT - mark.cell_length)) if mark else Content("")
            lines += [lead + first, *(Content(" " * INDENT) + piece for piece in rest)]
        return lines
