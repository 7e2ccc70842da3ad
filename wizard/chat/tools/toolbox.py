"""All configured MCP servers, in a thread of their own: a chat may use a new event loop for each question.

Servers are started when their tools are first needed, and stopped by `Toolbox.close`, or when Python exits.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import threading
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from wizard.chat.tools import mcp_client
from wizard.chat.tools.child import ToolChild
from wizard.chat.tools.config import ToolServer, ToolServers
from wizard.chat.tools.tool import Result, Tool, ToolServerError, offered
from wizard.kernel.language import tr
from wizard.kernel.text import one_line

T = TypeVar("T")
MOST_TOOLS = 128
"""OpenAI's limit of functions in a request, which the wizard's address has too."""
CLOSE_S = 10.0
"""Seconds to wait for the thread; the steps of stopping a server take less."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds that a server may take."""

    start_s: float = 60.0
    """From the start to its list of tools; a launcher such as npx or uvx may download it first."""
    call_s: float = 300.0
    """For a call; Esc or Ctrl-C ends it earlier."""


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools that can be used now.

    Attributes:
        tools: With their names for the model.
        problems: What cannot be used, and why; each is reported once.
    """

    tools: tuple[Tool, ...] = ()
    problems: tuple[str, ...] = ()


class _Server:
    """A server, in the thread: a task that holds its session, as the package needs the same task to close it."""

    def __init__(self, server: ToolServer, limits: Limits) -> None:
        self.server, self._limits = server, limits
        self.tools: list[Tool] = []
        self.session: mcp_client.Session | None = None
        self.failed = False
        self.child: ToolChild | None = None
        self._end = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()

    async def ready(self) -> list[str]:
        """Start it if it does not run; returns problems. One that failed to start is not tried again."""
        async with self._starting:
            if self.failed or (self.session and not self.session.ended.is_set()):
                return []
            await self.close()
            self._end = asyncio.Event()
            listed: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
            self._task = asyncio.ensure_future(self._run(listed))
            try:
                return await asyncio.wait_for(asyncio.shield(listed), self._limits.start_s)
            except asyncio.TimeoutError:
                why = tr("it did not answer within {seconds:g} s", seconds=self._limits.start_s)
            except ToolServerError as error:
                why = str(error)
            self.failed, self.tools = True, []
            await self.close()
            return [tr("The tool server {name} is not used: {why}.", name=self.server.name, why=why)]

    async def _run(self, listed: asyncio.Future[list[str]]) -> None:
        try:
            async with mcp_client.session(self.server) as session:
                self.child = session.child
                self.tools, problems = await session.tools()
                self.session = session
                if not listed.done():
                    listed.set_result(problems)
                await self._end.wait()
        except ToolServerError as error:
            if not listed.done():
                listed.set_exception(error)
        except Exception as error:  # whatever a server's data led to: the chat continues without the server
            if not listed.done():
                listed.set_exception(ToolServerError(one_line(f"{type(error).__name__}: {error}")[:300]))
        finally:
            self.session = None
            if not listed.done():
                listed.cancel()

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Result:
        """Call ``tool``."""
        if self.session is None:
            raise ToolServerError(tr("it exited"))
        try:
            return await asyncio.wait_for(self.session.call(tool, arguments), self._limits.call_s)
        except asyncio.TimeoutError as error:
            text = tr("it did not answer within {seconds:g} s", seconds=self._limits.call_s)
            raise ToolServerError(text) from error

    async def close(self) -> None:
        """Stop it, and wait until it is stopped."""
        task, self._task = self._task, None
        if task is None:
            return
        if self.session:
            self._end.set()
        else:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await task


class Toolbox:
    """The tools of the servers in ``configured``; its methods may be called from any event loop or thread."""

    def __init__(self, configured: ToolServers, limits: Limits | None = None) -> None:
        self.configured, self._limits = configured, limits or Limits()
        self._reported: set[str] = set()
        self._servers: dict[str, _Server] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    @property
    def unstarted(self) -> tuple[str, ...]:
        """Names of the servers if none was started yet."""
        return () if self._thread else tuple(each.name for each in self.configured.servers)

    async def offer(self) -> Offer:
        """All tools; starts the servers that do not run."""
        tools, problems = await self._within(self._ready())
        if len(tools) > MOST_TOOLS:
            rest = len(tools) - MOST_TOOLS
            problems.append(
                tr("{count} tools are not used: a model can have at most {most}.", count=rest, most=MOST_TOOLS)
            )
        new = tuple(dict.fromkeys(each for each in problems if each not in self._reported))
        self._reported.update(new)
        return Offer(tuple(offered(tools[:MOST_TOOLS])), new)

    async def call(self, tool: Tool, arguments: Mapping[str, Any]) -> Result:
        """The result of a call, shortened; cancelling it cancels the call.

        Raises:
            ToolServerError: There is none.
        """
        result = await self._within(self._servers[tool.server].call(tool.name, arguments))
        return result.shortened()

    def close(self) -> None:
        """Stop all servers, and wait for it; the next `offer` starts them again."""
        with self._lock:
            thread, loop = self._thread, self._loop
            self._thread = self._loop = None
        if thread is None or loop is None:
            return
        atexit.unregister(self.close)
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(self._stop.set)
        thread.join(CLOSE_S)
        for each in self._servers.values():
            if each.child and thread.is_alive():
                each.child.kill()
        self._servers = {}

    async def _ready(self) -> tuple[list[Tool], list[str]]:
        problems = await asyncio.gather(*(each.ready() for each in self._servers.values()))
        tools = [tool for each in self._servers.values() for tool in each.tools]
        return tools, [*self.configured.problems, *(text for each in problems for text in each)]

    async def _within(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of ``work`` in the thread's event loop."""
        with self._lock:
            if self._loop is None:
                self._start()
            loop = self._loop
        assert loop is not None  # noqa: S101 - as mypy cannot see
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))

    def _start(self) -> None:
        begun: threading.Event = threading.Event()

        async def main() -> None:
            self._stop = asyncio.Event()
            self._servers = {each.name: _Server(each, self._limits) for each in self.configured.servers}
            self._loop = asyncio.get_running_loop()
            begun.set()
            await self._stop.wait()
            await asyncio.gather(*(each.close() for each in self._servers.values()))

        self._thread = threading.Thread(target=lambda: asyncio.run(main()), name="tools", daemon=True)
        self._thread.start()
        begun.wait()
        atexit.register(self.close)
