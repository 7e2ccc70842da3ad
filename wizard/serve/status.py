"""What `triton-wizard status` says of each server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wizard.kernel.paths import ServerFolder, Workspace
from wizard.serve import find, health
from wizard.serve.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class Status:
    """A server of the workspace."""

    name: str
    state: Literal["ready", "starting", "stopped", "dead"]
    """``dead``: it was started and its process is gone although nobody stopped it."""
    endpoint: Endpoint | None
    detail: str


def status(server: ServerFolder) -> Status:
    """Look at one server now."""
    endpoint = find.note(server)
    if endpoint is None:
        return Status(server.name, "stopped", None, f"start it: triton-wizard up {server.name}")
    if not find.alive(endpoint):
        return Status(server.name, "dead", endpoint, f"its process {endpoint.pid} is gone; the log: {endpoint.log}")
    if health.is_ready(endpoint):
        return Status(server.name, "ready", endpoint, f"{endpoint.http} (gRPC {endpoint.grpc}), process {endpoint.pid}")
    return Status(server.name, "starting", endpoint, f"process {endpoint.pid} runs, the model is not ready")


def statuses(workspace: Workspace) -> list[Status]:
    """Every server of the workspace, by name."""
    return [status(workspace.server(name)) for name in workspace.names()]
