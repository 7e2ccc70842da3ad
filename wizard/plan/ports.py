"""The ports of a server: the preferred ones, or the next free ones, with a note."""

from __future__ import annotations

from dataclasses import dataclass

from wizard.kernel.language import mark, tr
from wizard.probe.ports import choose


@dataclass(frozen=True, slots=True)
class Ports:
    """The three TCP ports of a Triton server."""

    http: int = 8000
    grpc: int = 8001
    metrics: int = 8002


def free(preferred: Ports, host: str = "127.0.0.1") -> tuple[Ports, list[str]]:
    """Ports that are free on ``host`` now, and a sentence for each that differs from the preferred one."""
    chosen: dict[str, int] = {}
    changes: list[str] = []
    for protocol, port in (("HTTP", preferred.http), ("gRPC", preferred.grpc), (mark("metrics"), preferred.metrics)):
        chosen[protocol] = choose(port, host, set(chosen.values()))
        if chosen[protocol] != port:
            text = tr(
                "Port {port} is in use; the {what} port is {chosen} instead.",
                port=port,
                what=tr(protocol),
                chosen=chosen[protocol],
            )
            changes.append(text)
    return Ports(chosen["HTTP"], chosen["gRPC"], chosen["metrics"]), changes
