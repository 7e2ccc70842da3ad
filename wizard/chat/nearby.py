"""Servers that the wizard did not start: at a URL, and on the usual ports of this machine.

They are OpenAI-compatible, or another Triton (``GET /v2``, ``POST /v2/repository/index``:
github.com/triton-inference-server/server, docs/protocol). A look at the usual ports sends each that listens two
requests without a key, follows no redirect, and gives up after `LOOK_S`, whatever answers there, and however slowly.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote, urlsplit

from wizard.catalog.local_servers import LocalServers, local_servers
from wizard.chat import openai
from wizard.chat.served import TIMEOUT_S
from wizard.chat.wire import formats, wire_of
from wizard.kernel import http
from wizard.kernel.errors import ServerError
from wizard.serve.endpoint import Endpoint

T = TypeVar("T")
LOOK_S = 0.3
"""Seconds to look at a port; a server on this machine lists its models within a few milliseconds."""
HOST = "127.0.0.1"
FOREIGN = "TW-C14"
"""The error of a server that is not OpenAI-compatible."""
TRITON = "triton"
"""What Triton calls itself in ``GET /v2``."""
_NOT_IT = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, asyncio.TimeoutError)
"""What another program's answer, or none, leads to."""


@dataclass(frozen=True, slots=True)
class Nearby:
    """A server on this machine.

    Attributes:
        kind: The program's name; empty if it is unknown.
        endpoints: Its models; at least one.
    """

    kind: str
    endpoints: tuple[Endpoint, ...]

    @property
    def address(self) -> str:
        """``127.0.0.1:PORT``."""
        return urlsplit(self.endpoints[0].http).netloc


def nearby(known: Iterable[Endpoint] = ()) -> list[Nearby]:
    """The servers on the usual ports; blocks for about `LOOK_S`, less if nothing listens.

    Args:
        known: Servers whose ports, and whose OpenAI-compatible address, are not looked at.

    Raises:
        UsageError: TW-D01, TW-D02 or TW-K01 if the table of ports is missing or damaged.
    """
    table = local_servers()
    taken = {each.ports.http for each in known} | {urlsplit(each.openai).port for each in known if each.openai}
    return asyncio.run(_all([port for port in table.ports if port not in taken], table))


def endpoints(url: str) -> list[Endpoint]:
    """The models of the server at ``url``, OpenAI-compatible or another Triton; queries it (≤ 5 s a request).

    Raises:
        UsageError, ServerError: See `wizard.chat.openai.endpoints`.
    """
    try:
        return openai.endpoints(url)
    except ServerError as error:
        parts = urlsplit(openai.checked(url))
        if error.code != FOREIGN or not (models := asyncio.run(_of_triton(f"{parts.scheme}://{parts.netloc}"))):
            raise
        return models


def at(url: str, model: str | None = None) -> Endpoint:
    """The endpoint of ``model`` at ``url``, or of its only model.

    Raises:
        UsageError, ServerError: See `wizard.chat.openai.at`.
    """
    return openai.chosen(endpoints(url), url, model)


async def _all(ports: Sequence[int], table: LocalServers) -> list[Nearby]:
    """The servers at ``ports``. What a look needs is loaded first, and only if something listens."""
    listening = [port for port, there in zip(ports, await _gathered(map(_listens, ports)), strict=True) if there]
    if listening:
        http.prepare()
        formats()
    return [server for server in await _gathered(_look(port, table) for port in listening) if server]


async def _gathered(looks: Iterable[Awaitable[T]]) -> list[T]:
    return await asyncio.gather(*looks)


async def _listens(port: int) -> bool:
    with suppress(*_NOT_IT):
        _, writer = await asyncio.wait_for(asyncio.open_connection(HOST, port), LOOK_S)
        writer.close()
        return True
    return False


async def _look(port: int, table: LocalServers) -> Nearby | None:
    with suppress(*_NOT_IT):
        return await asyncio.wait_for(_server(f"http://{HOST}:{port}", table), LOOK_S)
    return None


async def _server(root: str, table: LocalServers) -> Nearby | None:
    base = f"{root}/v1"
    with suppress(*_NOT_IT):
        reply = await http.glance(f"{base}/models", within_s=LOOK_S)
        models = openai.listed(reply.body)
        kind = next((known.name for each in models if (known := table.of(str(each.get("owned_by"))))), "")
        there = [openai.elsewhere(base, name) for name in openai.names_of(models)]
        return Nearby(kind, tuple(there)) if there and reply.status == 200 else None
    there = await _of_triton(root, LOOK_S)
    return Nearby("Triton", tuple(there)) if there else None


async def _of_triton(root: str, within_s: float = TIMEOUT_S) -> list[Endpoint]:
    """The models of another Triton that can chat; none if it is not a Triton."""
    with suppress(*_NOT_IT):
        about = await http.glance(f"{root}/v2", within_s=within_s)
        if json.loads(about.body)["name"] != TRITON:
            return []
        index = await http.glance(f"{root}/v2/repository/index", within_s=within_s, body=b'{"ready": true}')
        names = [str(each["name"]) for each in json.loads(index.body)]
        chats = await _gathered(_chats(root, name, within_s) for name in names)
        return [openai.elsewhere(root, name, TRITON) for name, can in zip(names, chats, strict=True) if can]
    return []


async def _chats(root: str, model: str, within_s: float) -> bool:
    with suppress(*_NOT_IT):
        reply = await http.glance(f"{root}/v2/models/{quote(model, safe='')}/config", within_s=within_s)
        return wire_of(json.loads(reply.body)) is not None
    return False
