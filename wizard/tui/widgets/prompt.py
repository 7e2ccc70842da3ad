"""Where the user writes: Enter sends, Ctrl+J begins a new line."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea


class Prompt(TextArea):
    """A field that grows with its text. In an empty one, ↑ brings the last question back, ↓ goes to the offered."""

    DEFAULT_CSS = """
    Prompt { height: auto; max-height: 6; border: round $border-blurred; padding: 0 1; background: $background; }
    Prompt:focus { border: heavy $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "send", "Send", priority=True, key_display="⏎"),
        Binding("ctrl+j", "newline", "Newline", priority=True),
        Binding("up", "previous", "Last", key_display="↑"),
        Binding("up", "cursor_up", show=False),
        Binding("down", "offered", "Questions", key_display="↓"),
        Binding("down", "cursor_down", show=False),
    ]

    class Sent(Message):
        """The text is to be sent."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Previous(Message):
        """The last question is wanted back."""

    class Offered(Message):
        """The offered questions are wanted."""

    def __init__(self) -> None:
        super().__init__(placeholder="Ask something …", highlight_cursor_line=False, id="prompt")
        self._arrows = {"previous": False, "offered": False}

    def set_arrows(self, *, back: bool, offered: bool) -> None:
        """Say whether there is a last question to bring ``back``, and whether questions are ``offered``."""
        self._arrows = {"previous": back, "offered": offered}

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool | None:
        """The arrows have their own meaning only in an empty field."""
        return not self.text and self._arrows[action] if action in self._arrows else True

    def on_text_area_changed(self) -> None:
        """What the arrows do may have changed."""
        self.refresh_bindings()

    def action_send(self) -> None:
        """Send what is written, unless that is nothing."""
        if self.text.strip():
            self.post_message(self.Sent(self.text.strip()))

    def action_newline(self) -> None:
        """Begin a new line."""
        self.insert("\n")

    def action_previous(self) -> None:
        """Ask for the last question."""
        self.post_message(self.Previous())

    def action_offered(self) -> None:
        """Ask for the offered questions."""
        self.post_message(self.Offered())
