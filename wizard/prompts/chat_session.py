"""The state of a chat: the server, the conversation, and its saved copy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from wizard.chat.conversation import Conversation, TokenLogprob
from wizard.chat.history import History, Kept
from wizard.chat.meter import Meter, meter
from wizard.chat.race import Race
from wizard.chat.served import ServedModel
from wizard.chat.snippet import Request
from wizard.chat.tools.loop import ToolUse
from wizard.flow.others import others
from wizard.kernel.errors import UsageError
from wizard.kernel.paths import Workspace
from wizard.serve.endpoint import Endpoint


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
        history: Saved conversations; None if there are none.
        keeps: Whether this conversation is saved there.
        kept: The last save of this conversation.
        request: The last request.
        logprobs: Log probabilities of the last answer.
        rival: The session with the second model in a comparison, if there is one.
        race: With the last question, if both had it.
        along: Whether the last question of the session whose rival this is was sent here, too.
        tools: The tools that the model may call; None if none are configured.
    """

    endpoint: Endpoint
    conversation: Conversation
    served: Callable[[], ServedModel]
    models: Callable[[], list[Endpoint]]
    other: Callable[[str, str | None], ChatSession]
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
        self.kept, self.conversation = kept, kept.conversation
        self.request, self.logprobs, self.race, self.along = None, [], None, False
        if self.rival is not None:
            self.rival.go_on_with(Kept(Conversation()))


def begin(
    endpoint: Endpoint,
    conversation: Conversation,
    *,
    journey: Any,
    workspace: Workspace | None,
    history: History | None,
    keeps: bool,
) -> ChatSession:
    """Start a session with ``endpoint``; sessions that it starts are saved in the same way.

    Args:
        endpoint: The server.
        conversation: Messages so far and settings.
        journey: `wizard.journey`, or its replacement.
        workspace: The workspace with other servers; the default one if None.
        history: See `ChatSession`.
        keeps: See `ChatSession`.
    """

    def other(name: str, model: str | None) -> ChatSession:
        here = workspace or Workspace.at(None)
        endpoint = journey.at(name, model) if "://" in name else journey.endpoint(here, name)
        return begin(endpoint, Conversation(), journey=journey, workspace=workspace, history=history, keeps=keeps)

    def models() -> list[Endpoint]:
        return others(journey, workspace or Workspace.at(None), talk.endpoint)

    talk = ChatSession(endpoint, conversation, lambda: journey.served(talk.endpoint), models, other, history, keeps)
    return talk


def wanted() -> bool:
    """Whether the user's settings allow saving conversations; not if they are unreadable, because they may forbid
    it.
    """
    from wizard.kernel.settings import load

    try:
        return load().keep_chats
    except UsageError:
        return False
