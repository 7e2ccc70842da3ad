"""Real MCP servers over HTTP, and servers that are none."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.chat.tools.conftest import REAL, says
from tests.chat.tools.test_toolbox import problem, tools
from wizard.chat.tools import mcp_client
from wizard.chat.tools.config import ToolServer
from wizard.chat.tools.tool import LONGEST_RESULT, ToolServerError
from wizard.chat.tools.toolbox import Limits, Toolbox
from wizard.kernel.process import stop_group

Make = Callable[..., Toolbox]
PATHS = {"streamable-http": "/mcp", "sse": "/sse"}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextlib.contextmanager
def serving(transport: str) -> Iterator[tuple[ToolServer, subprocess.Popen[bytes]]]:
    port = free_port()
    command = [sys.executable, str(REAL), "web", transport, str(port)]
    process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE)
    assert process.stderr is not None
    try:
        while line := process.stderr.readline():
            if b"Uvicorn running" in line:
                break
        else:
            raise AssertionError("the server ended")
        threading.Thread(target=process.stderr.read, daemon=True).start()
        url = f"http://127.0.0.1:{port}{PATHS[transport]}"
        yield ToolServer("web", url=url, headers={"X-Key": "k"}, old=transport == "sse"), process
    finally:
        asyncio.run(stop_group(process.pid))
        process.wait()


@pytest.mark.parametrize("transport", PATHS)
def test_tools_of_a_server_at_a_url(toolbox: Make, transport: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    async def use(box: Toolbox) -> None:
        there = await tools(box)
        assert (await box.call(there["add"], {"a": 2, "b": 3})).text == "5"
        assert len((await box.call(there["long"], {"characters": 300_000})).text) < LONGEST_RESULT + 100
        file = tmp_path_factory.mktemp("wait") / "state"
        call = asyncio.ensure_future(box.call(there["wait"], {"file": str(file)}))
        await says(file, "called")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await says(file, "cancelled")

    with serving(transport) as (server, _):
        box = toolbox(server)
        asyncio.run(use(box))
        box.close()


@pytest.mark.parametrize("transport", PATHS)
def test_a_session_may_have_more_bytes_than_a_message(
    toolbox: Make, transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over SSE, all messages of a session are in one response."""
    monkeypatch.setattr(mcp_client, "LARGEST_RESPONSE", 1_000_000)

    async def use(box: Toolbox) -> None:
        there = await tools(box)
        for _ in range(5):
            assert len((await box.call(there["long"], {"characters": 300_000})).text) > LONGEST_RESULT

    with serving(transport) as (server, _):
        box = toolbox(server)
        asyncio.run(use(box))
        box.close()


@pytest.mark.parametrize("transport", PATHS)
def test_a_server_at_a_url_that_goes_away_and_comes_back(toolbox: Make, transport: str) -> None:
    async def gone(box: Toolbox, process: subprocess.Popen[bytes]) -> None:
        there = await tools(box)
        await stop_group(process.pid)
        with pytest.raises(ToolServerError):
            await box.call(there["add"], {"a": 2, "b": 3})
        assert "tool server web is not used" in await problem(box)

    with serving(transport) as (server, process):
        asyncio.run(gone(toolbox(server, limits=Limits(30, 10)), process))


@pytest.mark.parametrize("old", [False, True])
async def test_nobody_answers(toolbox: Make, old: bool, silent_port: int) -> None:
    box = toolbox(ToolServer("web", url=f"http://127.0.0.1:{silent_port}/mcp", old=old), limits=Limits(20, 10))
    assert "tool server web is not used" in await problem(box)


class Odd(BaseHTTPRequestHandler):
    """Answers every request as ``how`` says."""

    how = ""
    hosts: list[str]

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.do_GET()

    def do_GET(self) -> None:
        if self.how == "redirect":
            self.send_response(307)
            self.send_header("Location", f"http://localhost:{self.server.server_address[1]}/mcp")
            self.send_header("Content-Length", "0")
            self.end_headers()
            self.hosts.append(str(self.headers["Host"]))
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if self.how == "events" else "application/json")
        if self.how == "compressed":
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        with contextlib.suppress(OSError):
            while self.how in ("json", "events", "compressed"):
                self.wfile.write(b"x" * 65536)
            self.wfile.write(b"<html>")


@pytest.mark.parametrize("how", ["html", "json", "events", "compressed", "redirect"])
async def test_servers_that_are_none(toolbox: Make, how: str) -> None:
    """None of them is read without end, and none gets a request for another origin."""
    handler = type("Bound", (Odd,), {"how": how, "hosts": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_address[1]}/mcp"
        box = toolbox(ToolServer("web", url=url, headers={"X-Key": "k"}), limits=Limits(60, 10))
        assert "tool server web is not used" in await problem(box)
        await asyncio.to_thread(box.close)
        assert not any(host.startswith("localhost") for host in handler.hosts)  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
