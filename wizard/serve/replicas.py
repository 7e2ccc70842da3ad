"""The replicas of a server, from Triton's metrics: the engine proxy sets them (``repository/engine_replicas.py``)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from wizard.kernel import http
from wizard.kernel.language import join, tr
from wizard.serve.endpoint import Endpoint
from wizard.serve.health import TIMEOUT_S

_LINE = re.compile(
    r"^triton_wizard_replica_(state|requests|restarts)\{(.*)\} (-?\d+(?:\.\d+)?(?:e\+\d+)?)$", re.MULTILINE
)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True, slots=True)
class Replica:
    """An engine behind the proxy.

    Attributes:
        state: 1: serving, 0: being restarted, -1: not restarted any more.
        requests: Requests that were sent to it.
        restarts: How often it was started again.
    """

    state: int
    requests: int = 0
    restarts: int = 0


def replicas(endpoint: Endpoint) -> tuple[Replica, ...]:
    """The server's replicas in order; empty if it has no engine proxy, or its metrics are off."""
    return parsed(metrics(endpoint), endpoint.model)


def metrics(endpoint: Endpoint) -> str:
    """What Triton's metrics port returns; empty if it does not respond."""
    try:
        reply = http.get(f"http://{endpoint.host}:{endpoint.ports.metrics}/metrics", timeout_s=TIMEOUT_S)
    except (OSError, http.NotHttpError):
        return ""
    return reply.body.decode(errors="replace")


def parsed(text: str, model: str) -> tuple[Replica, ...]:
    """The replicas of ``model`` in the text that Triton's metrics port returns."""
    rows: dict[int, dict[str, int]] = {}
    for name, labels, value in _LINE.findall(text):
        of = dict(_LABEL.findall(labels))
        if of.get("model") == model and of.get("replica", "").isdecimal():
            rows.setdefault(int(of["replica"]), {})[name] = int(float(value))
    return tuple(Replica(**row) for _, row in sorted(rows.items()) if "state" in row)


def trouble(seen: tuple[Replica, ...]) -> str:
    """What some of the replicas lack, in words; empty if all of them serve."""
    states = [replica.state for replica in seen]
    if all(state == 1 for state in states):
        return ""
    if len(states) == 1:
        return tr("the engine exited and is being restarted") if states[0] == 0 else tr("the engine exited repeatedly")
    ready = tr("{ready} of {count} replicas ready", ready=states.count(1), count=len(states))
    again = tr("{count} being restarted", count=states.count(0)) if 0 in states else ""
    lost = tr("{count} exited repeatedly", count=states.count(-1)) if -1 in states else ""
    return join(", ", ready, again, lost)
