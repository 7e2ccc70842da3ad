"""Find in the conversation: as in a log, but Enter goes to the previous match."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input

from wizard.kernel.language import mark
from wizard.tui.widgets.search_bar import SearchBar


class TranscriptSearch(SearchBar, inherit_bindings=False):
    """Searches backwards, because the user is usually at the end.

    Args:
        seek: Goes to a match: see `wizard.tui.widgets.transcript.Transcript.seek`.
    """

    ABOUT = mark("Find in this conversation")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,up", "step(-1)", mark("Earlier"), priority=True, key_display="⏎↑", id="chat.find_earlier"),
        Binding("down", "step(1)", mark("Later"), priority=True, key_display="↓", id="chat.find_later"),
        Binding("escape", "close", mark("Close"), priority=True, id="chat.find_close"),
    ]

    def __init__(self, seek: Callable[[str, int], tuple[int, int]]) -> None:
        super().__init__()
        self._seek = seek

    def again(self) -> None:
        """Search another conversation for the same text."""
        if self.display:
            self._go(0)

    def on_search_bar_searched(self) -> None:
        """Show the last match."""
        self._go(0)

    def on_search_bar_step(self, message: SearchBar.Step) -> None:
        """Show another match."""
        self._go(message.by)

    def _go(self, by: int) -> None:
        self.show(*self._seek(self.query_one(Input).value, by))
