"""A scrolling part of a screen, whose keys are in the key bar only while it can scroll."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

from wizard.kernel.language import mark


class Pane(VerticalScroll):
    """Scrolled with the arrow keys; focusable."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "scroll_up", mark("Scroll"), id="pane.up", key_display="↑↓"),
        Binding("down", "scroll_down", mark("Scroll"), id="pane.down", show=False),
    ]

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool | None:
        """No arrows if everything is visible."""
        return self.max_scroll_y > 0 if action in ("scroll_up", "scroll_down") else True

    def action_scroll_up(self) -> None:
        """Scroll up a line, at once: Textual would begin after the next frame, and lose earlier keys."""
        self.scroll_relative(y=-1, animate=False, immediate=True)

    def action_scroll_down(self) -> None:
        """Scroll down a line, at once."""
        self.scroll_relative(y=1, animate=False, immediate=True)

    def watch_virtual_size(self) -> None:
        """There may be more or less to scroll now."""
        self.refresh_bindings()

    def on_resize(self, _event: events.Resize) -> None:
        """There may be more or less to scroll now."""
        self.refresh_bindings()
