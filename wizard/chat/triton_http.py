"""Stream an answer over Triton's HTTP endpoint ``generate_stream`` (server-sent events, without a final ``[DONE]``).

Closing the connection cancels the request, but Triton does not read the connection before it has sent the first
response (measured, 2.51.0): a request that is waiting or processing its prompt ends with its first token. Over gRPC it
ends at once.

Triton's HTTP front end loses the end of a stream when a few hundred responses wait for its thread: ``http_server.cc``
ignores the return value of ``evthr_defer`` (measured on two busy cores with 2000 responses at 10,000 a second: up to
half of the streams; over gRPC none). An answer without its end is therefore an error here, never treated as complete,
if the model reports finish reasons.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any
from urllib.parse import quote

from wizard.chat.ask import Ask, Piece, connection_errors, lost, not_triton, server_error
from wizard.chat.exchange import Exchange
from wizard.kernel import http
from wizard.kernel.language import tr


async def stream(
    ask: Ask, url: str, sent: Callable[[], object] = lambda: None, exchange: Exchange | None = None
) -> AsyncGenerator[Piece, None]:
    """Send ``ask`` to ``url`` (``http://host:port``) and yield the answer's pieces; closing it cancels the request.

    ``sent`` is called when the connection is open and the request is sent. Without an ``exchange`` the model is one of
    the wizard's own.

    Raises:
        PromptTooLong: The prompt does not fit.
        ServerError: TW-C01 … TW-C04, TW-C07, TW-C11, TW-C33, see `wizard.chat.ask`.
    """
    exchange = exchange or Exchange(ask)
    body = json.dumps({tensor.name: _value(tensor.values, tensor.single) for tensor in exchange.tensors()}).encode()
    path = f"{url}/v2/models/{quote(ask.model, safe='')}/generate_stream"
    with connection_errors(url, not_triton):
        async with aclosing(http.post_lines(path, body, sent=sent)) as answer:
            async for _, line in answer:
                # An event is a line that begins with "data: "; an error before the first event is a bare JSON object.
                if line.strip() and (piece := _piece(line.removeprefix(b"data:"), ask, exchange, url)):
                    yield piece
                if exchange.cut:
                    break
    if piece := exchange.end():
        yield piece
    if not exchange.over:
        raise lost(url, tr("the stream ended too early; gRPC is more reliable on a busy machine"))


def _value(values: tuple[Any, ...], single: bool) -> Any:
    return values[0] if single else list(values)


def _piece(data: bytes, ask: Ask, exchange: Exchange, url: str) -> Piece | None:
    try:
        event = json.loads(data)
        if "error" not in event:
            return exchange.take({name: each if isinstance(each, list) else [each] for name, each in event.items()})
        text = str(event["error"])
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise not_triton(url, repr(error)) from error
    raise server_error(text, ask.model)
