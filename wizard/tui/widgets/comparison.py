"""The answering models: one, or two that get the same questions and are compared; and which one is selected for
reading.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from functools import partial

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.message import Message

from wizard.chat.chunk import Chunk
from wizard.chat.conversation import Conversation
from wizard.chat.race import Lane, Race
from wizard.kernel.language import tr
from wizard.serve.endpoint import Endpoint
from wizard.tui.widgets.model_chat import ModelChat


class Comparison(Container):
    """Posts the state of answers as `ModelChat.Changed`.

    Args:
        send: Stream the answer of a server to a conversation.
        endpoint: The first server.
        conversation: The earlier conversation with it.
        clock: Monotonic seconds.
    """

    class Meant(Message):
        """Another model is selected."""

    def __init__(
        self,
        send: Callable[[Endpoint, Conversation], AsyncGenerator[Chunk, None]],
        endpoint: Endpoint,
        conversation: Conversation,
        *,
        clock: Callable[[], float],
    ) -> None:
        super().__init__(id="talks")
        self._send, self._clock = send, clock
        self.first = self._talk(endpoint, conversation, "first")
        self.second: ModelChat | None = None
        """The one that answers beside the first."""
        self.here = self.first
        """The one that is read: find, copy, save and the log mean it."""
        self.turns = False
        """Whether the second answers after the first, instead of at the same time."""
        self.race: Race | None = None
        """With the last question; None if not both had it."""
        self._next: Callable[[], None] | None = None
        """Sends the question to the second, once the first has answered."""
        self._behind = False
        """Whether the second did not get the last question."""

    def _talk(self, endpoint: Endpoint, conversation: Conversation, name: str) -> ModelChat:
        return ModelChat(endpoint, partial(self._send, endpoint), conversation, clock=self._clock, id=name)

    def compose(self) -> ComposeResult:
        """A second one may be added later."""
        yield self.first

    def relabel(self) -> None:
        """Show in the current language which one is selected."""
        for talk in self.chats:
            talk.say_name(tr("find, copy, save and log apply here") if talk is self.here else "")

    # The answering models

    @property
    def chats(self) -> list[ModelChat]:
        """All answering models."""
        return [self.first, self.second] if self.second else [self.first]

    @property
    def answering(self) -> list[ModelChat]:
        """Those with a current answer."""
        return [talk for talk in self.chats if talk.view.busy == "answering"]

    @property
    def busy(self) -> bool:
        """Whether any is answering or will, or the server is being stopped."""
        return self._next is not None or any(talk.view.busy for talk in self.chats)

    def ask(self, text: str, *, again: bool = False) -> None:
        """Send the same question to all.

        Args:
            text: The question.
            again: Whether it replaces the last one, for those that had one.
        """
        first, second = self.first, self.second
        if second is None:
            self.race = None
            _send(first, text, again=again)
            return
        race = Race((first.endpoint, second.endpoint), "turns" if self.turns else "together", time.time())
        again_second, self._behind = again and not self._behind, False
        ask_second = partial(_send, second, text, again=again_second, lane=race.lanes[1])
        self.race, self._next = race, ask_second if self.turns else None
        _send(first, text, again=again, lane=race.lanes[0])
        if not self.turns:
            ask_second()

    def on_model_chat_changed(self, message: ModelChat.Changed) -> None:
        """It is the second one's turn when the first has answered; not if the user stopped that."""
        if self._next is None:
            return
        if message.talk is self.second and message.new.busy == "answering":
            self._next = None
        elif message.talk is self.first and message.old.busy == "answering" and not message.new.busy:
            if message.new.stopped:
                self._skip()
            else:
                self._next()

    def _skip(self) -> None:
        """The second one does not get the question."""
        if self._next is not None and self.race is not None and not self.race.lanes[1].started:
            self._next, self._behind = None, True
            self.race.lanes[1].skip()

    def stop(self) -> None:
        """Stop the answers; the second one is not asked if it was not its turn yet."""
        self._skip()
        for talk in self.chats:
            talk.stop()

    def change(self, conversation: Conversation) -> None:
        """All use the settings and system prompt of ``conversation`` from now on."""
        self.first.change(conversation)
        if self.second is not None:
            old = self.second.view.conversation.with_system(conversation.system)
            self.second.change(replace(old, sampling=conversation.sampling))

    def begin(self) -> None:
        """Start over; settings and system prompt are kept."""
        self.race = None
        for talk in self.chats:
            talk.show(_begun(talk.view.conversation))

    def go_on(self, conversation: Conversation) -> None:
        """Continue another ``conversation`` with the first model; the second starts over."""
        self.race = None
        self.first.show(conversation)
        if self.second is not None:
            self.second.show(_begun(conversation))

    def switch(self, endpoint: Endpoint) -> None:
        """The model at ``endpoint`` continues the first one's conversation."""
        self.first.switch(endpoint, partial(self._send, endpoint))
        self.relabel()

    async def join(self, endpoint: Endpoint) -> None:
        """Add the model at ``endpoint`` to the comparison."""
        second = self._talk(endpoint, _begun(self.first.view.conversation), "second")
        await self.mount(second)
        self.second, self.race = second, None
        self.relabel()

    async def part(self) -> None:
        """Remove the second model."""
        self.race = None
        self.mean(self.first)
        if self.second is not None:
            second, self.second = self.second, None
            await second.remove()

    # Which one is selected

    def mean(self, talk: ModelChat) -> None:
        """Select ``talk``; the search in the other one ends."""
        if talk is not self.here:
            self.seek("", 0)
            self.here = talk
            self.relabel()
            self.post_message(self.Meant())

    def on_click(self, event: events.Click) -> None:
        """Select the clicked one."""
        inside = event.widget.ancestors_with_self if event.widget else []
        self.mean(next((talk for talk in self.chats if talk in inside), self.here))

    def seek(self, text: str, by: int) -> tuple[int, int]:
        """Find in the selected one: as `wizard.tui.widgets.transcript.Transcript.seek`."""
        return self.here.transcript.seek(text, by)


def _send(talk: ModelChat, text: str, *, again: bool, lane: Lane | None = None) -> None:
    """Send a question, ``again`` in place of the last one if there is one."""
    if again and talk.view.texts("user"):
        talk.ask_again(text, lane)
    else:
        talk.ask(text, lane)


def _begun(conversation: Conversation) -> Conversation:
    """An empty conversation with the same settings."""
    return replace(
        conversation, messages=tuple(message for message in conversation.messages if message.role == "system")
    )
