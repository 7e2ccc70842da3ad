"""The answer to a conversation, streamed and measured; the protocol and the length of the history are minded here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial

from wizard.chat.ask import Ask, Piece, PromptTooLong, model_ended, too_long
from wizard.chat.conversation import Chunk, Conversation, Stats
from wizard.chat.template import ServedModel, render, served_model
from wizard.chat.watch import watched
from wizard.kernel import proctable
from wizard.kernel.errors import UsageError
from wizard.serve import find
from wizard.serve.endpoint import Endpoint

BYTES_PER_TOKEN = 3
"""Text in common tokenizers has about four bytes for each token; fewer is careful."""
TURN_TOKENS = 8
"""Role names and turn marks around a message."""


async def answer(
    endpoint: Endpoint, conversation: Conversation, *, protocol: str = "grpc", served: ServedModel | None = None
) -> AsyncGenerator[Chunk, None]:
    """Stream the answer to the conversation's last message.

    Closing the iterator (``contextlib.aclosing``) or cancelling its task cancels the request in the server. The oldest
    turns are left out when the history does not fit; a chunk with a ``note`` says so.

    Args:
        endpoint: Where the model is served.
        conversation: Ends with the user's message.
        protocol: ``grpc`` or ``http``.
        served: What `served_model` said earlier; asked now if None.

    Raises:
        UsageError: TW-C05 the last message alone is too long, TW-C08 a setting is out of its range, TW-C09 no such
            protocol, TW-C10 nothing was asked.
        ServerError: TW-C01 … TW-C04, TW-C07, TW-C11, see `wizard.chat.ask`.
        ModelError: TW-C06 the chat template refuses the messages.
    """
    conversation.sampling.check()
    if protocol not in ("grpc", "http"):
        raise UsageError("TW-C09", f"there is no protocol {protocol!r}", "Use grpc or http.")
    if not conversation.messages or not conversation.messages[-1].content.strip():
        raise UsageError("TW-C10", "there is no question to answer", "Say something first.")
    if served is None:
        served = await asyncio.to_thread(served_model, endpoint.http, endpoint.model)
    process = await asyncio.to_thread(find.model_process, endpoint)
    kept = _shortened(conversation, served)
    while True:
        ask = await asyncio.to_thread(_ask, kept, served)
        clock = _Clock()
        pieces = _stream(ask, endpoint, protocol, clock)
        if process:  # without one there is nothing to look at, and Triton itself refuses the request
            pieces = watched(pieces, partial(proctable.alive, process), partial(model_ended, served.name))
        chunks = _measured(pieces, clock, _note(conversation, kept, served))
        try:
            async with aclosing(chunks):
                async for chunk in chunks:
                    yield chunk
            return
        except PromptTooLong as error:  # it comes before any text does
            shorter = kept.without_oldest_turn()
            if shorter is None:
                raise too_long(str(error)) from error
            kept = shorter


def _shortened(conversation: Conversation, served: ServedModel) -> Conversation:
    """Leave out the oldest turns until the rest, by a careful guess, has room for an answer."""
    room = served.max_seq_len - min(conversation.sampling.max_tokens, served.max_seq_len // 4)
    kept = conversation
    while served.chat and _guess(kept) > room and (shorter := kept.without_oldest_turn()):
        kept = shorter
    return kept


def _guess(conversation: Conversation) -> int:
    return sum(len(each.content.encode()) // BYTES_PER_TOKEN + TURN_TOKENS for each in conversation.messages)


def _note(conversation: Conversation, kept: Conversation, served: ServedModel) -> str | None:
    if served.chat is None:
        return "This model has no chat template: it continues your last message and knows nothing of the earlier ones."
    dropped = len(conversation.messages) - len(kept.messages)
    if not dropped:
        return None
    return f"The oldest {dropped} messages were left out: the model's context of {served.max_seq_len:,} tokens is full."


def _ask(conversation: Conversation, served: ServedModel) -> Ask:
    sampling = conversation.sampling
    return Ask(
        model=served.name,
        prompt=render(conversation, served).encode(errors="replace").decode(),  # a terminal may give lone surrogates
        max_tokens=min(sampling.max_tokens, served.max_seq_len),
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        seed=sampling.seed,
    )


class _Clock:
    """Runs from the moment when the request goes out, so that imports and connecting count for nobody."""

    def __init__(self) -> None:
        self._started = time.perf_counter()

    def start(self) -> None:
        self._started = time.perf_counter()

    def elapsed(self) -> float:
        return time.perf_counter() - self._started


def _stream(ask: Ask, endpoint: Endpoint, protocol: str, clock: _Clock) -> AsyncGenerator[Piece, None]:
    if protocol == "http":
        from wizard.chat import triton_http

        return triton_http.stream(ask, endpoint.http, clock.start)
    from wizard.chat import triton_grpc

    return triton_grpc.stream(ask, endpoint.grpc, clock.start)


async def _measured(
    pieces: AsyncGenerator[Piece, None], clock: _Clock, note: str | None
) -> AsyncGenerator[Chunk, None]:
    first: float | None = None
    async with aclosing(pieces):
        async for piece in pieces:
            elapsed = clock.elapsed()
            if note:
                yield Chunk("", note=note)
                note = None
            if piece.text and first is None:
                first = elapsed
            stats = Stats(piece.tokens, first, elapsed, piece.finish) if piece.finish else None
            yield Chunk(piece.text, stats, tokens=piece.tokens)
