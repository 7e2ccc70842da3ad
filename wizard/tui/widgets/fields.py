"""The constraints that can be changed in place, in a row: the one that keys change is between ‹ and ›."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.content import Content
from textual.message import Message
from textual.style import Style

from wizard.kernel.language import mark, tr
from wizard.tui.widgets.lines import Lines

LEAD = mark("What if")
LEAST_WIDTH = 16


class WhatIf(Lines):
    """Titles and values, wrapped if needed."""

    class Picked(Message):
        """A field was clicked."""

        def __init__(self, at: int) -> None:
            super().__init__()
            self.at = at

    def __init__(self) -> None:
        super().__init__()
        self._fields: tuple[tuple[str, str], ...] = ()
        self._at = 0

    def show(self, fields: Sequence[tuple[str, str]], at: int) -> None:
        """Show titles and values, with the marks around number ``at``."""
        self._fields, self._at = tuple(fields), at
        self.changed()

    def on_click(self, event: events.Click) -> None:
        """Select the clicked one."""
        if (at := event.style.meta.get("field")) is not None:
            self.post_message(self.Picked(at))

    def lines(self, width: int) -> list[Content]:
        """The fields, one after the other."""
        lines = [Content.assemble((tr(LEAD) + " ", "$text-muted"))]
        for number, (title, value) in enumerate(self._fields):
            here = number == self._at
            item = Content.assemble(
                ("‹" if here else " ", "bold $accent"),
                (f"{title} ", "$text-muted"),
                (value, "bold $accent" if value.endswith("*") else "bold"),
                ("›" if here else " ", "bold $accent"),
            ).stylize(Style.from_meta({"field": number}))
            if lines[-1].cell_length + item.cell_length <= max(width, LEAST_WIDTH):
                lines[-1] += item
            else:
                lines.append(item)
        return lines
