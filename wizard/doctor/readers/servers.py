"""The servers of this workspace: what they use is not another program's."""

from __future__ import annotations

import ipaddress
from dataclasses import astuple

from wizard.doctor.facts import OwnServers
from wizard.kernel import proctable
from wizard.kernel.paths import Workspace
from wizard.serve import find, gateway


def servers(workspace: Workspace) -> OwnServers:
    """Those that run now."""
    running = [endpoint for name in workspace.names() if (endpoint := find.running(workspace.server(name)))]
    address = gateway.running(workspace)
    groups = {endpoint.pid for endpoint in running}
    exposed = [f"{endpoint.host}:{endpoint.ports.http}" for endpoint in running if _beyond(endpoint.host)]
    if address is not None and address.exposure.beyond:
        exposed.append(address.url)
    return OwnServers(
        ports={port: endpoint.name for endpoint in running for port in astuple(endpoint.ports)},
        processes=frozenset(row.pid for row in proctable.processes() if row.group in groups) if groups else frozenset(),
        in_containers=tuple(endpoint.name for endpoint in running if endpoint.remove),
        exposed=tuple(exposed),
    )


def _beyond(host: str) -> bool:
    """Whether an address is more than this machine's own; a name counts, as it may be any."""
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host != "localhost"
