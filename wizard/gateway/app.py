"""The application: routes, the guard against web pages of strangers, and how a request is read and answered."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wizard.chat import triton_grpc
from wizard.chat.ask import Ask, Piece, PromptTooLong
from wizard.chat.client import Client, client_of, exchange_of, pieces
from wizard.gateway import bodies, requests
from wizard.gateway.answers import Answer, event
from wizard.gateway.choices import merged
from wizard.gateway.faults import Fault, fault
from wizard.gateway.reasoning import split, splitter_of
from wizard.gateway.tools import called
from wizard.kernel.errors import WizardError
from wizard.serve import health
from wizard.serve.endpoint import Endpoint

LOG = logging.getLogger("wizard.gateway")
LARGEST_BODY = 16 * 2**20
"""Bytes: a prompt of a million tokens has about 4 MB."""
SMALL_BODY = 32 * 2**10
"""Bytes that are read, and rendered as a prompt, in about a millisecond, less than another thread may have to wait."""
ALL_BODIES = 64 * 2**20
"""Bytes of all bodies that are being read."""
BODY_S = 30.0
"""Seconds for a client to send its body."""
STALLED_S = 60.0
"""Seconds for a client to take a piece of the answer once its buffers are full."""
Result = TypeVar("Result")
LOCAL = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(slots=True)
class Gateway:
    """The model that the application serves.

    Attributes:
        endpoint: Where Triton serves it.
        created: Start of this process, in seconds since 1970.
    """

    endpoint: Endpoint
    created: int = field(default_factory=lambda: int(time.time()))
    _client: Client | None = None
    _finding: asyncio.Lock = field(default_factory=asyncio.Lock)
    _channel: Any = None
    _reading: int = 0  # bytes of bodies

    async def client(self) -> Client:
        """What all requests share, found by the first one that can.

        Raises:
            WizardError: See `wizard.chat.client.client_of`.
        """
        async with self._finding:
            if self._client is None:
                self._client = await asyncio.to_thread(client_of, self.endpoint)
                self._channel = triton_grpc.channel(self.endpoint.grpc)
            return self._client

    async def close(self) -> None:
        """Close the connection to Triton."""
        if self._channel is not None:
            await self._channel.close()

    async def health(self, _: Request) -> Response:
        """``GET /health``: whether the model answers."""
        if await asyncio.to_thread(health.is_ready, self.endpoint):
            return JSONResponse({"status": "ok"})
        return _failed(Fault("TW-G10", 503, "the model is not ready"))

    async def models(self, request: Request) -> Response:
        """``GET /v1/models`` and ``/v1/models/NAME``."""
        client = await self.client()
        model = {"id": self.endpoint.model, "object": "model", "created": self.created, "owned_by": "triton-wizard"}
        model["max_model_len"] = client.served.max_seq_len
        if name := request.path_params.get("name"):
            self._check_model(name)
            return JSONResponse(model)
        return JSONResponse({"object": "list", "data": [model]})

    async def chat(self, request: Request) -> Response:
        """``POST /v1/chat/completions``."""
        return await self._answer(request, bodies.chat)

    async def completion(self, request: Request) -> Response:
        """``POST /v1/completions``."""
        return await self._answer(request, bodies.completion)

    async def embeddings(self, _: Request) -> Response:
        """``POST /v1/embeddings``: refused, because no stack serves a model that makes them."""
        why = (
            f"{self.endpoint.model!r} generates text; it has no embeddings. vLLM (--runner pooling) serves those models"
        )
        return _failed(Fault("TW-G12", 404, why, "model", "model_not_found"))

    async def _answer(self, request: Request, read: Callable[[bytes], bodies.Wanted]) -> Response:
        raw = await self._body(request)
        wanted = await _aside(len(raw), read, raw)
        self._check_model(wanted.model)
        client = await self.client()
        asks = await _aside(len(raw), requests.asks, wanted, client)
        answer = Answer(wanted.kind, wanted.model, wanted.usage, wanted.n, len(asks) // wanted.n)
        return Reply(merged([self._pieces(ask, wanted, client) for ask in asks]), answer, stream=wanted.stream)

    def _pieces(self, ask: Ask, wanted: bodies.Wanted, client: Client) -> AsyncGenerator[Piece, None]:
        exchange = exchange_of(ask, client.served, client.tokenizer)
        answer = pieces(client, ask, exchange, channel=self._channel)
        if wanted.kind == "chat" and (splitter := splitter_of(ask, client.served)):
            answer = split(answer, splitter)
        return called(answer, wanted.tools) if wanted.tools else answer

    def _check_model(self, name: str) -> None:
        if name != self.endpoint.model:
            known = f"no model {name[:100]!r}; this server has {self.endpoint.model!r}"
            raise Fault("TW-G05", 404, known, "model", "model_not_found")

    async def _body(self, request: Request) -> bytes:
        """The body, of a bounded size and in a bounded time.

        Raises:
            Fault: TW-G01 it is too large, TW-G08 it took too long, or too many are being read.
        """
        body = bytearray()

        async def read() -> None:
            async for chunk in request.stream():
                self._reading += len(chunk)
                body.extend(chunk)
                if len(body) > LARGEST_BODY:
                    raise _too_large()
                if self._reading > ALL_BODIES:
                    raise Fault("TW-G08", 503, "too many large requests at once; try again")

        if int(request.headers.get("content-length") or 0) > LARGEST_BODY:
            raise _too_large()
        try:
            await asyncio.wait_for(read(), BODY_S)
        except asyncio.TimeoutError:
            raise Fault("TW-G08", 408, f"the body took more than {BODY_S:.0f} s") from None
        finally:
            self._reading -= len(body)
        return bytes(body)


async def _aside(size: int, work: Callable[..., Result], *arguments: Any) -> Result:
    """``work``, in a thread if the body's ``size`` is such that other answers would wait for it noticeably."""
    return await asyncio.to_thread(work, *arguments) if size > SMALL_BODY else work(*arguments)


def _too_large() -> Fault:
    return Fault("TW-G01", 413, f"the body has more than {LARGEST_BODY:,} bytes")


class Reply(Response):
    """Sends an answer while the client is there; a client that hangs up, or takes nothing, ends the request."""

    def __init__(self, pieces: AsyncGenerator[tuple[int, Piece], None], answer: Answer, *, stream: bool) -> None:
        """Prepare it: nothing is asked before it is called."""
        self._pieces, self._answer, self._stream = pieces, answer, stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """As ASGI has it."""
        work = asyncio.create_task(self._send(_impatient(send)))
        gone = asyncio.create_task(_hung_up(receive))
        try:
            await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            work.cancel()
            gone.cancel()
            (error, _) = await asyncio.gather(work, gone, return_exceptions=True)
        if isinstance(error, Exception):
            raise error

    async def _send(self, send: Send) -> None:
        begun = False
        async with aclosing(self._pieces) as pieces:
            try:
                if not self._stream:
                    whole = self._answer.whole([piece async for piece in pieces])
                    await _send_json(send, 200, whole)
                    return
                async for index, piece in pieces:
                    if not begun:  # an error before the first piece still has a status of its own
                        begun = True
                        await send({"type": "http.response.start", "status": 200, "headers": EVENT_HEADERS})
                        await send(_part(self._answer.begin()))
                    if data := self._answer.take(index, piece):
                        await send(_part(data))
                await send(_part(self._answer.end(), more=False))
            except Exception as error:
                failed = _logged(error)
                if begun:
                    await send(_part(event(failed.body()), more=False))
                else:
                    await _send_json(send, failed.status, failed.body())


EVENT_HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-cache")]


def _part(data: bytes, *, more: bool = True) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}


async def _send_json(send: Send, status: int, data: dict[str, Any]) -> None:
    body = json.dumps(data, ensure_ascii=False).encode(errors="replace")
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send(_part(body, more=False))


def _impatient(send: Send) -> Send:
    """``send`` that gives up on a client that takes nothing for `STALLED_S`, by cancelling the task."""
    task, loop = asyncio.current_task(), asyncio.get_running_loop()

    async def bounded(message: Message) -> None:
        late = loop.call_later(STALLED_S, lambda: task.cancel() if task else None)
        try:
            await send(message)
        finally:
            late.cancel()

    return bounded


async def _hung_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _logged(error: BaseException) -> Fault:
    failed = fault(error)
    if failed.code == "TW-G09":
        LOG.error("a request failed", exc_info=error)
    return failed


def _failed(failed: Fault) -> Response:
    return JSONResponse(failed.body(), failed.status)


async def _on_error(_: Request, error: Exception) -> Response:
    if isinstance(error, ClientDisconnect):
        return Response(status_code=499)  # nobody reads it
    if isinstance(error, HTTPException):
        return _failed(Fault("TW-G07", error.status_code, "no such address: the API is under /v1"))
    return _failed(_logged(error))


def _guarded(app: ASGIApp) -> ASGIApp:
    """Only for programs of this machine: a web page reaches 127.0.0.1 by a name of its own (DNS rebinding), or from
    another origin; a browser tells either.
    """

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            host, origin = (headers.get(name, b"").decode("latin-1") for name in (b"host", b"origin"))
            if not (_is_local(f"//{host}") and (not origin or _is_local(origin))):
                refused = Fault("TW-G06", 403, f"only for programs on this machine, not for {(origin or host)[:100]!r}")
                await _failed(refused)(scope, receive, send)
                return
        await app(scope, receive, send)

    return guarded


def _is_local(url: str) -> bool:
    try:
        return urlsplit(url).hostname in LOCAL
    except ValueError:
        return False


def application(gateway: Gateway) -> ASGIApp:
    """The application for ``gateway``."""
    handlers: tuple[tuple[str, Callable[[Request], Coroutine[Any, Any, Response]], str], ...] = (
        ("/health", gateway.health, "GET"),
        ("/v1/models", gateway.models, "GET"),
        ("/v1/models/{name:path}", gateway.models, "GET"),
        ("/v1/chat/completions", gateway.chat, "POST"),
        ("/v1/completions", gateway.completion, "POST"),
        ("/v1/embeddings", gateway.embeddings, "POST"),
    )
    kinds = (HTTPException, Fault, ValidationError, WizardError, PromptTooLong, ClientDisconnect, Exception)
    errors: dict[Any, Any] = dict.fromkeys(kinds, _on_error)
    routes = [Route(path, handler, methods=[method]) for path, handler, method in handlers]
    return _guarded(Starlette(routes=routes, exception_handlers=errors))
