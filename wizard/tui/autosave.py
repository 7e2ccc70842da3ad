"""Save the current conversations after every answer, in order, unless they are private."""

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
"""One of two conversations with the same questions."""


class Autosave:
    """Saves conversations; blocking work runs in threads. Every method may raise `WorkspaceError`, see
    `wizard.chat.history`.

    Args:
        history: The saved conversations.
        private: Whether saving is off.
        kept: The saved conversation that is continued.
    """

    def __init__(self, history: History, *, private: bool, kept: Kept | None = None) -> None:
        self._history, self.private = history, private
        self._present: dict[Side, Kept] = {"first": kept} if kept else {}
        """Those that are had now, as they were saved last; others take another dict, apart from what is being saved."""
        self.turn = asyncio.Lock()
        """Held while the saved conversations are changed."""

    @property
    def kept(self) -> Kept:
        """The last save of the current conversation with the first model."""
        return self._present.get("first") or Kept(Conversation())

    @property
    def open_now(self) -> set[int | None]:
        """IDs of the current conversations."""
        return {kept.id for kept in self._present.values()}

    def begin(self, *, private: bool) -> None:
        """Start another conversation, which is saved from its first message on, and never if it is ``private``."""
        self._present, self.private = {}, private

    async def end_second(self) -> None:
        """The second model leaves the comparison; its saved conversation is kept."""
        async with self.turn:
            self._present.pop("second", None)

    async def save(self, conversation: Conversation, endpoint: Endpoint, side: Side = "first") -> None:
        """Save a current conversation with the model at ``endpoint``."""
        if self.private or not any(message.role == "user" for message in conversation.messages):
            return
        present = self._present
        async with self.turn:  # one after the other: each continues the result of the one before
            old = present.get(side) or Kept(conversation)
            now = replace(old, conversation=conversation, model=endpoint.model, endpoint=endpoint.name)
            present[side] = await background.call(partial(self._history.save, now))

    def adopt(self, kept: Kept) -> None:
        """``kept`` is the current conversation with the first model from now on, as it was saved last."""
        self._present = {**self._present, "first": kept}
        self.private = self.private and kept.id is None

    async def open(self, number: int) -> Conversation:
        """Continue a saved conversation, with the first model."""
        kept = await background.call(partial(self._history.load, number))
        self._present, self.private = {"first": kept}, False
        return kept.conversation

    async def search(self, text: str) -> list[Entry]:
        """Saved conversations with ``text``, or all, most recent first."""
        return await background.call(partial(self._history.search, text))

    async def rename(self, number: int, title: str) -> None:
        """Change the title of a saved conversation."""
        async with self.turn:
            await background.call(partial(self._history.rename, number, title))
            for side, kept in self._present.items():
                if kept.id == number:
                    self._present[side] = replace(kept, title=" ".join(title.split()))

    async def delete(self, number: int) -> None:
        """Delete a saved conversation; if it is continued, it becomes a new one."""
        async with self.turn:
            await background.call(partial(self._history.delete, number))
            for side in [side for side, kept in self._present.items() if kept.id == number]:
                del self._present[side]
