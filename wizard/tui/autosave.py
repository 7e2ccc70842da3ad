"""The conversations that are had now among those that are kept: saved after every answer, in order, unless private."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import Literal, TypeAlias

from wizard.chat.conversation import Conversation
from wizard.chat.history import Entry, History, Kept
from wizard.serve.endpoint import Endpoint
from wizard.tui import background

Side: TypeAlias = Literal["first", "second"]
"""Who of two that answer the same questions."""


class Autosave:
    """All that blocks is done in threads. Every method may raise `WorkspaceError`, see `wizard.chat.history`.

    Args:
        history: Where conversations are kept.
        private: Nothing is kept.
        kept: What was gone on with before.
    """

    def __init__(self, history: History, *, private: bool, kept: Kept | None = None) -> None:
        self._history, self.private = history, private
        self._present: dict[Side, Kept] = {"first": kept} if kept else {}
        """Those that are had now, as they were saved last; others take another dict, apart from what is being saved."""
        self._turn = asyncio.Lock()

    @property
    def kept(self) -> Kept:
        """The present conversation with the first model as it was saved last."""
        return self._present.get("first") or Kept(Conversation())

    @property
    def open_now(self) -> set[int | None]:
        """Numbers of the present conversations."""
        return {kept.id for kept in self._present.values()}

    def begin(self, *, private: bool) -> None:
        """Another conversation, which is kept when something is said in it, and never if it is ``private``."""
        self._present, self.private = {}, private

    async def end_second(self) -> None:
        """Nobody answers beside the first any more; what was kept of it stays."""
        async with self._turn:
            self._present.pop("second", None)

    async def save(self, conversation: Conversation, endpoint: Endpoint, side: Side = "first") -> None:
        """Keep a present conversation, with the model at ``endpoint``, as it is now."""
        if self.private or not any(message.role == "user" for message in conversation.messages):
            return
        present = self._present
        async with self._turn:  # one after the other: each goes on from what the one before has made
            old = present.get(side) or Kept(conversation)
            now = replace(old, conversation=conversation, model=endpoint.model, endpoint=endpoint.name)
            present[side] = await background.call(partial(self._history.save, now))

    async def open(self, number: int) -> Conversation:
        """Go on with a kept conversation, with the first model."""
        kept = await background.call(partial(self._history.load, number))
        self._present, self.private = {"first": kept}, False
        return kept.conversation

    async def search(self, text: str) -> list[Entry]:
        """Kept conversations with ``text``, or all, the last one first."""
        return await background.call(partial(self._history.search, text))

    async def rename(self, number: int, title: str) -> None:
        """Give a kept conversation another title."""
        async with self._turn:
            await background.call(partial(self._history.rename, number, title))
            for side, kept in self._present.items():
                if kept.id == number:
                    self._present[side] = replace(kept, title=" ".join(title.split()))

    async def delete(self, number: int) -> None:
        """Remove a kept conversation; what is said on in it becomes another one."""
        async with self._turn:
            await background.call(partial(self._history.delete, number))
            for side in [side for side, kept in self._present.items() if kept.id == number]:
                del self._present[side]
