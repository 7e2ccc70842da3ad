"""Ports for what the tests start: no client is given one of them, and no other test takes them meanwhile."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

from wizard.probe.ports import is_free

FIRST, BEYOND, BLOCK = 20_000, 30_000, 10
"""Below what Linux gives to clients: 32768 and up (ip(7), ``ip_local_port_range``)."""


@contextlib.contextmanager
def reserved() -> Iterator[int]:
    """The first of nine ports that are free one after the other; the tenth is held, so that others pass them over."""
    for first in range(FIRST, BEYOND, BLOCK):
        with socket.socket() as holder:
            last = first + BLOCK - 1
            with contextlib.suppress(OSError):
                holder.bind(("127.0.0.1", last))
            if holder.getsockname()[1] == last and all(is_free(port) for port in range(first, last)):
                yield first
                return
    raise OSError(f"no ports from {FIRST} to {BEYOND} are free")
