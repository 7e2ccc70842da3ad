"""Query a Triton server's health over HTTP (KServe v2 health endpoints)."""

from __future__ import annotations

from wizard.kernel import http
from wizard.serve.endpoint import Endpoint

TIMEOUT_S = 2.0


def status(endpoint: Endpoint, path: str) -> int | None:
    """HTTP status of ``GET path``, or None if no server responds."""
    try:
        return http.get(f"http://{endpoint.host}:{endpoint.ports.http}{path}", timeout_s=TIMEOUT_S).status
    except (OSError, http.NotHttpError):
        return None


def is_ready(endpoint: Endpoint) -> bool:
    """Whether the model is loaded; Triton reports it even if its process exited later (`find.model_process`)."""
    return status(endpoint, f"/v2/models/{endpoint.model}/ready") == 200
