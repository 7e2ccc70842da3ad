"""The functions that the chat screen may call, as values: it knows neither the facade nor the workspace."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from functools import partial

from wizard.catalog.presets import Preset
from wizard.chat.chunk import Chunk
from wizard.chat.commands.session import ChatSession
from wizard.chat.conversation import Conversation
from wizard.chat.history import History, Kept
from wizard.chat.meter import Meter
from wizard.chat.served import ServedModel
from wizard.chat.tools.loop import ToolUse
from wizard.flow.others import others
from wizard.flow.perform import running
from wizard.flow.port import JourneyPort
from wizard.flow.session import begin
from wizard.flow.voting import Voting
from wizard.kernel.paths import Workspace
from wizard.kernel.program import command
from wizard.serve.endpoint import Endpoint
from wizard.serve.status import Status


@dataclass(frozen=True, slots=True)
class ChatPort:
    """Functions of the chat; all but ``send`` block and are called in threads.

    Attributes:
        send: Stream the answer of a server to a conversation.
        served: A server's description of its model.
        now: A server of the workspace as it is running now; None if it is not running.
        stop: Stop it.
        others: The models that answer besides one, see `wizard.flow.others`.
        at: The server at a URL, and one of its models.
        session: What typed commands read and change, for a conversation with a server.
        chat_command: The shell command for a chat with a server.
        meter: The counter of the context's tokens.
        presets: System prompts with settings.
        history: The saved conversations.
        private: Whether saving is off from the beginning.
        kept: The conversation that is continued, if it is saved.
        clock: Monotonic seconds.
        voting: A blind vote on the answers of two servers.
        tools: The tools that the model may call; None if none are configured.
    """

    send: Callable[[Endpoint, Conversation], AsyncGenerator[Chunk, None]]
    served: Callable[[Endpoint], ServedModel]
    now: Callable[[Endpoint], Endpoint | None]
    stop: Callable[[Endpoint], Status]
    others: Callable[[Endpoint], list[Endpoint]]
    at: Callable[[str, str | None], Endpoint]
    session: Callable[[Endpoint, Conversation], ChatSession]
    chat_command: Callable[[Endpoint], str]
    meter: Callable[[ServedModel], Meter]
    presets: Callable[[], list[Preset]]
    history: History
    voting: Callable[[Endpoint, Endpoint], Voting]
    private: bool = False
    kept: Kept | None = None
    clock: Callable[[], float] = time.monotonic
    tools: ToolUse | None = None

    def renewed(self, known: Endpoint) -> Endpoint | None:
        """The server that was restarted in place of ``known``, possibly with other settings."""
        there = self.now(known)
        return there if there is not None and there != known and there.answers_as(known) else None


def calls_of(journey: JourneyPort, workspace: Workspace, tools: ToolUse | None = None) -> ChatPort:
    """The functions of ``journey`` for a chat with ``tools``."""
    history = journey.history(workspace)
    return ChatPort(
        send=partial(journey.chat_with_tools, use=tools) if tools else journey.chat,
        tools=tools,
        served=journey.served,
        now=lambda endpoint: None if endpoint.url else running(journey, workspace, endpoint.name),
        stop=lambda endpoint: journey.stop(workspace, endpoint.name),
        others=partial(others, journey, workspace),
        at=journey.at,
        session=partial(begin, journey=journey, workspace=workspace, history=history, keeps=False),
        chat_command=lambda other: command("chat", *_named(other), workspace=workspace),
        meter=journey.meter,
        presets=journey.presets,
        history=history,
        voting=partial(Voting, journey, workspace),
    )


def _named(endpoint: Endpoint) -> tuple[str, ...]:
    return (endpoint.name,) if endpoint.url is None else ("--url", endpoint.url, "--model", endpoint.model)
