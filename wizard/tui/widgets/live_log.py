"""Output while it comes: follows the end until the user scrolls up, and again when he is back at the end."""

from __future__ import annotations

from textual import events
from textual.widgets import Log

from wizard.tui.bridge import MAX_LINES


class LiveLog(Log):
    """A log that stays at its end when its size changes too (Textual's own then counts as scrolled up)."""

    def __init__(self) -> None:
        super().__init__(max_lines=MAX_LINES, highlight=False, id="log", classes="reading")
        self._follows = True

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Note whether the end is in sight."""
        super().watch_scroll_y(old_value, new_value)
        self._follows = new_value >= self.max_scroll_y

    def on_resize(self, _event: events.Resize) -> None:
        """Show the end again, if it was shown before."""
        if self._follows:
            self.call_after_refresh(self.scroll_end, animate=False, x_axis=False)
