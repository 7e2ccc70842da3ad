"""Other conversations in the chat: a new one, a private one, and the saved ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual import work
from textual.screen import Screen
from textual.widgets import Input

from wizard.kernel.language import tr
from wizard.tui.screens.conversations import ConversationsScreen
from wizard.tui.views.chat import ChatEnd
from wizard.tui.widgets.conversations import Conversations
from wizard.tui.widgets.error import errors_shown
from wizard.tui.widgets.transcript_search import TranscriptSearch

if TYPE_CHECKING:
    from wizard.tui.screens.chat import ChatScreen

ROOM_FOR_LIST = 120
"""Columns from which on the list of conversations is shown next to the chat."""


class Remembering(Screen[ChatEnd]):
    """The actions of their keys."""

    def action_new(self) -> None:
        """Start another conversation; settings and system prompt are kept."""
        self._begin(private=cast("ChatScreen", self).keeping.private)

    def action_private(self) -> None:
        """Start another conversation that is not saved, or that is saved again."""
        self._begin(private=not cast("ChatScreen", self).keeping.private)

    def _begin(self, *, private: bool) -> None:
        chat = cast("ChatScreen", self)
        chat.keeping.begin(private=private)
        self.query_one(TranscriptSearch).close()
        chat.talks.begin()
        chat.show_state()

    async def action_conversations(self) -> None:
        """Show or hide the saved conversations."""
        chat = cast("ChatScreen", self)
        if self.query(Conversations):
            await chat.close_panel(self.query_one(Conversations))
        else:
            self.search("")

    @work(exclusive=True, group="list")
    async def search(self, text: str) -> None:
        """Search the saved conversations: next to the chat if there is room, else in a window."""
        chat = cast("ChatScreen", self)
        if self.query(Conversations):
            self.query_one("#search", Input).value = text
            self.query_one("#search").focus()
        elif self.size.width >= ROOM_FOR_LIST:
            await self.query_one("#talk-row").mount(Conversations(chat.keeping, text), before=0)
            self.query_one("#search").focus()
        elif (number := await self.app.push_screen_wait(ConversationsScreen(chat.keeping, text))) is not None:
            await self._open(number)

    async def on_conversations_chosen(self, message: Conversations.Chosen) -> None:
        """Continue it."""
        await self._open(message.number)
        cast("ChatScreen", self).action_write()

    async def _open(self, number: int) -> None:
        chat = cast("ChatScreen", self)
        if chat.talks.busy:
            self.notify(tr("An answer is in progress: stop it first."), severity="warning")
            return
        with errors_shown(self.app):
            chat.talks.go_on(await chat.keeping.open(number))
