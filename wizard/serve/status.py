"""What `status` says of a server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wizard.serve.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class Status:
    """A server of the workspace."""

    name: str
    state: Literal["ready", "starting", "stopped", "dead"]
    """``dead``: it was started and its process is gone although nobody stopped it."""
    endpoint: Endpoint | None
    detail: str
    disk_bytes: int | None = None
