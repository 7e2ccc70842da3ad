"""A conversation with a model: its turns, the streamed answer, and its measurements."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message as Posted
from textual.reactive import reactive
from textual.timer import Timer
from textual.widgets import Static

from wizard.chat.chunk import Chunk
from wizard.chat.conversation import Conversation, Stats, TokenLogprob
from wizard.chat.race import Lane
from wizard.chat.snippet import Request
from wizard.chat.tools.called import ended
from wizard.kernel.errors import WizardError
from wizard.kernel.text import plain
from wizard.serve.endpoint import Endpoint
from wizard.tui.textual_private import DropsWork
from wizard.tui.views.chat import ChatView, Live, figures
from wizard.tui.widgets.error import ErrorPanel
from wizard.tui.widgets.lines import Text
from wizard.tui.widgets.transcript import Transcript
from wizard.tui.widgets.turn import Turn

LOOK_S = 0.2
"""Seconds between updates of a streamed answer's figures."""
Send = Callable[[Conversation], AsyncGenerator[Chunk, None]]


class Figures(Text):
    """The line below the turns; updated ten times a second without a new layout."""


class ModelChat(DropsWork, Vertical):
    """Asks, shows, measures. Its public state is its ``view``."""

    view: reactive[ChatView] = reactive(ChatView(Conversation()), init=False)

    class Changed(Posted):
        """The state has changed, beyond the figures of a streamed answer."""

        def __init__(self, talk: ModelChat, old: ChatView, new: ChatView) -> None:
            super().__init__()
            self.talk, self.old, self.new = talk, old, new

    def __init__(
        self,
        endpoint: Endpoint,
        send: Send,
        conversation: Conversation,
        *,
        clock: Callable[[], float] = time.monotonic,
        id: str,
    ) -> None:
        super().__init__(id=id)
        self.endpoint = endpoint
        self._send, self._clock = send, clock
        self.restarts = endpoint.url is None
        """Whether the wizard can restart the server: it started it, and the chat with it."""
        self.logprobs: list[TokenLogprob] = []
        """Of the last answer's tokens, where the server gave them."""
        self.weighed = False
        """Whether the last answer was asked for with them."""
        self.request: Request | None = None
        """What was sent last."""
        self._looks: Timer | None = None
        self.set_reactive(ModelChat.view, ChatView(conversation))

    def compose(self) -> ComposeResult:
        """Name, turns, error, figures."""
        yield Static(classes="name")
        yield Transcript(beside=1)  # the other model's
        yield ErrorPanel()
        yield Figures()

    @property
    def transcript(self) -> Transcript:
        """The turns."""
        return self.query_one(Transcript)

    @property
    def so_far(self) -> Conversation:
        """The conversation including the received part of a streamed answer."""
        if self.view.busy != "answering":
            return self.view.conversation
        return self._with_answer(self.view.conversation, self.transcript.turns[-1], None)

    def on_mount(self) -> None:
        """Show the earlier messages."""
        self._turns(self.view.conversation)
        self._show()

    def relabel(self) -> None:
        """Render the figures, and placeholders in the turns, in the current language."""
        self.transcript.relay()
        self._show()

    def say_name(self, words: str) -> None:
        """Show the model's name, with ``words`` about it; visible only in a comparison."""
        named = Content.assemble(plain(self.endpoint.title), (f"  {words}", "$text-muted not bold"))
        self.query_one(".name", Static).update(named)

    # Actions of the user

    def show(self, conversation: Conversation) -> None:
        """Continue this conversation instead."""
        self.stop()
        self.view = ChatView(conversation, self.view.served)
        self._turns(conversation)

    def switch(self, endpoint: Endpoint, send: Send) -> None:
        """Another model continues the conversation."""
        self.restarts = self.restarts and endpoint.name == self.endpoint.name
        self.endpoint, self._send = endpoint, send
        self.view = replace(self.view, served=None, error=None)
        self._turns(self.view.conversation)

    def _turns(self, conversation: Conversation) -> None:
        self.transcript.show(conversation.messages, self.endpoint.title)

    def change(self, conversation: Conversation) -> None:
        """The same turns with other settings or another system prompt, or with another version of the last one."""
        stats = conversation.messages[-1].stats if conversation.messages else None
        self.view = replace(self.view, conversation=conversation, stats=stats)
        self._turns(conversation)

    def stop(self) -> None:
        """Stop the answer; closing the stream cancels it in the server."""
        self.workers.cancel_group(self, "answer")

    def ask(self, text: str, lane: Lane | None = None) -> None:
        """Send another question; the answer is measured in ``lane``, too."""
        alternating = self.view.conversation.without_open_question()
        if alternating != self.view.conversation:
            self._turns(alternating)
        asked = alternating.with_message("user", text, at=time.time())
        self.transcript.say(self.transcript.turn(asked.messages[-1]))
        self._answer(asked, lane)

    def ask_again(self, text: str | None = None, lane: Lane | None = None) -> None:
        """Send the last question again, unchanged or edited; the old turn is kept as a version."""
        again = self.view.conversation.asked_again(text)
        self._turns(again)
        self._answer(again, lane)

    def choose(self, by: int) -> bool:
        """Select the previous (-1) or next (1) version of the last turn; return whether it exists."""
        versions, now = self.view.conversation.versions()
        if not 0 <= now + by < len(versions):
            return False
        chosen = self.view.conversation.chosen(now + by)
        self.view = replace(self.view, conversation=chosen, stats=chosen.messages[-1].stats, stopped=False, error=None)
        self._turns(chosen)
        return True

    # Actions of the model

    @work(exclusive=True, group="answer")
    async def _answer(self, conversation: Conversation, lane: Lane | None) -> None:
        """Stream the answer to ``conversation``."""
        live, lane = Live(), lane or Lane()
        lane.start(self._clock(), conversation)
        self.view = ChatView(conversation, self.view.served, busy="answering", live=live, questions=False)
        turn = self.transcript.say(Turn("assistant", grows=True, model=self.transcript.naming(self.endpoint.title)))
        self._looks = self.set_interval(LOOK_S, lambda: self._look(live))
        stats: Stats | None = None
        error: WizardError | None = None
        self.logprobs, self.weighed = [], conversation.sampling.logprobs is not None
        try:
            async with aclosing(self._send(conversation)) as chunks:
                async for chunk in chunks:
                    live = self._take(chunk, turn, live)
                    lane.take(chunk, self._clock())
                    stats = chunk.stats or stats
                    if chunk.note:
                        self.view = replace(self.view, note=chunk.note)
        except WizardError as failed:
            error = failed
        finally:
            lane.end(self._clock(), stats, error.code if error else "")
            # Esc cancels this task: the cleanup runs in a task of the widget.
            self.call_later(self._answered, turn, stats, error)

    def _take(self, chunk: Chunk, turn: Turn, live: Live) -> Live:
        """Show a piece with the next frame."""
        if chunk.called:
            turn.call(chunk.called)
            self.transcript.grown()
            live = replace(live, first=None, before=live.tokens or live.pieces or 0)
        arrived = bool(chunk.text or chunk.thought)
        if arrived or chunk.recast:
            turn.add(chunk.text, chunk.thought, recast=chunk.recast)
            self.transcript.grown()
        self.logprobs += chunk.logprobs
        self.request = chunk.request or self.request
        first = self._clock() if live.first is None and arrived else live.first
        tokens, pieces = chunk.tokens or live.tokens, chunk.pieces or live.pieces
        return replace(live, first=first, tokens=tokens, ttft_s=chunk.ttft_s, pieces=pieces)

    def _look(self, live: Live) -> None:
        self.view = replace(self.view, live=replace(live, now=self._clock()))

    def _answered(self, turn: Turn, stats: Stats | None, error: WizardError | None) -> None:
        if self._looks is not None:
            self._looks.stop()
        turn.finish(stats)
        view = self.view
        conversation = self._with_answer(view.conversation, turn, stats)
        if conversation is view.conversation:
            self.transcript.drop(turn)
        else:
            turn.message = conversation.messages[-1]
            self.transcript.complete()
        self.view = replace(
            view,
            conversation=conversation,
            busy="" if view.busy == "answering" else view.busy,
            live=None,
            stats=stats,
            stopped=stats is None and error is None,
            error=error,
        )

    def watch_view(self, old: ChatView, view: ChatView) -> None:
        """Show the state, and notify the screen."""
        if not self.is_mounted:
            return
        if replace(old, live=view.live) == view and old != view:
            self.query_one(Figures).show(figures(view))
            return  # a token arrived: nothing else changed
        self._show()
        self.post_message(self.Changed(self, old, view))

    def _show(self) -> None:
        self.query_one(Figures).show(figures(self.view, beside=self.id == "second", restarts=self.restarts))
        self.query_one(ErrorPanel).show(self.view.error)
        self.set_class(self.view.error is not None, "-failed")

    def _with_answer(self, conversation: Conversation, turn: Turn, stats: Stats | None) -> Conversation:
        """``conversation`` with the answer in ``turn``, if it has text, a thought or calls."""
        text, thought, calls = plain(turn.text), plain(turn.thought.text).strip(), ended(turn.calls.all)
        if not (text or thought or calls):
            return conversation
        return conversation.with_message(
            "assistant", text, stats=stats, at=time.time(), thought=thought, model=self.endpoint.title, calls=calls
        )
