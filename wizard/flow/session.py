"""What the commands of a chat read and change, with the servers of the workspace."""

from __future__ import annotations

from typing import Any

from wizard.chat.commands.session import ChatSession
from wizard.chat.conversation import Conversation
from wizard.chat.history import History
from wizard.flow.others import others
from wizard.kernel.errors import UsageError
from wizard.kernel.paths import Workspace
from wizard.serve.care import Care
from wizard.serve.endpoint import Endpoint


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

    def care() -> Care | None:
        at = talk.endpoint
        return None if at.url else journey.care(workspace or Workspace.at(None), at.name)

    talk = ChatSession(
        endpoint, conversation, lambda: journey.served(talk.endpoint), models, other, care, history, keeps
    )
    return talk


def keeps_chats() -> bool:
    """Whether the user's settings allow saving conversations; not if they are unreadable, because they may forbid
    it.
    """
    from wizard.kernel.settings import load

    try:
        return load().keep_chats
    except UsageError:
        return False
