"""Who may use the address: programs of this machine, or whoever has the key."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from wizard.gateway import messages
from wizard.gateway.faults import Fault
from wizard.serve.exposure import Exposure

LOCAL = frozenset({"127.0.0.1", "localhost", "::1"})


REQUESTS = 512
"""At once; more are refused."""


def limited(app: ASGIApp) -> ASGIApp:
    """``app`` for at most `REQUESTS` requests at once."""
    running = 0

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal running
        if scope["type"] == "http" and running >= REQUESTS:
            full = Fault("TW-G08", 503, f"{REQUESTS} requests are being answered; try again")
            await _refused(full, scope, receive, send)
            return
        running += 1
        try:
            await app(scope, receive, send)
        finally:
            running -= 1

    return answer


def guarded(app: ASGIApp, exposure: Exposure, key: str = "") -> ASGIApp:
    """``app`` for those that ``exposure`` is for; with a ``key``, for those who have it."""
    safe = _keyed(app, key) if key else _local(app, exposure)
    if not exposure.cors_origins:
        return safe
    everything = {"allow_methods": ["GET", "POST"], "allow_headers": ["*"], "allow_private_network": True}
    return CORSMiddleware(safe, allow_origins=exposure.cors_origins, **everything)  # type: ignore[arg-type]


def _keyed(app: ASGIApp, key: str) -> ASGIApp:
    """Only with the key, as a header of OpenAI's clients or of Anthropic's. ``/health`` is for everybody."""
    digest = hashlib.sha256(key.encode()).digest()

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] != "/health":
            headers = Headers(scope=scope)
            kind, _, given = headers.get("authorization", "").partition(" ")
            given = given.strip() if kind.lower() == "bearer" else headers.get("x-api-key", "")
            if not hmac.compare_digest(hashlib.sha256(given.encode()).digest(), digest):
                why = "the API key is wrong" if given else "an API key is required: Authorization: Bearer KEY"
                await _refused(Fault("TW-G11", 401, why, None, "invalid_api_key"), scope, receive, send)
                return
        await app(scope, receive, send)

    return checked


def _local(app: ASGIApp, exposure: Exposure) -> ASGIApp:
    """Only for programs of this machine: a web page reaches 127.0.0.1 by a name of its own (DNS rebinding), or from
    another origin; a browser tells either.
    """
    hosts = LOCAL | {exposure.host}

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            host, origin = headers.get("host", ""), headers.get("origin", "")
            known = not origin or origin in exposure.cors_origins or _name(origin) in hosts
            if not (known and _name(f"//{host}") in hosts):
                why = f"only for programs on this machine, not for {(host if known else origin)[:100]!r}"
                await _refused(Fault("TW-G06", 403, why), scope, receive, send)
                return
        await app(scope, receive, send)

    return checked


def _name(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def shaped(fault: Fault, path: str) -> dict[str, Any]:
    """An error in the shape of the API that ``path`` belongs to."""
    return messages.error(fault) if path.startswith(messages.PATH) else fault.body()


async def _refused(fault: Fault, scope: Scope, receive: Receive, send: Send) -> None:
    headers = {"WWW-Authenticate": "Bearer"} if fault.status == 401 else None
    await JSONResponse(shaped(fault, scope["path"]), fault.status, headers)(scope, receive, send)
