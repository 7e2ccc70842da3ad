"""A chat that goes on: with whom, what was said, and what is kept of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from wizard.chat.conversation import Conversation, TokenLogprob
from wizard.chat.history import History, Kept
from wizard.chat.meter import Meter
from wizard.chat.served import ServedModel
from wizard.chat.snippet import Request
from wizard.kernel.errors import UsageError
from wizard.kernel.paths import Workspace
from wizard.serve.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command leads to.

    Attributes:
        text: To show.
        data: For standard output, as it is.
        ask: A question to ask.
        open: The question is in the conversation already, open.
        edit: A question to change and ask.
        raw: To write to the terminal as it is: an escape sequence of the wizard's own.
        end: The chat ends.
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
    """What the commands see and change.

    Attributes:
        served: Asks the server what it serves (≤ 5 s).
        other: Begins a talk with another server of the workspace, by its name, or with a model of one at a URL.
        history: Conversations that are kept; None where there are none.
        keeps: This one is kept there, too.
        kept: What was kept last of this conversation.
        request: The last one that was sent.
        logprobs: Of the last answer.
        rival: With the model that is asked the same, if there is one.
        along: What was last asked of the one that this is the rival of was asked here, too.
    """

    endpoint: Endpoint
    conversation: Conversation
    served: Callable[[], ServedModel]
    other: Callable[[str, str | None], ChatSession]
    history: History | None = None
    keeps: bool = False
    kept: Kept = field(default_factory=lambda: Kept(Conversation()))
    request: Request | None = None
    logprobs: list[TokenLogprob] = field(default_factory=list)
    meter: Meter | None = None
    rival: ChatSession | None = None
    along: bool = False

    def keep(self) -> None:
        """Keep the conversation as it is now, if conversations are kept.

        Raises:
            WorkspaceError: TW-C20 … TW-C22; from then on nothing is kept.
        """
        if self.history is None or not self.keeps or not self.conversation.title:
            return
        self.keeps = False  # until it was possible
        now = replace(self.kept, conversation=self.conversation, model=self.endpoint.model, endpoint=self.endpoint.name)
        self.kept = self.history.save(now)
        self.keeps = True

    def moved(self) -> bool:
        """Whether the server was started again elsewhere; it is asked there from now on.

        Raises:
            UsageError: TW-S09 if the workspace has it no more.
            ServerError: TW-S02, with the command that starts it, if it does not run.
        """
        before = self.endpoint
        if before.url is not None:
            return False
        now = replace(self.other(before.name, None).endpoint, model=before.model, folder=before.folder)
        if now.answers_as(before):
            return False
        self.endpoint, self.meter = now, None
        return True

    def go_on_with(self, kept: Kept) -> None:
        """Another conversation from here on; the rival begins anew."""
        self.kept, self.conversation = kept, kept.conversation
        self.request, self.logprobs, self.along = None, [], False
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
    """A talk with ``endpoint``; those that it begins with others are kept as it is.

    Args:
        endpoint: The server.
        conversation: Messages so far and settings.
        journey: `wizard.journey`, or what is used instead.
        workspace: Whose servers can be talked with by their names; the usual one if None.
        history: See `ChatSession`.
        keeps: See `ChatSession`.
    """

    def other(name: str, model: str | None) -> ChatSession:
        here = workspace or Workspace.at(None)
        endpoint = journey.at(name, model) if "://" in name else journey.endpoint(here, name)
        return begin(endpoint, Conversation(), journey=journey, workspace=workspace, history=history, keeps=keeps)

    talk = ChatSession(endpoint, conversation, lambda: journey.served(talk.endpoint), other, history, keeps)
    return talk


def wanted() -> bool:
    """Whether the user's settings let conversations be kept; not while they cannot be read, for they may forbid it."""
    from wizard.kernel.settings import load

    try:
        return load().keep_chats
    except UsageError:
        return False
