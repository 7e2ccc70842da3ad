"""What commands read and change: the server, the conversation, and its saved copy; and what they answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wizard.chat.conversation import Conversation, TokenLogprob
from wizard.chat.history import History, Kept
from wizard.chat.meter import Meter, meter
from wizard.chat.race import Race
from wizard.chat.served import ServedModel
from wizard.chat.snippet import Request
from wizard.chat.tools.loop import ToolUse
from wizard.kernel.text import table
from wizard.serve.care import Care
from wizard.serve.endpoint import Endpoint


def _finished(work: Coroutine[Any, Any, None]) -> bool:
    asyncio.run(work)
    return True


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a command.

    Attributes:
        text: Text to show.
        data: For standard output, unchanged.
        ask: A question to send.
        open: Whether the question is already in the conversation, unanswered.
        edit: A question to edit and send.
        raw: To write to the terminal unchanged: an escape sequence of the wizard's own.
        end: Whether the chat ends.
    """

    text: str = ""
    data: str = ""
    ask: str | None = None
    open: bool = False
    edit: str | None = None
    raw: str = ""
    end: bool = False


@dataclass(slots=True)
class ChatSession:
    """The state that commands read and change.

    Attributes:
        served: Queries the server for its model (≤ 5 s).
        models: The models that answer besides this one (`wizard.flow.others`).
        other: Starts a session with another server of the workspace, by its name, or with a model at a URL.
        care: What keeps this server running; None if nothing does.
        history: Saved conversations; None if there are none.
        keeps: Whether this conversation is saved there.
        kept: The last save of this conversation.
        request: The last request.
        logprobs: Log probabilities of the last answer.
        rival: The session with the second model in a comparison, if there is one.
        race: With the last question, if both had it.
        along: Whether the last question of the session whose rival this is was sent here, too.
        tools: The tools that the model may call; None if none are configured.
        another: Whether a command has begun or opened another conversation.
        listed: Renders rows as text.
        spoken: Renders the wizard's own text; that of models and users stays as it is.
        wait: Runs asynchronous work to its end; False if the user stopped it.
    """

    endpoint: Endpoint
    conversation: Conversation
    served: Callable[[], ServedModel]
    models: Callable[[], list[Endpoint]]
    other: Callable[[str, str | None], ChatSession]
    care: Callable[[], Care | None] = lambda: None
    history: History | None = None
    keeps: bool = False
    kept: Kept = field(default_factory=lambda: Kept(Conversation()))
    request: Request | None = None
    logprobs: list[TokenLogprob] = field(default_factory=list)
    meter: Meter | None = None
    rival: ChatSession | None = None
    race: Race | None = None
    along: bool = False
    tools: ToolUse | None = None
    another: bool = False
    listed: Callable[[Iterable[Sequence[str]]], str] = table
    spoken: Callable[[str], str] = str
    wait: Callable[[Coroutine[Any, Any, None]], bool] = _finished

    def keep(self) -> None:
        """Save the conversation, if saving is on.

        Raises:
            WorkspaceError: TW-C20 … TW-C22; nothing is saved from then on.
        """
        if self.history is None or not self.keeps or not self.conversation.title:
            return
        self.keeps = False  # until it was possible
        now = replace(self.kept, conversation=self.conversation, model=self.endpoint.model, endpoint=self.endpoint.name)
        self.kept = self.history.save(now)
        self.keeps = True

    def measure(self) -> Meter:
        """The counter of the context's tokens."""
        if self.meter is None:
            self.meter = meter(self.served())
        return self.meter

    def moved(self) -> bool:
        """Whether the server was restarted at another address, which is used from now on.

        Raises:
            UsageError: TW-S09 if it is no longer in the workspace.
            ServerError: TW-S02, with the command that starts it, if it is not running.
        """
        before = self.endpoint
        if before.url is not None:
            return False
        now = replace(self.other(before.name, None).endpoint, model=before.model, folder=before.folder)
        if now.answers_as(before):
            return False
        self.switch(now)
        return True

    def switch(self, endpoint: Endpoint) -> None:
        """The model at ``endpoint`` continues the conversation."""
        self.endpoint, self.meter = endpoint, None

    def go_on_with(self, kept: Kept) -> None:
        """Continue with another conversation; the rival starts over."""
        self.kept, self.conversation, self.another = kept, kept.conversation, True
        self.request, self.logprobs, self.race, self.along = None, [], None, False
        if self.rival is not None:
            self.rival.go_on_with(Kept(Conversation()))
