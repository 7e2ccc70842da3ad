"""A running server as an entry of a list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wizard.kernel.language import ntr
from wizard.kernel.text import one_line
from wizard.serve.endpoint import Endpoint

if TYPE_CHECKING:
    from wizard.chat.nearby import Nearby


def running(server: Endpoint | Nearby) -> tuple[str, str, Endpoint]:
    """Name, address and endpoint of a running server; of another program's, those of its first model."""
    if isinstance(server, Endpoint):
        return server.name, server.http, server
    first, more = server.endpoints[0], len(server.endpoints) - 1
    count = ntr("{count} more model", "{count} more models", more, count=more) if more else ""
    about = "; ".join(filter(None, (server.kind, count)))
    return one_line(first.model), f"{server.address} ({about})" if about else server.address, first
