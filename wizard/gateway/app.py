"""The application: routes, and how a request is read and answered."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing, closing
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wizard.chat.ask import Ask, Piece, PromptTooLong
from wizard.chat.client import Client, exchange_of, pieces
from wizard.gateway import bodies, messages, requests
from wizard.gateway.answers import Answer, Writer
from wizard.gateway.choices import merged
from wizard.gateway.faults import Fault, fault
from wizard.gateway.guard import guarded, limited, shaped
from wizard.gateway.metrics import SERVER, Metrics
from wizard.gateway.reasoning import split, splitter_of
from wizard.gateway.servers import Server, Servers, listed
from wizard.gateway.templates import Templates
from wizard.gateway.tools import called
from wizard.kernel.errors import WizardError
from wizard.serve import health
from wizard.serve.exposure import Exposure

LOG = logging.getLogger("wizard.gateway")
LARGEST_BODY = 16 * 2**20
"""Bytes: a prompt of a million tokens has about 4 MB."""
SMALL_BODY = 32 * 2**10
"""Bytes that are read, and rendered as a prompt, in about a millisecond, less than another thread may have to wait."""
MOST_VALUES = 1_000_000
"""Of a body: small ones need 30 times as much memory as the text."""
ALL_BODIES = 64 * 2**20
"""Bytes of all bodies that are being received or parsed."""
BODY_S = 30.0
"""Seconds for a client to send its body."""
STALLED_S = 60.0
"""Seconds for a client to take a piece of the answer once its buffers are full."""
LOOPBACK = Exposure()
ENDED = ("TW-C01", "TW-C03", "TW-C11", "TW-C33")
"""Codes of a server that does not respond, is lost, or whose model has ended."""
Result = TypeVar("Result")
Answers: TypeAlias = AsyncGenerator[tuple[int, Piece], None]
"""Pieces of all answers to a request, each with the number of its answer."""


@dataclass(slots=True)
class Gateway:
    """The servers that the application is in front of.

    Attributes:
        servers: They.
        metrics: Of their answers.
        created: Start of this process, in seconds since 1970.
        templates: The processes that render prompts.
    """

    servers: Servers
    metrics: Metrics = field(default_factory=Metrics)
    created: int = field(default_factory=lambda: int(time.time()))
    templates: Templates = field(default_factory=Templates)
    _reading: int = 0  # bytes of bodies

    async def health(self, _: Request) -> Response:
        """``GET /health``: whether a model answers."""
        checks = (asyncio.to_thread(health.is_ready, server.endpoint) for server in self.servers.living())
        if any(await asyncio.gather(*checks)):
            return JSONResponse({"status": "ok"})
        raise Fault("TW-G10", 503, "no model is ready")

    async def models(self, _: Request) -> Response:
        """``GET /v1/models``: those that answer."""
        names = listed(await self.servers.ready())
        return JSONResponse({"object": "list", "data": [await self._model(*each) for each in names.items()]})

    async def model(self, request: Request) -> Response:
        """``GET /v1/models/NAME``."""
        name = request.path_params["name"]
        server, _ = await self.servers.serving(name)
        return JSONResponse(await self._model(name, server))

    async def _model(self, name: str, server: Server) -> dict[str, Any]:
        length = (await server.client()).served.max_seq_len
        model = {"id": name, "object": "model", "created": self.created, "owned_by": "triton-wizard"}
        return {**model, "max_model_len": length}

    async def figures(self, _: Request) -> Response:
        """``GET /metrics``, for Prometheus."""
        return Response(self.metrics.text(self.servers.living()), media_type="text/plain; version=0.0.4")

    async def chat(self, request: Request) -> Response:
        """``POST /v1/chat/completions``."""
        return await self._answer(request, bodies.chat)

    async def completion(self, request: Request) -> Response:
        """``POST /v1/completions``."""
        return await self._answer(request, bodies.completion)

    async def message(self, request: Request) -> Response:
        """``POST /v1/messages``."""
        return await self._answer(request, messages.read, lambda wanted, _: messages.Answer(wanted.model))

    async def embeddings(self, _: Request) -> Response:
        """``POST /v1/embeddings``: refused, because no stack serves a model that makes them."""
        why = "the models here generate text and have no embeddings; vLLM (--runner pooling) serves models that have"
        raise Fault("TW-G12", 404, why, "model", "model_not_found")

    async def _answer(
        self,
        request: Request,
        read: Callable[[bytes], bodies.Wanted],
        writer: Callable[[bodies.Wanted, int], Writer] = lambda wanted, prompts: Answer(
            wanted.kind, wanted.model, wanted.usage, wanted.n, prompts
        ),
    ) -> Response:
        wanted, size = await self._wanted(request, read)
        server, client = await self.servers.serving(wanted.model)
        request.scope[SERVER] = server.endpoint.name
        asks = await self._asks(size, wanted, client)
        answered = self._anywhere(request.scope, wanted, server, self._merged(asks, wanted, server, client))
        return Reply(answered, writer(wanted, len(asks) // wanted.n), stream=wanted.stream)

    async def _asks(self, size: int, wanted: bodies.Wanted, client: Client) -> list[Ask]:
        """The requests to the model, for a body of ``size`` bytes."""
        chat, modes = client.served.chat, wanted.sampling.thinking is not None  # the template may have to tell them
        question = await _aside(LARGEST_BODY if modes else size, requests.question, wanted, client)
        prompt = await self.templates.prompt(chat.template, question) if question and chat else None
        return await _aside(size, requests.asks, wanted, client, prompt)

    async def _anywhere(self, scope: Scope, wanted: bodies.Wanted, server: Server, answer: Answers) -> Answers:
        """``answer`` of ``server``; if that ends before it has produced anything, one of a copy, tried once.

        Nothing of a request that produced nothing can have reached the client, so it is safe to repeat.
        """
        begun = False
        try:
            async with aclosing(answer) as pieces:
                async for each in pieces:
                    begun = True
                    yield each
            return
        except WizardError as error:
            if begun or error.code not in ENDED:
                raise
            try:
                copy, client = await self.servers.serving(wanted.model, without=server)
                asks = await self._asks(LARGEST_BODY, wanted, client)
            except (Fault, WizardError):
                raise error from None
        scope[SERVER] = copy.endpoint.name
        async with aclosing(self._merged(asks, wanted, copy, client)) as pieces:
            async for each in pieces:
                yield each

    def _merged(self, asks: list[Ask], wanted: bodies.Wanted, server: Server, client: Client) -> Answers:
        return merged([self._pieces(ask, wanted, server, client) for ask in asks])

    def _pieces(self, ask: Ask, wanted: bodies.Wanted, server: Server, client: Client) -> AsyncGenerator[Piece, None]:
        exchange = exchange_of(ask, client.served, client.tokenizer)
        answer = self.metrics.measured(server, pieces(client, ask, exchange, channel=server.channel))
        if wanted.kind == "chat" and (splitter := splitter_of(ask, client.served)):
            answer = split(answer, splitter)
        return called(answer, wanted.tools) if wanted.tools else answer

    async def _wanted(self, request: Request, read: Callable[[bytes], bodies.Wanted]) -> tuple[bodies.Wanted, int]:
        """What the body says, which is of a bounded size and read in a bounded time, and its bytes.

        Raises:
            Fault: TW-G01 it is too large, TW-G08 it took too long, or too many are being read, and those of ``read``.
        """
        body = bytearray()

        async def receive() -> None:
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
            await asyncio.wait_for(receive(), BODY_S)
            return await _aside(len(body), _parsed, bytes(body), read), len(body)
        except asyncio.TimeoutError:
            raise Fault("TW-G08", 408, f"the body took more than {BODY_S:.0f} s") from None
        finally:
            self._reading -= len(body)


def _parsed(body: bytes, read: Callable[[bytes], bodies.Wanted]) -> bodies.Wanted:
    if body.count(b",") > MOST_VALUES:
        raise Fault("TW-G01", 413, f"the body has more than {MOST_VALUES:,} commas, so maybe as many values")
    return read(body)


async def _aside(size: int, work: Callable[..., Result], *arguments: Any) -> Result:
    """``work``, in a thread if the body's ``size`` is such that other answers would wait for it noticeably."""
    return await asyncio.to_thread(work, *arguments) if size > SMALL_BODY else work(*arguments)


def _too_large() -> Fault:
    return Fault("TW-G01", 413, f"the body has more than {LARGEST_BODY:,} bytes")


class Reply(Response):
    """Sends an answer while the client is there; a client that hangs up, or takes nothing, ends the request."""

    def __init__(self, pieces: Answers, answer: Writer, *, stream: bool) -> None:
        """Prepare it: nothing is asked before it is called."""
        self._pieces, self._answer, self._stream = pieces, answer, stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As ASGI has it."""
        work = asyncio.create_task(self._send(send, scope["path"]))
        gone = asyncio.create_task(_hung_up(receive))
        try:
            await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            work.cancel()
            gone.cancel()
            (error, _) = await asyncio.gather(work, gone, return_exceptions=True)
        if isinstance(error, Exception):
            raise error

    async def _send(self, to: Send, path: str) -> None:
        begun, held, patience = False, b"", _Patience(to)
        send = patience.send
        with closing(patience):
            async with aclosing(self._pieces) as pieces:
                try:
                    if not self._stream:
                        whole = self._answer.whole([piece async for piece in pieces])
                        await _send_json(send, 200, whole)
                        return
                    async for index, piece in pieces:
                        if not begun:  # an error before the first piece still has a status of its own
                            begun, held = True, self._answer.begin()
                            await send({"type": "http.response.start", "status": 200, "headers": EVENT_HEADERS})
                        held += self._answer.take(index, piece)
                        if held and not piece.finish:  # the last events go in one message with the end
                            await send(_part(held))
                            held = b""
                    await send(_part(held + self._answer.end(), more=False))
                except Exception as error:
                    failed = _logged(error)
                    if begun:
                        await send(_part(held + self._answer.failed(failed), more=False))
                    else:
                        await _send_json(send, failed.status, shaped(failed, path))


EVENT_HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-cache")]


def _part(data: bytes, *, more: bool = True) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}


async def _send_json(send: Send, status: int, data: dict[str, Any]) -> None:
    body = json.dumps(data, ensure_ascii=False).encode(errors="replace")
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send(_part(body, more=False))


class _Patience:
    """Gives up on a client that takes nothing for `STALLED_S`, by cancelling the task that sends.

    One timer looks after an answer of any number of messages.
    """

    def __init__(self, send: Send) -> None:
        """Watch ``send`` in the current task until `close`."""
        self._send, self._task, self._loop = send, asyncio.current_task(), asyncio.get_running_loop()
        self._since: float | None = None
        self._timer = self._loop.call_later(STALLED_S, self._look)

    async def send(self, message: Message) -> None:
        """As ASGI has it."""
        self._since = self._loop.time()
        await self._send(message)
        self._since = None

    def close(self) -> None:
        """Watch no longer."""
        self._timer.cancel()

    def _look(self) -> None:
        now = self._loop.time()
        ends = (now if self._since is None else self._since) + STALLED_S
        if ends <= now and self._task:
            self._task.cancel()
        else:
            self._timer = self._loop.call_at(ends, self._look)


async def _hung_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _logged(error: BaseException) -> Fault:
    failed = fault(error)
    if failed.code == "TW-G09":
        LOG.error("a request failed", exc_info=error)
    return failed


async def _on_error(request: Request, error: Exception) -> Response:
    if isinstance(error, ClientDisconnect):
        return Response(status_code=499)  # nobody reads it
    if isinstance(error, HTTPException):
        error = _nowhere(request, error.status_code)
    failed = _logged(error)
    return JSONResponse(shaped(failed, request.url.path), failed.status)


def _nowhere(request: Request, status: int) -> Fault:
    path = request.url.path[:100]
    if status == 405:
        return Fault("TW-G07", status, f"{path} does not accept {request.method}")
    there = "/v1/chat/completions, /v1/completions, /v1/messages, /v1/models, /health and /metrics"
    return Fault("TW-G07", status, f"no such address: {path}; there are {there}")


def application(gateway: Gateway, exposure: Exposure = LOOPBACK, key: str = "") -> ASGIApp:
    """The application for ``gateway``, guarded as ``exposure`` says, with the ``key`` if it needs one."""
    handlers: tuple[tuple[str, Callable[[Request], Coroutine[Any, Any, Response]], str], ...] = (
        ("/health", gateway.health, "GET"),
        ("/metrics", gateway.figures, "GET"),
        ("/v1/models", gateway.models, "GET"),
        ("/v1/models/{name:path}", gateway.model, "GET"),
        ("/v1/chat/completions", gateway.chat, "POST"),
        ("/v1/completions", gateway.completion, "POST"),
        ("/v1/embeddings", gateway.embeddings, "POST"),
        (messages.PATH, gateway.message, "POST"),
    )
    kinds = (HTTPException, Fault, ValidationError, WizardError, PromptTooLong, ClientDisconnect, Exception)
    errors: dict[Any, Any] = dict.fromkeys(kinds, _on_error)
    routes = [Route(path, handler, methods=[method]) for path, handler, method in handlers]
    app = guarded(Starlette(routes=routes, exception_handlers=errors), exposure, key)
    return gateway.metrics.counting(limited(app))
