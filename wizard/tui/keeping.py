"""The conversation that is had now among those that are kept: saved after every answer, in order, unless private."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial

from wizard.chat.conversation import Conversation
from wizard.chat.history import Entry, History, Kept
from wizard.serve.endpoint import Endpoint
from wizard.tui import background


class Keeping:
    """All that blocks is done in threads. Every method may raise `WorkspaceError`, see `wizard.chat.history`.

    Args:
        history: Where conversations are kept.
        endpoint: That answers.
        private: Nothing is kept.
        kept: What was gone on with before.
    """

    def __init__(self, history: History, endpoint: Endpoint, *, private: bool, kept: Kept | None = None) -> None:
        self._history, self._endpoint = history, endpoint
        self.private = private
        self._present = [kept or Kept(Conversation())]
        """The one that is had now; a list, so that what is being saved stays apart from one that is begun meanwhile."""
        self._turn = asyncio.Lock()

    @property
    def kept(self) -> Kept:
        """The present conversation as it was saved last."""
        return self._present[0]

    def begin(self, *, private: bool) -> None:
        """Another conversation, which is kept when something is said in it, and never if it is ``private``."""
        self._present, self.private = [Kept(Conversation())], private

    async def save(self, conversation: Conversation) -> None:
        """Keep the present conversation as it is now."""
        if self.private or not any(message.role == "user" for message in conversation.messages):
            return
        present, endpoint = self._present, self._endpoint
        async with self._turn:  # one after the other: each goes on from what the one before has made
            now = replace(present[0], conversation=conversation, model=endpoint.model, endpoint=endpoint.name)
            present[0] = await background.call(partial(self._history.save, now))

    async def open(self, number: int) -> Conversation:
        """Go on with a kept conversation."""
        kept = await background.call(partial(self._history.load, number))
        self._present, self.private = [kept], False
        return kept.conversation

    async def search(self, text: str) -> list[Entry]:
        """Kept conversations with ``text``, or all, the last one first."""
        return await background.call(partial(self._history.search, text))

    async def rename(self, number: int, title: str) -> None:
        """Give a kept conversation another title."""
        async with self._turn:
            await background.call(partial(self._history.rename, number, title))
            if self.kept.id == number:
                self._present[0] = replace(self.kept, title=" ".join(title.split()))

    async def delete(self, number: int) -> None:
        """Remove a kept conversation; what is said on in it becomes another one."""
        async with self._turn:
            await background.call(partial(self._history.delete, number))
            if self.kept.id == number:
                self._present = [Kept(Conversation())]
