"""Free ports for a server: the wanted ones, moved upwards where somebody holds one, and said."""

from __future__ import annotations

from wizard.plan.plan import Ports
from wizard.probe.ports import choose


def free(wanted: Ports, host: str = "127.0.0.1") -> tuple[Ports, list[str]]:
    """Ports that are free on ``host`` now, and a sentence for each that had to be moved."""
    taken: set[int] = set()
    said: list[str] = []
    for what, port in (("HTTP", wanted.http), ("gRPC", wanted.grpc), ("metrics", wanted.metrics)):
        got = choose(port, host, taken)
        taken.add(got)
        if got != port:
            said.append(f"Port {port} is held by another process; {what} uses {got} instead.")
    http, grpc, metrics = sorted(taken)
    return Ports(http, grpc, metrics), said
