"""Stream and measure the answer to a conversation; handles the protocol and the length of the history."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from wizard.chat import images
from wizard.chat.ask import Ask, Piece, PromptTooLong, too_long
from wizard.chat.chunk import Chunk
from wizard.chat.client import ask_of, client_of, exchange_of, pieces, tokenizer_of
from wizard.chat.conversation import Conversation, Stats
from wizard.chat.exchange import Exchange
from wizard.chat.image_references import references
from wizard.chat.meter import Meter
from wizard.chat.rendering import render
from wizard.chat.served import ANSWER, ServedModel
from wizard.chat.snippet import Request, triton_request
from wizard.chat.thinking import Split, Splitter
from wizard.chat.thinking_modes import variables
from wizard.chat.tokens import Tokenizer
from wizard.chat.wire import OPENAI
from wizard.kernel.errors import UsageError
from wizard.kernel.language import ntr, tr
from wizard.serve.endpoint import Endpoint


async def answer(
    endpoint: Endpoint,
    conversation: Conversation,
    *,
    protocol: str = "grpc",
    served: ServedModel | None = None,
    tools: Sequence[Mapping[str, Any]] = (),
) -> AsyncGenerator[Chunk, None]:
    """Stream the answer to the conversation's last message.

    Closing the iterator (``contextlib.aclosing``) or cancelling its task cancels the request in the server. The oldest
    turns are dropped if the history does not fit; a chunk with a ``note`` reports it.

    Args:
        endpoint: Where the model is served.
        conversation: Ends with the user's message, or with an answer that consists of calls so far.
        protocol: ``grpc`` or ``http``.
        served: An earlier result of `described`; called now if None.
        tools: Functions that the model may call, in OpenAI's format, for an OpenAI-compatible server.

    Raises:
        UsageError: TW-C05 the last message alone is too long, TW-C08 a setting is out of its range, TW-C09 unknown
            protocol, TW-C10 there is no question, TW-C13 the model uses token IDs and there is no tokenizer, TW-C32 it
            takes no images, TW-C41 it supports no tools.
        ServerError: TW-C01 … TW-C04, TW-C07, TW-C11, TW-C12, TW-C14, TW-C33, see `wizard.chat.ask`.
        ModelError: TW-C06 the chat template rejects the messages.
    """
    conversation.sampling.check()
    if protocol not in ("grpc", "http"):
        raise UsageError("TW-C09", tr("unknown protocol: {name}", name=repr(protocol)), tr("Use grpc or http."))
    last = conversation.messages[-1:]
    if not last or not (last[0].content.strip() or last[0].calls):
        raise UsageError("TW-C10", tr("no question to answer"), tr("Enter a message first."))
    client = await asyncio.to_thread(client_of, endpoint, served)
    served, tokenizer = client.served, client.tokenizer
    if served.wire.format is not OPENAI and any(references(last[0].content)):
        raise images.unsupported()
    conversation = conversation.to_send()
    kept = _shortened(conversation, served)
    pictures = await asyncio.to_thread(_pictures, kept, served)
    while True:
        ask = replace(await asyncio.to_thread(_ask, kept, served, tokenizer), images=pictures.urls)
        if tools:
            ask = replace(ask, tools=json.dumps({"tools": [*tools]}))
        clock, exchange = _Clock(), exchange_of(ask, served, tokenizer)
        answers = pieces(client, ask, exchange, protocol=protocol, sent=clock.start)
        note = _note(conversation, kept, served, ask, pictures.missing)
        splitter = Splitter(served.formats, None if served.wire.format is OPENAI else ask.prompt)
        chunks = _measured(answers, clock, note, _request(ask, endpoint, exchange), splitter)
        try:
            async with aclosing(chunks):
                async for chunk in chunks:
                    yield chunk
            return
        except PromptTooLong as error:  # it arrives before any text
            shorter = kept.without_oldest_turn()
            if shorter is None:
                raise too_long(str(error)) from error
            kept = shorter


def request(endpoint: Endpoint, conversation: Conversation, served: ServedModel) -> Request:
    """The request for the conversation's last question.

    Raises:
        UsageError: TW-C13 the model uses token IDs and there is no tokenizer.
        ModelError: TW-C06 the chat template rejects the messages.
    """
    tokenizer = tokenizer_of(served)
    kept = _shortened(conversation.to_send(), served)
    ask = replace(_ask(kept, served, tokenizer), images=_pictures(kept, served).urls)
    return _request(ask, endpoint, exchange_of(ask, served, tokenizer))


def _request(ask: Ask, endpoint: Endpoint, exchange: Exchange) -> Request:
    if exchange.wire.format is OPENAI:
        from wizard.chat import openai

        return openai.request(ask, endpoint.http)
    return triton_request(endpoint, ask.model, exchange.tensors())


def _pictures(conversation: Conversation, served: ServedModel) -> images.Images:
    """The images of the conversation; other formats than OpenAI's have none."""
    return images.of(conversation.messages if served.wire.format is OPENAI else ())


def _shortened(conversation: Conversation, served: ServedModel) -> Conversation:
    """Drop the oldest turns until the rest, by a conservative estimate, leaves room for an answer."""
    kept = conversation
    if served.max_seq_len is None or not served.takes_turns:
        return kept
    answer = conversation.sampling.max_tokens or served.answer_limit
    room = served.max_seq_len - min(answer, served.max_seq_len // 4)
    estimate = Meter()
    while estimate.usage(kept).tokens > room and (shorter := kept.without_oldest_turn()):
        kept = shorter
    return kept


def _note(
    conversation: Conversation, kept: Conversation, served: ServedModel, ask: Ask, missing: tuple[str, ...]
) -> str | None:
    first = sum(each.role == "user" for each in conversation.messages) == 1
    notes = [served.note] if served.note and first else []
    if not served.takes_turns:
        notes.append(
            tr("This model has no chat template: it continues your last message and does not see earlier ones.")
        )
    elif dropped := len(conversation.messages) - len(kept.messages):
        notes.append(_left_out(dropped, served.max_seq_len))
    if missing:
        names = ", ".join(missing)
        notes.append(tr("Not sent, because the file was deleted or changed, or cannot be read: {names}", names=names))
    if lacks := [*served.wire.lacks(ask), *_lacking_mode(served, ask)]:
        notes.append(
            ntr(
                "This model does not support {names}; the answer is generated without it.",
                "This model does not support {names}; the answer is generated without them.",
                len(lacks),
                names=", ".join(lacks),
            )
        )
    return "\n".join(notes) or None


def _lacking_mode(served: ServedModel, ask: Ask) -> list[str]:
    """The setting of thinking, if the model's template has no such mode; a server that renders it reports nothing."""
    known = served.wire.format is OPENAI or ask.thinking is None
    never = ask.thinking == "off" and not served.formats  # it does not think
    if known or never or (served.chat and variables(served.chat, ask.thinking)):
        return []
    return [f"thinking {ask.thinking}"]


def _left_out(count: int, context: int | None) -> str:
    if context is None:
        return ntr(
            "The oldest message was dropped: the model's context is full.",
            "The oldest {count} messages were dropped: the model's context is full.",
            count,
            count=count,
        )
    return ntr(
        "The oldest message was dropped: the model's context of {context:,} tokens is full.",
        "The oldest {count} messages were dropped: the model's context of {context:,} tokens is full.",
        count,
        count=count,
        context=context,
    )


def _ask(conversation: Conversation, served: ServedModel, tokenizer: Tokenizer | None) -> Ask:
    prompt = "" if served.wire.format is OPENAI else render(conversation, served)
    ask = ask_of(
        served, tokenizer, prompt, conversation.sampling, conversation.messages, rendered=served.chat is not None
    )
    return _as_its_server_takes_it(ask, conversation, served) if served.wire.format is OPENAI else ask


def _as_its_server_takes_it(ask: Ask, conversation: Conversation, served: ServedModel) -> Ask:
    """With an answer that fits into the context, which servers demand, and their own words for thinking."""
    if served.max_seq_len is not None:
        left = served.max_seq_len - Meter().usage(conversation).tokens
        ask = replace(ask, max_tokens=min(ask.max_tokens, max(left, min(ANSWER, served.max_seq_len // 4))))
    if served.program is None:
        return ask
    off = served.program.thinking_off
    thinking = off if off and ask.thinking == "off" else ask.thinking
    return replace(ask, thinking=thinking, budget=served.program.thinking_budget)


class _Clock:
    """Starts when the request is sent, so that imports and connecting do not count."""

    def __init__(self) -> None:
        self._started = time.perf_counter()

    def start(self) -> None:
        self._started = time.perf_counter()

    def elapsed(self) -> float:
        return time.perf_counter() - self._started


async def _measured(
    pieces: AsyncGenerator[Piece, None], clock: _Clock, note: str | None, sent: Request | None, splitter: Splitter
) -> AsyncGenerator[Chunk, None]:
    times = _Times()
    async with aclosing(pieces):
        async for piece in pieces:
            elapsed = clock.elapsed()
            if note:
                yield Chunk("", note=note)
                note = None
            new = Split(piece.thought) + splitter.feed(piece.text)
            if piece.finish:
                new += splitter.end()
            times.take(piece, new, elapsed)
            yield Chunk(
                new.answer,
                times.stats(piece, elapsed) if piece.finish else None,
                tokens=piece.tokens,
                logprobs=piece.logprobs,
                request=sent,
                ttft_s=times.first,
                thought=new.thought,
                recast=new.recast,
                pieces=times.pieces if piece.tokens is None else None,
                at_s=elapsed,
                calls=piece.calls,
            )
            sent = None


class _Times:
    """When thought and answer arrived; seconds since the request was sent."""

    def __init__(self) -> None:
        self.first: float | None = None
        self.thought: float | None = None  # the last text of the thought
        self.thought_tokens: int | None = None  # before the first text of the answer
        self.thought_pieces = 0  # the same
        self.answer: float | None = None
        self.pieces = 0
        """Those with text."""

    def take(self, piece: Piece, new: Split, elapsed: float) -> None:
        """Note what ``piece`` brings, which arrived at ``elapsed``."""
        if piece.text or piece.thought:
            self.pieces += 1
            if self.first is None:
                self.first = elapsed
        if new.recast:
            self.answer, self.thought = None, elapsed
        if new.thought:
            self.thought = elapsed
        if new.answer and self.answer is None:
            self.answer = elapsed
        if self.answer is None:
            self.thought_tokens, self.thought_pieces = piece.tokens, self.pieces

    def stats(self, piece: Piece, elapsed: float) -> Stats:
        """The measurements at the end."""
        pieces = self.pieces if piece.tokens is None else None
        plain = Stats(piece.tokens, self.first, elapsed, piece.finish, answer_s=self.answer, pieces=pieces)
        if self.thought is None:
            return plain
        thought_s, tokens = self.thought - (self.first or 0.0), piece.thought_tokens or self.thought_tokens
        uncounted = self.thought_pieces if tokens is None else None
        return replace(plain, thought_tokens=tokens, thought_s=thought_s, thought_pieces=uncounted)
