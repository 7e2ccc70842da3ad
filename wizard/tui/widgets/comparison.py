"""Who answers: one model, or two that are asked the same and are compared; and whose answers are read."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from functools import partial

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.message import Message

from wizard.chat.chunk import Chunk
from wizard.chat.conversation import Conversation
from wizard.kernel.language import tr
from wizard.serve.endpoint import Endpoint
from wizard.tui.views.chat import comparison
from wizard.tui.widgets.model_chat import ModelChat


class Comparison(Container):
    """What becomes of an answer is told by `ModelChat.Changed`.

    Args:
        send: Stream the answer of a server to a conversation.
        endpoint: The server that is asked from the beginning.
        conversation: What was said with it before.
        clock: Seconds that only go forward.
    """

    class Meant(Message):
        """Another one is read now."""

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

    def _talk(self, endpoint: Endpoint, conversation: Conversation, name: str) -> ModelChat:
        return ModelChat(endpoint, partial(self._send, endpoint), conversation, clock=self._clock, id=name)

    def compose(self) -> ComposeResult:
        """A second one may come later."""
        yield self.first

    def relabel(self) -> None:
        """Say in the present language which one is read."""
        for talk in self.chats:
            talk.say_name(tr("find, copy, save, log here") if talk is self.here else "")

    # Who is asked

    @property
    def chats(self) -> list[ModelChat]:
        """Everyone who answers."""
        return [self.first, self.second] if self.second else [self.first]

    @property
    def answering(self) -> list[ModelChat]:
        """Those whose answer comes now."""
        return [talk for talk in self.chats if talk.view.busy == "answering"]

    @property
    def busy(self) -> bool:
        """Whether somebody answers, or the server is stopped."""
        return any(talk.view.busy for talk in self.chats)

    def ask(self, text: str, *, again: bool = False) -> None:
        """Ask everybody the same question.

        Args:
            text: The question.
            again: It takes the place of the last one, of those who were asked one.
        """
        for talk in self.chats:
            if again and talk.view.texts("user"):
                talk.ask_again(text)
            else:
                talk.ask(text)

    def stop(self) -> None:
        """Stop the answers."""
        for talk in self.chats:
            talk.stop()

    def change(self, conversation: Conversation) -> None:
        """Everybody answers as in ``conversation`` from here on: settings, system prompt."""
        self.first.change(conversation)
        if self.second is not None:
            old = self.second.view.conversation.with_system(conversation.system)
            self.second.change(replace(old, sampling=conversation.sampling))

    def begin(self) -> None:
        """Begin anew; settings and system prompt stay."""
        for talk in self.chats:
            talk.show(_begun(talk.view.conversation))

    def go_on(self, conversation: Conversation) -> None:
        """Go on with another ``conversation`` with the first model; the second begins anew."""
        self.first.show(conversation)
        if self.second is not None:
            self.second.show(_begun(conversation))

    async def join(self, endpoint: Endpoint) -> None:
        """Let the model at ``endpoint`` answer beside the first."""
        second = self._talk(endpoint, _begun(self.first.view.conversation), "second")
        await self.mount(second)
        self.second = second
        self.relabel()

    async def part(self) -> None:
        """Let the first answer alone again."""
        self.mean(self.first)
        if self.second is not None:
            second, self.second = self.second, None
            await second.remove()

    @property
    def compared(self) -> Content:
        """What is measured of both, once there is something; empty while there is but one."""
        if self.second is None:
            return Content()
        return comparison((self.first.endpoint.name, self.first.view), (self.second.endpoint.name, self.second.view))

    # Which one is read

    def mean(self, talk: ModelChat) -> None:
        """Read ``talk`` from here on; nothing is sought in the other one any more."""
        if talk is not self.here:
            self.seek("", 0)
            self.here = talk
            self.relabel()
            self.post_message(self.Meant())

    def on_click(self, event: events.Click) -> None:
        """Mean the one that is clicked."""
        inside = event.widget.ancestors_with_self if event.widget else []
        self.mean(next((talk for talk in self.chats if talk in inside), self.here))

    def seek(self, text: str, by: int) -> tuple[int, int]:
        """Find in the one that is read: as `wizard.tui.widgets.transcript.Transcript.seek`."""
        return self.here.transcript.seek(text, by)


def _begun(conversation: Conversation) -> Conversation:
    """Nothing said yet, answered in the same way."""
    return replace(
        conversation, messages=tuple(message for message in conversation.messages if message.role == "system")
    )
