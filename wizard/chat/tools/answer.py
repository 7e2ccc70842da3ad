"""The answer of any served model, with tools if it can use them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from wizard.chat import openai, stream
from wizard.chat.ask import NO_TOOLS
from wizard.chat.chunk import Chunk
from wizard.chat.conversation import Conversation
from wizard.chat.tools import loop
from wizard.chat.tools.loop import ToolUse
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.serve.endpoint import Endpoint


async def answer(
    endpoint: Endpoint, conversation: Conversation, use: ToolUse, *, protocol: str = "grpc"
) -> AsyncGenerator[Chunk, None]:
    """Stream the answer to the conversation's last message, as `wizard.chat.stream.answer`; without tools if there are
    none, or the model cannot use them, which a chunk with a ``note`` reports once.

    A server of the workspace is asked at its OpenAI-compatible address, because only there the engine reads the calls.

    Raises:
        UsageError: TW-C42 a tool that may be called is unknown.
        WizardError: See `wizard.chat.stream.answer`.
    """
    there = address(endpoint)
    model = (endpoint.http, endpoint.model)
    if not use.off and model not in use.refused:
        if there is None:
            use.refused.add(model)
            yield Chunk("", note=tr("Tools need the OpenAI-compatible address, which does not run; `up` starts it."))
        else:
            offer = await use.offer()
            if offer.problems:
                yield Chunk("", note="\n".join(offer.problems))
            try:
                if offer.tools:
                    async with aclosing(_with_tools(there, conversation, offer.tools, use)) as chunks:
                        async for chunk in chunks:
                            yield chunk
                    return
            except UsageError as error:
                if error.code != NO_TOOLS:
                    raise
                use.refused.add(model)
                yield Chunk("", note=tr("Without tools: {why}.", why=error.what))
    async with aclosing(stream.answer(endpoint, conversation, protocol=protocol)) as chunks:
        async for chunk in chunks:
            yield chunk


def _with_tools(
    endpoint: Endpoint, conversation: Conversation, tools: Sequence[Any], use: ToolUse
) -> AsyncGenerator[Chunk, None]:
    def send(so_far: Conversation, functions: Sequence[Mapping[str, Any]]) -> AsyncGenerator[Chunk, None]:
        return stream.answer(endpoint, so_far, tools=functions)

    return loop.answer(send, conversation, tools, use)


def address(endpoint: Endpoint) -> Endpoint | None:
    """Where tools can be used with the model at ``endpoint``; None if nowhere."""
    if endpoint.protocol == "openai":
        return endpoint
    if endpoint.openai is None:
        return None
    return replace(openai.elsewhere(endpoint.openai, endpoint.name), openai_key=endpoint.openai_key)
