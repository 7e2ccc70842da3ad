"""Stream an answer over Triton's HTTP endpoint ``generate_stream`` (server-sent events, without a final ``[DONE]``).

Hanging up cancels the request, but Triton reads nothing from the connection before it has sent the first response
(measured, 2.51.0): a request that still waits or reads its prompt ends with its first token. Over gRPC it ends at once.

Triton's HTTP front end loses the end of a stream when a few hundred responses wait for its thread: ``http_server.cc``
never looks at what ``evthr_defer`` returns (measured on two busy cores with 2000 responses at 10,000 a second: up to
half of the streams; over gRPC none). An answer without its end is therefore an error here, never taken for a whole one.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Callable
from typing import Any
from urllib.parse import quote, urlsplit

from wizard.chat.ask import Ask, Piece, lost, not_triton, server_said, unreachable

CONNECT_S = 5.0


async def stream(ask: Ask, url: str, sent: Callable[[], object] = lambda: None) -> AsyncGenerator[Piece, None]:
    """Send ``ask`` to ``url`` (``http://host:port``) and yield the answer's pieces; closing it cancels the request.

    ``sent`` is called when everything is connected and the request goes out.

    Raises:
        PromptTooLong: The prompt does not fit.
        ServerError: TW-C01 … TW-C04, TW-C07, TW-C11, see `wizard.chat.ask`.
    """
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or 8000
    try:
        reader, writer = await asyncio.wait_for(asyncio.open_connection(host, port), CONNECT_S)
    except (OSError, asyncio.TimeoutError) as error:
        raise unreachable(url, error or "no answer") from error
    finished = False
    try:
        sent()
        writer.write(_request(ask, parts.netloc))
        await writer.drain()
        async for line in _lines(reader):
            # An event is one line with "data: " before it; an error before the first event is a bare JSON object.
            if line.strip():
                piece = _piece(line.removeprefix(b"data:"), ask, url)
                finished = bool(piece.finish)
                yield piece
    except (OSError, asyncio.IncompleteReadError) as error:
        raise lost(url, error) from error
    except (ValueError, asyncio.LimitOverrunError) as error:
        raise not_triton(url, error) from error
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
    if not finished:
        raise lost(url, "the stream ended early; gRPC is safer on a busy machine")


def _request(ask: Ask, netloc: str) -> bytes:
    values: dict[str, Any] = {
        "text_input": ask.prompt,
        "apply_chat_template": False,
        "max_tokens": ask.max_tokens,
        "top_p": ask.top_p,
    }
    if ask.temperature is not None:
        values["temperature"] = ask.temperature
    if ask.seed is not None:
        values["random_seed"] = ask.seed
    body = json.dumps(values).encode()
    head = (
        f"POST /v2/models/{quote(ask.model, safe='')}/generate_stream HTTP/1.1\r\nHost: {netloc}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode("ascii") + body


def _piece(data: bytes, ask: Ask, url: str) -> Piece:
    try:
        said = json.loads(data)
        if "error" not in said:
            return Piece(str(said["text_output"]), int(said["completion_tokens"]), str(said["finish_reason"]))
        text = str(said["error"])
    except (ValueError, KeyError, TypeError) as error:
        raise not_triton(url, repr(error)) from error
    raise server_said(text, ask.model)


async def _lines(reader: asyncio.StreamReader) -> AsyncGenerator[bytes, None]:
    """Lines of the response's body, whether it comes in chunks or in one piece (RFC 9112, sections 6 and 7)."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    if not head.startswith(b"http/"):
        raise ValueError(f"it says {head[:40]!r}")
    if b"\r\ntransfer-encoding: chunked" not in head:
        for line in (await reader.read(-1)).splitlines():
            yield line
        return
    rest = b""
    while size := int(await reader.readline() or b"0", 16):
        rest += (await reader.readexactly(size + 2))[:-2]
        *lines, rest = rest.split(b"\n")
        for line in lines:
            yield line
