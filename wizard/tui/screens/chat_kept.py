"""Conversations that are kept: begun, gone on with, saved after every answer."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from wizard.kernel.errors import WizardError
from wizard.kernel.language import mark, tr
from wizard.tui.keeping import Keeping
from wizard.tui.screens.chat_comparing import ChatComparing
from wizard.tui.widgets.chrome import KeyBar
from wizard.tui.widgets.conversations import Conversations
from wizard.tui.widgets.talk import Talk

ROOM_FOR_LIST = 120
"""Columns from which on the list of conversations stands beside the chat."""


class ConversationsScreen(ModalScreen["int | None"]):
    """Kept conversations in a window; dismissed with the one to go on with."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", mark("Close"), id="chat.close_list")]

    def __init__(self, keeping: Keeping) -> None:
        super().__init__()
        self._list = Conversations(keeping)

    def compose(self) -> ComposeResult:
        """The list and its keys."""
        with Vertical(classes="window") as window:
            window.border_title = tr("Conversations on this machine")
            yield self._list
            yield KeyBar()

    def on_conversations_chosen(self, message: Conversations.Chosen) -> None:
        """Go on with it."""
        self.dismiss(message.number)

    def action_close(self) -> None:
        """Go on with the present one."""
        self.dismiss(None)


class ChatKept(ChatComparing):
    """The part of the chat that is about other conversations."""

    def action_new(self) -> None:
        """Begin another conversation; settings and system prompt stay."""
        self._begin(private=self.keeping.private)

    def action_private(self) -> None:
        """Begin another conversation that is not kept, or that is kept again."""
        self._begin(private=not self.keeping.private)

    def _begin(self, *, private: bool) -> None:
        self.keeping.begin(private=private)
        for talk in self.talks:
            old = talk.view.conversation
            talk.show(replace(old, messages=tuple(each for each in old.messages if each.role == "system")))
        self.show_state()

    @work(exclusive=True, group="list")
    async def action_conversations(self) -> None:
        """Show the kept conversations, or hide them: beside the chat where there is room, else in a window."""
        if self.query(Conversations):
            await self.query_one(Conversations).remove()
            self.action_write()
        elif self.size.width >= ROOM_FOR_LIST:
            await self.query_one("#talk-row").mount(Conversations(self.keeping), before=0)
            self.query_one("#search").focus()
        elif (number := await self.app.push_screen_wait(ConversationsScreen(self.keeping))) is not None:
            await self._open(number)

    async def on_conversations_chosen(self, message: Conversations.Chosen) -> None:
        """Go on with it."""
        await self._open(message.number)
        self.action_write()

    async def _open(self, number: int) -> None:
        if self.busy:
            self.notify(tr("An answer is coming: stop it first."), severity="warning")
            return
        try:
            conversation = await self.keeping.open(number)
        except WizardError as error:
            self.tell(error)
            return
        self.talk.show(conversation)
        self.begin_rival(conversation)
        self.show_state()

    @work(group="keep")
    async def keep(self, talk: Talk) -> None:
        """Keep the conversation of ``talk``; if that fails, say so and keep on chatting."""
        await self._save(talk)
        for one in self.query(Conversations):
            one.find()

    async def keep_what_came(self) -> None:
        """Keep answers that still come as far as they are there: the chat is left."""
        for talk in self.talks:
            if talk.view.busy:
                await self._save(talk)

    async def _save(self, talk: Talk) -> None:
        try:
            await self.keeping.save(talk.so_far, talk.endpoint, "first" if talk is self.talk else "second")
        except WizardError as error:
            self.tell(error)
