"""The servers of a workspace, as they come and go, and which of them answers a request."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

from wizard.chat import triton_grpc
from wizard.chat.client import Client, client_of
from wizard.gateway.faults import Fault
from wizard.kernel import proctable
from wizard.kernel.errors import WizardError
from wizard.kernel.paths import Workspace
from wizard.serve import find
from wizard.serve.endpoint import Endpoint

FRESH_S = 0.05
"""Seconds for which a look at the servers is good for further requests: of many at once, one looks."""


@dataclass(slots=True)
class Server:
    """A running server, and what its requests share.

    Attributes:
        endpoint: Where Triton serves its model.
        running: Answers that are being generated.
        taken: Requests that were given to it.
    """

    endpoint: Endpoint
    running: int = 0
    taken: int = 0
    channel: Any = None
    _client: Client | None = None
    _finding: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def client(self) -> Client:
        """The client of all requests, made by the first one that can.

        Raises:
            WizardError: See `wizard.chat.client.client_of`.
        """
        async with self._finding:
            if self._client is None:
                self._client = await asyncio.to_thread(client_of, self.endpoint)
                self.channel = triton_grpc.channel(self.endpoint.grpc)
            return self._client

    @property
    def broken(self) -> bool:
        """Whether the process of its model has ended; Triton reports it as ready all the same."""
        life = self._client.life if self._client else None
        return life is not None and life.process is not None and not proctable.alive(life.process)

    async def close(self) -> None:
        """Close the connection to Triton."""
        if self.channel is not None:
            await self.channel.close()


@dataclass(slots=True)
class Servers:
    """The servers of ``workspace``: their files are looked at with requests, and read when they have changed."""

    workspace: Workspace
    _known: dict[str, tuple[tuple[int, int], Server | None]] = field(default_factory=dict)
    _closing: set[asyncio.Task[None]] = field(default_factory=set)
    _seen: tuple[float, list[Server]] = (-FRESH_S, [])

    def living(self) -> list[Server]:
        """All whose process is alive, by name."""
        names = self.workspace.names()
        for name in {*self._known} - {*names}:
            self._forget(name)
        living = [server for name in names if (server := self._look(name)) and find.alive(server.endpoint)]
        self._seen = time.monotonic(), living
        return living

    def _named(self, model: str, without: Server | None) -> list[Server]:
        """Those that serve ``model``, of the last look if it is fresh and shows any; one that failed is left out."""
        looked, living = self._seen
        fresh = time.monotonic() - looked < FRESH_S and without is None
        known = [server for server in living if model in _names(server)] if fresh else []
        known = known or [server for server in self.living() if model in _names(server)]
        return [server for server in known if server is not without]

    async def ready(self) -> list[Server]:
        """Those of `living` whose model answers."""
        servers = self.living()
        clients = await asyncio.gather(*(server.client() for server in servers), return_exceptions=True)
        described = zip(servers, clients, strict=True)
        return [server for server, client in described if isinstance(client, Client) and not server.broken]

    async def serving(self, model: str, without: Server | None = None) -> tuple[Server, Client]:
        """The server for a request to ``model``, the name of a server, of its model in Triton, or of the model itself:
        of several, the one with the fewest answers running; ``without`` has just failed.

        Raises:
            Fault: TW-G05 no server has that name.
            WizardError: See `Server.client`.
        """
        servers = self._named(model, without)
        if not servers:
            there = ", ".join(repr(server.endpoint.name) for server in self._seen[1]) or "none"
            raise Fault("TW-G05", 404, f"no model {model[:100]!r}; running: {there[:250]}", "model", "model_not_found")
        failed: WizardError | None = None
        if len(servers) > 1:
            servers.sort(key=lambda each: (each.broken, each.running, each.taken))
        for server in servers:
            try:
                client = await server.client()
                server.taken += 1
                return server, client
            except WizardError as error:  # it may be starting; a copy of it answers
                failed = failed or error
        raise failed or AssertionError

    def _look(self, name: str) -> Server | None:
        folder = self.workspace.server(name)
        try:
            state = folder.endpoint.stat()
        except OSError:
            self._forget(name)
            return None
        stamp = (state.st_mtime_ns, state.st_ino)
        if self._known.get(name, (None,))[0] != stamp:
            self._forget(name)
            endpoint = find.note(folder)
            self._known[name] = (stamp, Server(endpoint) if endpoint else None)
        return self._known[name][1]

    def _forget(self, name: str) -> None:
        _, server = self._known.pop(name, (None, None))
        if server and server.channel is not None:
            closing = asyncio.ensure_future(server.close())
            self._closing.add(closing)  # a task that nobody holds may vanish
            closing.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Close all connections."""
        for _, server in self._known.values():
            if server:
                await server.close()


def _names(server: Server) -> tuple[str, ...]:
    return server.endpoint.name, server.endpoint.model, server.endpoint.ref


def listed(servers: list[Server]) -> dict[str, Server]:
    """The names to list, with a server of each: every server's own, and the model's where several serve it."""
    names = {server.endpoint.name: server for server in servers}
    refs = [server.endpoint.ref for server in servers]
    copies = {server.endpoint.ref: server for server in servers if refs.count(server.endpoint.ref) > 1}
    return {name: server for name, server in {**copies, **names}.items() if name}
