"""Stream and measure the answer to a conversation; handles the protocol and the length of the history."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from pathlib import Path

from wizard.chat.ask import Ask, Piece, PromptTooLong, model_ended, no_tokenizer, too_long
from wizard.chat.chunk import Chunk
from wizard.chat.conversation import Conversation, Stats
from wizard.chat.exchange import Exchange
from wizard.chat.meter import Meter
from wizard.chat.rendering import render
from wizard.chat.served import ServedModel, served_model
from wizard.chat.snippet import Request, triton_request
from wizard.chat.tokens import Tokenizer
from wizard.chat.watch import watched
from wizard.chat.wire import OPENAI, WIZARD
from wizard.kernel import proctable
from wizard.kernel.errors import UsageError
from wizard.kernel.language import ntr, tr
from wizard.model.special_tokens import pattern
from wizard.serve import find
from wizard.serve.endpoint import Endpoint


def described(endpoint: Endpoint) -> ServedModel:
    """The server's description of the model in ``endpoint``; blocks for a few requests of up to 5 s each.

    Raises:
        WizardError: See `wizard.chat.served.served_model` and `wizard.chat.openai.served_model`.
    """
    if endpoint.protocol == "openai":
        from wizard.chat import openai

        return openai.served_model(endpoint.http, endpoint.model)
    return served_model(endpoint.http, endpoint.model, endpoint.folder)


async def answer(
    endpoint: Endpoint, conversation: Conversation, *, protocol: str = "grpc", served: ServedModel | None = None
) -> AsyncGenerator[Chunk, None]:
    """Stream the answer to the conversation's last message.

    Closing the iterator (``contextlib.aclosing``) or cancelling its task cancels the request in the server. The oldest
    turns are dropped if the history does not fit; a chunk with a ``note`` reports it.

    Args:
        endpoint: Where the model is served.
        conversation: Ends with the user's message.
        protocol: ``grpc`` or ``http``.
        served: An earlier result of `described`; called now if None.

    Raises:
        UsageError: TW-C05 the last message alone is too long, TW-C08 a setting is out of its range, TW-C09 unknown
            protocol, TW-C10 there is no question, TW-C13 the model uses token IDs and there is no tokenizer.
        ServerError: TW-C01 … TW-C04, TW-C07, TW-C11, TW-C12, TW-C14, see `wizard.chat.ask`.
        ModelError: TW-C06 the chat template rejects the messages.
    """
    conversation.sampling.check()
    if protocol not in ("grpc", "http"):
        raise UsageError("TW-C09", tr("unknown protocol: {name}", name=repr(protocol)), tr("Use grpc or http."))
    if not conversation.messages or not conversation.messages[-1].content.strip():
        raise UsageError("TW-C10", tr("no question to answer"), tr("Enter a message first."))
    if served is None:
        served = await asyncio.to_thread(described, endpoint)
    process = await asyncio.to_thread(find.model_process, replace(endpoint, model=served.name))
    tokenizer = await asyncio.to_thread(_tokenizer, served)
    kept = _shortened(conversation, served)
    while True:
        ask = await asyncio.to_thread(_ask, kept, served, tokenizer)
        clock, exchange = _Clock(), _exchange(ask, served, tokenizer)
        pieces = _stream(ask, endpoint, protocol, clock, exchange)
        if process:  # without one there is nothing to check, and Triton itself rejects the request
            pieces = watched(pieces, partial(proctable.alive, process), partial(model_ended, served.name))
        chunks = _measured(pieces, clock, _note(conversation, kept, served, ask), _request(ask, endpoint, exchange))
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
    tokenizer = _tokenizer(served)
    ask = _ask(_shortened(conversation, served), served, tokenizer)
    return _request(ask, endpoint, _exchange(ask, served, tokenizer))


def _request(ask: Ask, endpoint: Endpoint, exchange: Exchange) -> Request:
    if exchange.wire.format is OPENAI:
        from wizard.chat import openai

        return openai.request(ask, endpoint.http)
    return triton_request(endpoint, ask.model, exchange.tensors())


def _shortened(conversation: Conversation, served: ServedModel) -> Conversation:
    """Drop the oldest turns until the rest, by a conservative estimate, leaves room for an answer."""
    kept = conversation
    if served.max_seq_len is None or not served.takes_turns:
        return kept
    room = served.max_seq_len - min(conversation.sampling.max_tokens, served.max_seq_len // 4)
    estimate = Meter()
    while estimate.usage(kept).tokens > room and (shorter := kept.without_oldest_turn()):
        kept = shorter
    return kept


def _note(conversation: Conversation, kept: Conversation, served: ServedModel, ask: Ask) -> str | None:
    first = sum(each.role == "user" for each in conversation.messages) == 1
    notes = [served.note] if served.note and first else []
    if not served.takes_turns:
        notes.append(
            tr("This model has no chat template: it continues your last message and does not see earlier ones.")
        )
    elif dropped := len(conversation.messages) - len(kept.messages):
        notes.append(_left_out(dropped, served.max_seq_len))
    if lacks := served.wire.lacks(ask):
        notes.append(
            ntr(
                "This model does not support {names}; the answer is generated without it.",
                "This model does not support {names}; the answer is generated without them.",
                len(lacks),
                names=", ".join(lacks),
            )
        )
    return "\n".join(notes) or None


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


def _tokenizer(served: ServedModel) -> Tokenizer | None:
    if served.folder is None or not (Path(served.folder) / "tokenizer.json").is_file():
        if served.wire.format.ids:
            raise no_tokenizer(served.name, tr("no tokenizer.json in {folder}", folder=served.folder))
        return None
    return Tokenizer(served.folder, served.name)


def _ask(conversation: Conversation, served: ServedModel, tokenizer: Tokenizer | None) -> Ask:
    sampling = conversation.sampling
    rendered = "" if served.wire.format is OPENAI else render(conversation, served)
    prompt = rendered.encode(errors="replace").decode()  # terminal input may contain lone surrogates
    ids: tuple[int, ...] = ()
    if served.wire.format.ids and tokenizer:
        ids = tuple(tokenizer.encode(prompt, begin=served.chat is None))
    elif served.chat and served.wire.format.begins:
        prompt = _without_begin(prompt, served.chat.bos_token or "", tokenizer)
    return Ask(
        model=served.name,
        prompt=prompt,
        max_tokens=min(sampling.max_tokens, served.max_seq_len or sampling.max_tokens),
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        seed=sampling.seed,
        # The wizard's own models know their stop strings.
        stop=(*(served.chat.stop if served.chat and served.wire.format is not WIZARD else ()), *sampling.stop),
        ids=ids,
        messages=conversation.messages,
        top_k=sampling.top_k,
        min_p=sampling.min_p,
        repetition_penalty=sampling.repetition_penalty,
        presence_penalty=sampling.presence_penalty,
        frequency_penalty=sampling.frequency_penalty,
        logprobs=sampling.logprobs,
    )


def _without_begin(prompt: str, begin: str, tokenizer: Tokenizer | None) -> str:
    """``prompt`` without the template's begin token, if the server's tokenizer adds it again.

    If that is unknown: a begin token that occurs once is one that tokenizers add (Llama, Mistral, Gemma); in families
    in which every turn begins with it (SmolLM) they do not.
    """
    adds = tokenizer.adds(begin) if tokenizer else prompt.count(begin) == 1
    return prompt.removeprefix(begin) if begin and adds else prompt


def _exchange(ask: Ask, served: ServedModel, tokenizer: Tokenizer | None) -> Exchange:
    by_ids = tokenizer if served.wire.format.ids else None
    return Exchange(ask, served.wire, by_ids, pattern(served.chat) if served.wire.echoes else "")


class _Clock:
    """Starts when the request is sent, so that imports and connecting do not count."""

    def __init__(self) -> None:
        self._started = time.perf_counter()

    def start(self) -> None:
        self._started = time.perf_counter()

    def elapsed(self) -> float:
        return time.perf_counter() - self._started


def _stream(
    ask: Ask, endpoint: Endpoint, protocol: str, clock: _Clock, exchange: Exchange
) -> AsyncGenerator[Piece, None]:
    if exchange.wire.format is OPENAI:
        from wizard.chat import openai

        return openai.stream(ask, endpoint.http, clock.start)
    if protocol == "http":
        from wizard.chat import triton_http

        return triton_http.stream(ask, endpoint.http, clock.start, exchange)
    from wizard.chat import triton_grpc

    return triton_grpc.stream(ask, endpoint.grpc, clock.start, exchange)


async def _measured(
    pieces: AsyncGenerator[Piece, None], clock: _Clock, note: str | None, sent: Request | None
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
            yield Chunk(piece.text, stats, tokens=piece.tokens, logprobs=piece.logprobs, request=sent, ttft_s=first)
            sent = None
