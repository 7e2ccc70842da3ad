"""The process that serves the application on a socket that it inherits, as long as a server of the workspace lives."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import resource
import socket
import sys
from pathlib import Path

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from wizard.gateway.app import Gateway, application
from wizard.gateway.faults import Fault
from wizard.gateway.keeper import dismiss, lives, succeed
from wizard.gateway.servers import Servers
from wizard.kernel.errors import ServerError
from wizard.kernel.paths import Workspace
from wizard.kernel.values import from_json
from wizard.serve import gateway
from wizard.serve.exposure import Exposure
from wizard.serve.exposure import key as read_key

LOOK_S = 1.0
"""Seconds between two looks at the servers."""
HEADERS = 64 * 2**10
"""Bytes of a request's headers, more or less: all that have arrived at once are read."""
HEADERS_S = 10.0
"""Seconds for a client to send the headers of a request, once it has connected or begun."""
IDLE_S = 60
"""Seconds that a connection without a request stays open."""
CONNECTIONS = 512
"""At once, if some have no request: the application has a limit for requests."""
FILES = 8192
"""That may be open: thousands of connections may arrive before the first one is closed."""
LEAVE_S = 3
"""Seconds for running answers when the process is to end."""


class Protocol(HttpToolsProtocol):
    """uvicorn's, which waits for the rest of a request's headers for ever, however long they are (0.54)."""

    _late: asyncio.TimerHandle | None = None
    _framing = 0
    """Bytes of headers, trailers and chunk sizes since the last part of a body."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected; if there are too many, it takes the place of one without a request."""
        super().connection_made(transport)
        self._wait()
        if len(self.connections) >= CONNECTIONS:
            others = (each for each in self.connections if isinstance(each, Protocol) and each is not self)
            if idle := next((each for each in others if each.idle), None):
                idle.transport.close()

    @property
    def idle(self) -> bool:
        """Whether it has no request, and is open."""
        return (self.cycle is None or self.cycle.response_complete) and not self.transport.is_closing()

    def data_received(self, data: bytes) -> None:
        """A client has sent something."""
        self._framing += len(data)
        super().data_received(data)
        if self._framing > HEADERS and not self.transport.is_closing():
            self.send_400_response(f"the headers have more than {HEADERS:,} bytes")

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._wait()

    def on_headers_complete(self) -> None:
        """Its headers have arrived."""
        self._stop()
        self._framing = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of its body has arrived."""
        self._framing = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """All of it has arrived."""
        self._framing = 0
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """A client has gone."""
        self._stop()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """A request that is not HTTP, or has a header that none may have, such as a key with a line break."""
        body = json.dumps(Fault("TW-G02", 400, msg).body()).encode()
        head = f"content-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        self.transport.write(STATUS_LINE[400] + head.encode() + body)
        self.transport.close()

    def _wait(self) -> None:
        if self._late is None:
            self._late = self.loop.call_later(HEADERS_S, self.transport.close)

    def _stop(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


def main(keeper: int) -> None:
    """Serve until no server is left, or SIGTERM; if the ``keeper`` of this process dies, become one."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = FILES if hard == resource.RLIM_INFINITY else min(hard, FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    workspace, exposure = Workspace(Path(sys.argv[1])), from_json(Exposure, sys.argv[3], where="exposure")
    with socket.socket(fileno=int(sys.argv[2])) as listener:
        asyncio.run(serve(workspace, exposure, listener.dup(), keeper))
        if not lives(keeper) and gateway.inherit(workspace, keeper):
            listener.set_inheritable(True)
            succeed()


async def serve(workspace: Workspace, exposure: Exposure, listener: socket.socket, keeper: int) -> None:
    """Serve the models of ``workspace`` on ``listener``, as long as there are any, and the keeper lives."""
    servers = Servers(workspace)
    key = read_key(workspace.gateway)[0] if exposure.beyond else ""
    front = Gateway(servers)
    server = uvicorn.Server(
        uvicorn.Config(
            application(front, exposure, key),
            http=Protocol,
            ws="none",
            lifespan="off",
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=IDLE_S,
            timeout_graceful_shutdown=LEAVE_S,
            log_config=None,
            access_log=False,
            ssl_certfile=exposure.tls_cert,
            ssl_keyfile=exposure.tls_key,
        )
    )

    async def watch() -> None:
        """End when no server is left; the lock is kept until the port is free, so that a start waits for it."""
        while True:
            await asyncio.sleep(LOOK_S)
            if not lives(keeper):
                server.should_exit = True
            if servers.living():
                continue
            try:
                with gateway.locked(workspace, 0):
                    if not gateway.any_server(workspace):
                        workspace.gateway.address.unlink(missing_ok=True)
                        dismiss(keeper)
                        server.should_exit = True
                        await asyncio.Event().wait()
            except ServerError:  # `up` is starting one
                continue
            except OSError:  # the workspace is gone
                server.should_exit = True

    watching = asyncio.create_task(watch())
    try:
        await server.serve(sockets=[listener])
    finally:
        watching.cancel()
        front.templates.end()
        await servers.close()
