"""Free TCP ports on this machine."""

from __future__ import annotations

import socket

from wizard.kernel.errors import HostError
from wizard.kernel.language import tr

TRITON_PORTS = (8000, 8001, 8002)
"""Triton's defaults: HTTP, gRPC, metrics."""
_LAST = 65535


def _check_allowed(port: int, host: str) -> None:
    """The user may listen on ``port``: Linux reserves the lower ones (ip(7), ``ip_unprivileged_port_start``).

    Raises:
        HostError: TW-P17 if not.
    """
    with socket.socket(_family(host), socket.SOCK_STREAM) as probe:
        try:
            probe.bind((host, port))
        except PermissionError as error:
            message = tr("you may not use port {port}: this system reserves low ports for root", port=port)
            raise HostError("TW-P17", message, tr("Choose a port from 1024 on.")) from error
        except (OSError, OverflowError):
            return


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def is_free(port: int, host: str = "127.0.0.1") -> bool:
    """Whether a server can listen on ``port`` of ``host`` now.

    SO_REUSEADDR ignores connections that are closing (TIME_WAIT), as servers do.
    """
    with socket.socket(_family(host), socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, OverflowError):
            return False
    return True


def choose(first: int, host: str, taken: set[int]) -> int:
    """The first free port from ``first`` on that is not in ``taken``.

    Raises:
        HostError: TW-P09 if no port up to 65535 is free, TW-P17 if the user may not use ``first``.
    """
    _check_allowed(first, host)
    for port in range(first, _LAST + 1):
        if port not in taken and is_free(port, host):
            return port
    raise HostError(
        "TW-P09",
        tr("no free port from {wanted} to {last} on {host}", wanted=first, last=_LAST, host=host),
        tr("Choose a lower port with --http-port, or stop the programs that use these ports."),
    )
