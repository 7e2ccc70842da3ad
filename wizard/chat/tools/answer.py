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
from wizard.kernel.errors import WizardError
from wizard.kernel.language import tr
from wizard.serve.endpoint import Endpoint

ABSENT = ("TW-C01", "TW-C02", "TW-C14")
"""Errors of an address that does not answer for this server; Triton itself may."""


async def answer(
    endpoint: Endpoint, conversation: Conversation, use: ToolUse, *, protocol: str = "grpc"
) -> AsyncGenerator[Chunk, None]:
    """Stream the answer to the conversation's last message, as `wizard.chat.stream.answer`; without tools if there are
    none, or the model cannot use them, which a chunk with a ``note`` reports once. If the address does not answer, each
    question tries it again.

    A server of the workspace is asked at its OpenAI-compatible address, because only there the engine reads the calls.

    Raises:
        UsageError: TW-C42 a tool that may be called is unknown.
        WizardError: See `wizard.chat.stream.answer`.
    """
    there, model = address(endpoint), (endpoint.http, endpoint.model)
    if not use.off and model not in use.refused:
        if there is None:
            use.refused.add(model)
            yield Chunk("", note=tr("Tools need the OpenAI-compatible address, which does not run; `up` starts it."))
        else:
            begun = False
            try:
                async with aclosing(_with_tools(there, conversation, use)) as chunks:
                    async for chunk in chunks:
                        begun = begun or chunk.note is None
                        yield chunk
            except WizardError as error:
                if begun or not (error.code == NO_TOOLS or (there is not endpoint and error.code in ABSENT)):
                    raise
                if error.code == NO_TOOLS:
                    use.refused.add(model)
                yield Chunk("", note=tr("Without tools: {why}.", why=error.what))
            if begun:
                return
    async with aclosing(stream.answer(endpoint, conversation, protocol=protocol)) as chunks:
        async for chunk in chunks:
            yield chunk


async def _with_tools(endpoint: Endpoint, conversation: Conversation, use: ToolUse) -> AsyncGenerator[Chunk, None]:
    """The answer with tools; only notes if there are none."""
    if names := use.toolbox.unstarted:
        yield Chunk("", note=tr("Starting tool servers: {names}", names=", ".join(names)))
    offer = await use.offer()
    if offer.problems:
        yield Chunk("", note="\n".join(offer.problems))
    if not offer.tools:
        return

    def send(so_far: Conversation, functions: Sequence[Mapping[str, Any]]) -> AsyncGenerator[Chunk, None]:
        return stream.answer(endpoint, so_far, tools=functions)

    async with aclosing(loop.answer(send, conversation, offer.tools, use)) as chunks:
        async for chunk in chunks:
            yield chunk


def address(endpoint: Endpoint) -> Endpoint | None:
    """Where tools can be used with the model at ``endpoint``; None if nowhere."""
    if endpoint.protocol == "openai":
        return endpoint
    if endpoint.openai is None:
        return None
    return replace(openai.elsewhere(endpoint.openai, endpoint.name), openai_key=endpoint.openai_key)
