"""Sessions with MCP servers, by the official package (github.com/modelcontextprotocol/python-sdk, 2.3).

The only file that imports ``mcp``. Servers get no answers to what they may ask of a client (sampling, elicitation,
roots): the package refuses it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any

from wizard.chat.documents import missing_extra
from wizard.chat.tools.child import LARGEST_LINE, LineTooLongError, ToolChild
from wizard.chat.tools.config import ToolServer
from wizard.chat.tools.tool import Result, Tool, ToolServerError, listed
from wizard.kernel import http
from wizard.kernel.language import tr
from wizard.kernel.text import one_line
from wizard.kernel.units import size

LARGEST_RESPONSE = 16 * 2**20
"""Bytes of a response over HTTP."""
MOST_PAGES = 20
"""Pages of a list of tools."""
MOST_LINES = 3
"""Lines of an error to show: of pydantic's, what is wrong and where."""
MOST_NOISE = 1_000
"""Lines that are not messages of the protocol, after which a server is not one."""


def check() -> None:
    """Check that the package is installed.

    Raises:
        UsageError: TW-C30 if it is not.
    """
    if not find_spec("mcp"):
        raise missing_extra(tr("tools require a package that is not installed: {package}", package="mcp"), "mcp")


class Session:
    """An open session with a server.

    Attributes:
        child: Its process, if it is a program.
        ended: Set when the connection has ended.
        broke: Why it was ended; empty if the server ended it.
    """

    def __init__(self, child: ToolChild | None) -> None:
        self.child = child
        self.ended = asyncio.Event()
        self.broke = ""
        self._client: Any = None
        self._server = ToolServer("")

    def opened(self, client: Any, server: ToolServer) -> None:
        """The protocol is agreed on."""
        self._client, self._server = client, server

    async def tools(self) -> tuple[list[Tool], list[str]]:
        """The server's tools, and why others cannot be used.

        Raises:
            ToolServerError: It does not give a list.
        """
        tools: list[Tool] = []
        problems: list[str] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            with self.errors():
                page = await self._client.list_tools(cursor=cursor)
            for each in page.tools:
                tool = listed(self._server, each.name, each.description or each.title or "", each.input_schema)
                if isinstance(tool, Tool):
                    tools.append(tool)
                else:
                    problems.append(tool)
            cursor = page.next_cursor
            if not cursor:
                break
        return tools, problems

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Result:
        """Call ``tool`` and return its result as text; cancelling it tells the server.

        Raises:
            ToolServerError: There is no result.
        """
        with self.errors():
            reply = await self._client.call_tool(tool, dict(arguments))
        parts = [_text(each) for each in reply.content]
        if not parts and reply.structured_content is not None:
            parts = [json.dumps(reply.structured_content, ensure_ascii=False)]
        return Result("\n".join(parts), failed=bool(reply.is_error))

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Raise every error of the package as a `ToolServerError`."""
        from mcp.shared.exceptions import MCPError
        from mcp_types import CONNECTION_CLOSED

        try:
            yield
        except Exception as error:
            cause: BaseException = error
            while inner := getattr(cause, "exceptions", None):  # of a group
                cause = inner[0]
            if self.ended.is_set() or (isinstance(cause, MCPError) and cause.code == CONNECTION_CLOSED):
                self.ended.set()
                raise ToolServerError(self._exited()) from error
            text = one_line(" ".join((str(cause) or repr(cause)).splitlines()[:MOST_LINES]))[:500]
            if isinstance(cause, MCPError):
                raise ToolServerError(text) from error
            if self.child is None:
                self.ended.set()  # the next question connects again
            raise ToolServerError(tr("invalid reply: {detail}", detail=text)) from error

    def _exited(self) -> str:
        if self.broke:
            return self.broke
        if self.child is None:
            return tr("the connection ended")
        last = self.child.last_line
        return tr("it exited: {detail}", detail=last) if last else tr("it exited")


def _text(content: Any) -> str:
    """A part of a result as text."""
    if content.type == "text":
        return str(content.text)
    if content.type == "resource":
        there = getattr(content.resource, "text", None)
        return str(content.resource.uri) if there is None else str(there)
    if content.type == "resource_link":
        return str(content.uri)
    return f"[{content.mime_type}, {size(len(content.data) * 3 // 4)}: not shown]"


@asynccontextmanager
async def session(server: ToolServer) -> AsyncGenerator[Session, None]:
    """Start ``server``, or connect to it, and agree on the protocol; it is stopped at the end.

    Raises:
        ToolServerError: It cannot be started, or does not speak the protocol.
    """
    from mcp import Client

    logging.getLogger("mcp").addHandler(logging.NullHandler())  # otherwise errors are printed over the chat
    child: ToolChild | None = None
    if server.command:
        try:
            child = await ToolChild.start(server)
        except OSError as error:
            raise ToolServerError(tr("it cannot be started: {detail}", detail=error.strerror or error)) from error
    made = Session(child)
    try:
        client = Client(_stdio(child, made) if child else _http(server), cache=None)
        with made.errors():
            await client.__aenter__()
        made.opened(client, server)
        try:
            yield made
        finally:
            with contextlib.suppress(Exception):  # it may be gone
                await client.__aexit__(None, None, None)
    finally:
        if child:
            await asyncio.shield(asyncio.ensure_future(child.stop()))


@asynccontextmanager
async def _stdio(child: ToolChild, made: Session) -> AsyncGenerator[Any, None]:
    """The streams of messages to and from ``child``, as the package's own transport has them."""
    import anyio
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    received, incoming = anyio.create_memory_object_stream[Any](0)
    outgoing, to_send = anyio.create_memory_object_stream[Any](0)

    async def read() -> None:
        noise = 0
        async with received:
            try:
                async for line in child.lines():
                    try:
                        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                    except ValueError:
                        noise += 1
                        if noise > MOST_NOISE:
                            made.broke = tr("what it writes are not messages of the protocol")
                            break
                        continue
                    await received.send(SessionMessage(message))
            except LineTooLongError:
                made.broke = tr("it wrote a message of more than {size}", size=size(LARGEST_LINE))
            except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
                pass
        made.ended.set()

    async def write() -> None:
        async with to_send:
            with contextlib.suppress(OSError):
                async for message in to_send:
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await child.write(text.encode())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        tasks.start_soon(write)
        try:
            yield incoming, outgoing
        finally:
            tasks.cancel_scope.cancel()
            incoming.close()
            outgoing.close()


@asynccontextmanager
async def _http(server: ToolServer) -> AsyncGenerator[Any, None]:
    """The same for a server at a URL."""
    if server.old:
        from mcp.client.sse import sse_client

        def client(headers: Any = None, timeout: Any = None, auth: Any = None) -> Any:
            del timeout, auth
            return http.bounded_client(server.url, headers or {}, LARGEST_RESPONSE)

        async with sse_client(server.url, dict(server.headers), httpx_client_factory=client) as streams:
            yield streams
    else:
        from mcp.client.streamable_http import streamable_http_client

        async with (
            http.bounded_client(server.url, server.headers, LARGEST_RESPONSE) as web,
            streamable_http_client(server.url, http_client=web) as streams,
        ):
            yield streams
