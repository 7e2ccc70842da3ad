"""A running server in the plain flow: its entry in the list, and the command for a chat with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wizard.kernel.language import ntr, tr
from wizard.kernel.text import one_line
from wizard.serve.endpoint import Endpoint

if TYPE_CHECKING:
    from wizard.chat.nearby import Nearby


def running(server: Endpoint | Nearby) -> tuple[str, Endpoint]:
    """The entry for a running server, and its endpoint; for another program's server, that of its first model."""
    if isinstance(server, Endpoint):
        return tr("Chat with {name}, running at {where}", name=server.name, where=server.http), server
    first, more = server.endpoints[0], len(server.endpoints) - 1
    count = ntr("{count} more model", "{count} more models", more, count=more) if more else ""
    about = "; ".join(filter(None, (server.kind, count)))
    where = f"{server.address} ({about})" if about else server.address
    return tr("Chat with {name}, running at {where}", name=one_line(first.model), where=where), first


def chat_words(endpoint: Endpoint) -> tuple[str, ...]:
    """Arguments of `triton-wizard chat` for this server."""
    return (endpoint.name,) if endpoint.url is None else ("--url", endpoint.url, "--model", endpoint.model)
