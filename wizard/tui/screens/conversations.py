"""Saved conversations in a window, if there is no room for them next to the chat."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from wizard.kernel.language import mark, tr
from wizard.tui.autosave import Autosave
from wizard.tui.widgets.chrome import KeyBar
from wizard.tui.widgets.conversations import Conversations


class ConversationsScreen(ModalScreen["int | None"]):
    """Dismissed with the conversation to continue."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", mark("Close"), id="chat.close_list")]

    def __init__(self, keeping: Autosave, text: str = "") -> None:
        """``text``: what is searched for at first."""
        super().__init__()
        self._list = Conversations(keeping, text)

    def compose(self) -> ComposeResult:
        """The list and its keys."""
        with Vertical(classes="window") as window:
            window.border_title = tr("Conversations on this machine")
            yield self._list
            yield KeyBar()

    def on_conversations_chosen(self, message: Conversations.Chosen) -> None:
        """Continue it."""
        self.dismiss(message.number)

    def action_close(self) -> None:
        """Continue the current one."""
        self.dismiss(None)
