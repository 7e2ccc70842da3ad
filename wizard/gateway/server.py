"""The process: serves the application on a socket that it inherits, as long as the server's Triton lives."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import sys
from pathlib import Path
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from wizard.gateway.app import Gateway, application
from wizard.kernel.errors import WizardError
from wizard.kernel.paths import ServerFolder
from wizard.serve import find
from wizard.serve.endpoint import Endpoint

LOOK_S = 1.0
"""Seconds between two looks at Triton's process."""
HEADERS_S = 10.0
"""Seconds for a client to send the headers of a request, once it has connected or begun."""
IDLE_S = 60
"""Seconds that a connection without a request stays open."""
CONNECTIONS = 512
"""At once; more are answered with status 503."""
LEAVE_S = 3
"""Seconds for running answers when the process is to end."""


class Protocol(H11Protocol):
    """uvicorn's, which waits for the rest of a request's headers for ever (0.54)."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """A client has sent something."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop()
        elif self._late is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """A client has gone."""
        self._stop()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._late = self.loop.call_later(HEADERS_S, self.transport.close)

    def _stop(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


def main() -> None:
    """Serve until Triton's process has ended, or SIGTERM."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    folder, number = ServerFolder(Path(sys.argv[1])), int(sys.argv[2])
    endpoint = find.running(folder)
    if endpoint is None:
        sys.exit(f"no server is running in {folder.root}")
    with socket.socket(fileno=number) as listener:
        asyncio.run(serve(endpoint, listener))


async def serve(endpoint: Endpoint, listener: socket.socket) -> None:
    """Serve the model of ``endpoint`` on ``listener``, as long as its process lives."""
    gateway = Gateway(endpoint)
    settings: dict[str, Any] = {"http": Protocol, "ws": "none", "lifespan": "off", "server_header": False}
    limits: dict[str, Any] = {
        "limit_concurrency": CONNECTIONS,
        "timeout_keep_alive": IDLE_S,
        "timeout_graceful_shutdown": LEAVE_S,
        "h11_max_incomplete_event_size": 64 * 1024,
    }
    log: dict[str, Any] = {"log_config": None, "access_log": False}
    server = uvicorn.Server(uvicorn.Config(application(gateway), **settings, **limits, **log))

    async def watch() -> None:
        with contextlib.suppress(WizardError):  # the first request finds it, or says why not
            await gateway.client()
        while find.alive(endpoint):  # noqa: ASYNC110 -- a process of somebody else tells nobody
            await asyncio.sleep(LOOK_S)
        server.should_exit = True

    watching = asyncio.create_task(watch())
    try:
        await server.serve(sockets=[listener])
    finally:
        watching.cancel()
        await gateway.close()
