"""A list to select from. The selected row has a pointer, so that it is visible without colors too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.widgets import OptionList

from wizard.kernel.language import mark

POINTER, BLANK = "▸ ", "  "
LEAST_WIDTH = 8


class Picker(OptionList):
    """An option list whose rows may have several lines."""

    DEFAULT_CSS = """
    Picker { border: none; padding: 0; background: $background; height: auto; }
    Picker:focus { border: none; background-tint: $background 0%; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "cursor_up", mark("Move"), id="picker.up", priority=True, key_display="↑↓"),
        Binding("down", "cursor_down", mark("Move"), id="picker.down", priority=True, show=False),
        Binding("enter", "select", mark("Choose"), id="picker.select", key_display="⏎"),
    ]

    def __init__(self, *, id: str | None = None, chooses: bool = True) -> None:
        """With ``chooses`` off there is only a cursor: Enter does nothing."""
        super().__init__(id=id, markup=False)
        self._chooses = chooses
        self._rows: tuple[Content, ...] = ()
        self._pointed: int | None = None
        self.moved = False
        """Whether the arrows have moved the cursor."""

    def action_cursor_up(self) -> None:
        """Go to the row above."""
        self.moved = True
        super().action_cursor_up()

    def action_cursor_down(self) -> None:
        """Go to the row below."""
        self.moved = True
        super().action_cursor_down()

    def show(self, rows: Sequence[Content], at: int | None = 0) -> None:
        """Show ``rows`` with the cursor on row ``at``."""
        pointed = at if rows else None
        self._rows, self._pointed = tuple(rows), pointed
        if len(self._rows) == self.option_count:  # in place, without a new layout
            self._put(range(len(self._rows)))
        else:
            self.set_options(self._shown(index) for index in range(len(self._rows)))
        self.highlighted = pointed
        self.refresh_bindings()

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool | None:
        """Enabled if there is a row to move to, or to select."""
        least = {"cursor_up": 2, "cursor_down": 2, "select": 1}
        return self.option_count >= least.get(action, 0) and (self._chooses or action != "select")

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """The height that the rows need; Textual cannot wrap them to zero columns (a terminal of 10 × 3)."""
        return super().get_content_height(container, viewport, max(width, LEAST_WIDTH))

    def on_resize(self, _event: events.Resize) -> None:
        """Wrap again; the cursor stays visible in a list that became lower."""
        self._put(range(len(self._rows)))
        self.call_after_refresh(self.scroll_to_highlight)

    def watch_show_vertical_scrollbar(self) -> None:
        """Wrap again: the scrollbar needs a column, or returns it."""
        self._put(range(len(self._rows)))

    def watch_highlighted(self, highlighted: int | None) -> None:
        """Move the pointer."""
        before, self._pointed = self._pointed, highlighted
        self._put(index for index in (before, highlighted) if index is not None)
        super().watch_highlighted(highlighted)

    def _put(self, indices: Iterable[int]) -> None:
        """Update these rows."""
        for index in indices:
            if index < self.option_count and (prompt := self._shown(index)) != self.get_option_at_index(index).prompt:
                self.replace_option_prompt_at_index(index, prompt)

    def _shown(self, index: int) -> Content:
        """The row after its mark; long text wraps with a hanging indent."""
        row, mark = self._rows[index], POINTER if index == self._pointed else BLANK
        room = max(self.scrollable_content_region.width, LEAST_WIDTH) - len(BLANK)
        first, *rest = [piece for line in row.split("\n") for piece in (line.wrap(room) if self.size else [line])]
        return Content("\n").join(
            [Content.assemble((mark, "bold $accent"), first), *(Content(BLANK) + line for line in rest)]
        )
