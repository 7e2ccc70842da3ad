"""A client of one served model: what any number of requests share, and the request itself."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wizard.chat.ask import Ask, Piece, no_tokenizer
from wizard.chat.conversation import Message, Sampling
from wizard.chat.exchange import Exchange
from wizard.chat.life import Life
from wizard.chat.served import ServedModel, served_model
from wizard.chat.tokens import Tokenizer
from wizard.chat.watch import watched
from wizard.chat.wire import OPENAI, WIZARD
from wizard.kernel.language import tr
from wizard.model.special_tokens import pattern
from wizard.serve import find
from wizard.serve.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class Client:
    """What every request to a model needs, found once.

    Attributes:
        endpoint: Where the model is served.
        served: Its description.
        tokenizer: None if the client needs none, or there is none.
        life: Whether its server can still answer; None if that runs elsewhere, so that nothing watches it.
    """

    endpoint: Endpoint
    served: ServedModel
    tokenizer: Tokenizer | None
    life: Life | None


def described(endpoint: Endpoint) -> ServedModel:
    """The server's description of the model in ``endpoint``; blocks for a few requests of up to 5 s each.

    Raises:
        WizardError: See `wizard.chat.served.served_model` and `wizard.chat.openai.served_model`.
    """
    if endpoint.protocol == "openai":
        from wizard.chat import openai

        return openai.served_model(endpoint.http, endpoint.model, endpoint.openai_key)
    return served_model(endpoint.http, endpoint.model, endpoint.folder)


def client_of(endpoint: Endpoint, served: ServedModel | None = None) -> Client:
    """A client of the model at ``endpoint``; blocks. ``served`` is an earlier result of `described`.

    Raises:
        WizardError: See `described`.
        UsageError: TW-C13 the model uses token IDs and there is no tokenizer.
    """
    served = served or described(endpoint)
    here = replace(endpoint, model=served.name)
    life = Life(here, find.model_process(here)) if endpoint.url is None else None
    return Client(endpoint, served, tokenizer_of(served), life)


def tokenizer_of(served: ServedModel) -> Tokenizer | None:
    """The tokenizer in the model's folder, if the client has one.

    Raises:
        UsageError: TW-C13 the model uses token IDs and there is no tokenizer.
    """
    if served.folder is None or not (Path(served.folder) / "tokenizer.json").is_file():
        if served.wire.format.ids:
            raise no_tokenizer(served.name, tr("no tokenizer.json in {folder}", folder=served.folder))
        return None
    return Tokenizer(served.folder, served.name)


def ask_of(
    served: ServedModel,
    tokenizer: Tokenizer | None,
    prompt: str,
    sampling: Sampling,
    messages: tuple[Message, ...] = (),
    *,
    rendered: bool,
) -> Ask:
    """The request for an answer to ``prompt``; ``rendered``: the chat template made it, with its begin token."""
    limit = sampling.max_tokens or served.answer_limit
    prompt = prompt.encode(errors="replace").decode()  # terminal input may contain lone surrogates
    ids: tuple[int, ...] = ()
    if served.wire.format.ids and tokenizer:
        ids = tuple(tokenizer.encode(prompt, begin=not rendered))
    elif served.chat and served.wire.format.begins:
        prompt = _without_begin(prompt, served.chat.bos_token or "", tokenizer)
    return Ask(
        model=served.name,
        prompt=prompt,
        max_tokens=min(limit, served.max_seq_len or limit),
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        seed=sampling.seed,
        # The wizard's own models know their stop strings.
        stop=(*(served.chat.stop if served.chat and served.wire.format is not WIZARD else ()), *sampling.stop),
        ids=ids,
        messages=messages,
        top_k=sampling.top_k,
        min_p=sampling.min_p,
        repetition_penalty=sampling.repetition_penalty,
        presence_penalty=sampling.presence_penalty,
        frequency_penalty=sampling.frequency_penalty,
        logprobs=sampling.logprobs,
        thinking=sampling.thinking,
        special=any(each.special for each in served.formats),
    )


def _without_begin(prompt: str, begin: str, tokenizer: Tokenizer | None) -> str:
    """``prompt`` without the template's begin token, if the server's tokenizer adds it again.

    If that is unknown: a begin token that occurs once is one that tokenizers add (Llama, Mistral, Gemma); in families
    in which every turn begins with it (SmolLM) they do not.
    """
    adds = tokenizer.adds(begin) if tokenizer else prompt.count(begin) == 1
    return prompt.removeprefix(begin) if begin and adds else prompt


def exchange_of(ask: Ask, served: ServedModel, tokenizer: Tokenizer | None) -> Exchange:
    """The exchange for one request."""
    by_ids = tokenizer if served.wire.format.ids else None
    return Exchange(ask, served.wire, by_ids, pattern(served.chat) if served.wire.echoes else "")


def pieces(
    client: Client,
    ask: Ask,
    exchange: Exchange,
    *,
    protocol: str = "grpc",
    sent: Callable[[], object] = lambda: None,
    channel: Any = None,
) -> AsyncGenerator[Piece, None]:
    """Send ``ask`` and yield the answer's pieces; closing the iterator cancels the request in the server.

    Args:
        client: The model's client.
        ask: The request.
        exchange: From `exchange_of`, for this request alone.
        protocol: ``grpc`` or ``http``.
        sent: Called when the request is sent.
        channel: An open gRPC channel (`wizard.chat.triton_grpc.channel`) that many requests share.

    Raises:
        PromptTooLong: The prompt does not fit.
        ServerError: TW-C01 … TW-C04, TW-C07, TW-C11, TW-C12, TW-C14, TW-C33, see `wizard.chat.ask`.
    """
    answer = _stream(client.endpoint, ask, exchange, protocol, sent, channel)
    return watched(answer, client.life.trouble) if client.life else answer


def _stream(
    endpoint: Endpoint, ask: Ask, exchange: Exchange, protocol: str, sent: Callable[[], object], channel: Any
) -> AsyncGenerator[Piece, None]:
    if exchange.wire.format is OPENAI:
        from wizard.chat import openai

        return openai.stream(ask, endpoint.http, sent, endpoint.openai_key)
    if protocol == "http" or endpoint.url is not None:  # whose gRPC port is unknown
        from wizard.chat import triton_http

        return triton_http.stream(ask, endpoint.http, sent, exchange)
    from wizard.chat import triton_grpc

    return triton_grpc.stream(ask, endpoint.grpc, sent, exchange, channel)
