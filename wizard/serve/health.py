"""Ask a Triton server how it is, over HTTP (KServe v2 health endpoints)."""

from __future__ import annotations

import http.client

from wizard.serve.endpoint import Endpoint

TIMEOUT_S = 2.0


def status(endpoint: Endpoint, path: str) -> int | None:
    """HTTP status of ``GET path``, or None if nobody answers."""
    connection = http.client.HTTPConnection(endpoint.host, endpoint.ports.http, timeout=TIMEOUT_S)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def is_ready(endpoint: Endpoint) -> bool:
    """Whether the model is loaded; Triton says so also when its process ended later (`find.model_process`)."""
    return status(endpoint, f"/v2/models/{endpoint.model}/ready") == 200
