"""Stage 7: chats with a model that is served, here or elsewhere."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from wizard.workshop.progress import followed

if TYPE_CHECKING:
    from wizard.catalog.presets import Preset
    from wizard.chat.chunk import Chunk
    from wizard.chat.conversation import Conversation
    from wizard.chat.history import History
    from wizard.chat.meter import Meter
    from wizard.chat.nearby import Nearby
    from wizard.chat.served import ServedModel
    from wizard.chat.snippet import Request
    from wizard.chat.tools.loop import ToolUse
    from wizard.kernel.paths import Workspace
    from wizard.serve.endpoint import Endpoint


def chat(endpoint: Endpoint, conversation: Conversation, *, protocol: str = "grpc") -> AsyncGenerator[Chunk, None]:
    """Stage 7. Stream the answer to the conversation's last message. Closing the generator cancels it in the server."""
    from wizard.chat.stream import answer

    return followed("chat", answer(endpoint, conversation, protocol=protocol))


def tools(
    workspace: Workspace, file: Path | None = None, *, allowed: Iterable[str] = (), asks: bool = True
) -> ToolUse | None:
    """The tools of the MCP servers in ``file``, or in the user's configuration; None if there is none. Starts nothing.

    Args:
        workspace: It has the file with what the user decided about tools.
        file: Instead of the user's configuration.
        allowed: Tools that may be called without a question (``SERVER/TOOL``).
        asks: Whether there is a user to ask about the others, which cannot be called otherwise.

    Raises:
        UsageError: TW-C40 if the file is not a configuration, TW-C30 if the package ``mcp`` is not installed.
    """
    from wizard.chat.tools import config, mcp_client
    from wizard.chat.tools.consent import Consent
    from wizard.chat.tools.loop import ToolUse
    from wizard.chat.tools.toolbox import Toolbox

    if file is None and not config.path().exists():
        return None
    servers = config.load(file or config.path())
    if not servers.servers and not servers.problems:
        return None
    mcp_client.check()
    return ToolUse(Toolbox(servers), Consent(workspace.tools, frozenset(allowed), asks))


def tools_file() -> Path:
    """The user's configuration of MCP servers."""
    from wizard.chat.tools.config import path

    return path()


def chat_with_tools(
    endpoint: Endpoint, conversation: Conversation, use: ToolUse, *, protocol: str = "grpc"
) -> AsyncGenerator[Chunk, None]:
    """Stage 7 with tools: like `chat`, with the calls before the answer, each after the user's consent."""
    from wizard.chat.tools.answer import answer

    return followed("chat", answer(endpoint, conversation, use, protocol=protocol))


def served(endpoint: Endpoint) -> ServedModel:
    """The served model's description: supported questions, context, settings (≤ 5 s)."""
    from wizard.chat.client import described

    return described(endpoint)


def history(workspace: Workspace) -> History:
    """The workspace's saved conversations; creates no file before one is saved."""
    from wizard.chat.history import History

    return History.of(workspace)


def presets() -> list[Preset]:
    """Presets (system prompts with settings), the user's first; `wizard.catalog.presets` saves and removes them."""
    from wizard.catalog.presets import presets as read

    return read()


def meter(served: ServedModel) -> Meter:
    """Counts how much of the model's context a conversation uses (reading a tokenizer: ≤ 1 s)."""
    from wizard.chat.meter import meter as make

    return make(served)


def request(endpoint: Endpoint, conversation: Conversation, served: ServedModel) -> Request:
    """The request for the conversation's last question; `wizard.chat.snippet` turns it into commands."""
    from wizard.chat.stream import request as make

    return make(endpoint, conversation, served)


def at(url: str, model: str | None = None) -> Endpoint:
    """The endpoint of a model on a server that runs elsewhere, OpenAI-compatible or another Triton (≤ 5 s a request);
    it is not stored.

    Raises:
        UsageError, ServerError: See `wizard.chat.openai.at`.
    """
    from wizard.chat.nearby import at as find

    return find(url, model)


def models(url: str) -> list[Endpoint]:
    """All models of the server at ``url`` (≤ 5 s a request).

    Raises:
        UsageError, ServerError: See `wizard.chat.openai.endpoints`.
    """
    from wizard.chat.nearby import endpoints

    return endpoints(url)


def nearby(known: Iterable[Endpoint] = ()) -> list[Nearby]:
    """Servers of other programs on this machine's usual ports, besides the ``known`` ones (≤ 0.5 s)."""
    from wizard.chat.nearby import nearby as look

    return look(known)
