"""What the network returns: all requests at the same time, each with a time limit, in threads that nothing waits for.

Ctrl-C ends the waiting at once. The token is sent to the Hub only, by huggingface_hub.
"""

from __future__ import annotations

import email.utils
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

from wizard.catalog.models import curated
from wizard.doctor.facts import Internet, Response
from wizard.kernel import http
from wizard.kernel.errors import WizardError
from wizard.kernel.language import tr
from wizard.kernel.secrets import redact
from wizard.kernel.text import one_line
from wizard.model.cache import endpoint
from wizard.model.hub.access import has_token
from wizard.model.hub.account import Account, account, may_read
from wizard.probe.ask import Answer, asking

LIMIT_S = 8.0
"""Seconds for each request, and so for all of them."""
_INDEX = ("-m", "pip", "index", "versions", "pip", "--retries", "0", "--timeout", "5")
"""pip looks for itself: it alone knows which index, proxy and certificates it is configured to use."""

T = TypeVar("T")


def internet() -> Internet:
    """Look everything up (≤ `LIMIT_S` and a moment)."""
    address = endpoint()
    proxied, token = http.proxied(address), has_token()
    late = Response(None, tr("no response within {seconds:.0f} s", seconds=LIMIT_S))
    work: dict[str, Callable[[], Any]] = {"hub": lambda: _hub(address)}
    if not proxied:
        work["names"] = lambda: _names(address)
    repos = sorted(model.repo for model in curated().values() if model.gated) if token else []
    if token:
        work["token"] = account
        work |= {repo: partial(may_read, repo) for repo in repos}
    with asking({"index": (sys.executable, *_INDEX)}, LIMIT_S) as programs:
        results = together(work, LIMIT_S)
        index = _index(programs["index"].answer())
    owner = results.get("token", late)
    return Internet(
        endpoint=address,
        proxied=proxied,
        names=_response(results.get("names", late)),
        hub=_response(results.get("hub", late)),
        index=index,
        has_token=token,
        token=_token(owner),
        account=owner if isinstance(owner, Account) else None,
        gated={repo: access if isinstance(access := results.get(repo), bool) else None for repo in repos},
    )


def together(work: Mapping[str, Callable[[], T]], seconds: float) -> dict[str, T | Exception]:
    """The results of all ``work``, or its exceptions; what is not finished after ``seconds`` is missing."""
    results: dict[str, T | Exception] = {}

    def run(name: str, function: Callable[[], T]) -> None:
        try:
            results[name] = function()
        except Exception as error:  # it is a result, too
            results[name] = error

    threads = [threading.Thread(target=run, args=item, name=item[0], daemon=True) for item in work.items()]
    until = time.monotonic() + seconds
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return dict(results)


def _names(address: str) -> Response:
    parts = urlsplit(address)
    try:
        socket.getaddrinfo(parts.hostname, parts.port or 443, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        return Response(False, _short(getattr(error, "strerror", None) or error))
    return Response(True)


def _hub(address: str) -> Response:
    """A search for one model: a small JSON list, which a captive portal or a proxy's page is not."""
    reply = http.get(f"{address}/api/models?limit=1", timeout_s=LIMIT_S)
    ahead = _ahead(reply.date)
    try:
        good = reply.status == 200 and isinstance(json.loads(reply.body), list)
    except (ValueError, RecursionError):
        good = False
    problem = "" if good else tr("not the Hub's API (HTTP {status})", status=reply.status)
    return Response(good, problem, clock_ahead_s=ahead)


def _ahead(date: str) -> float | None:
    try:
        return time.time() - email.utils.parsedate_to_datetime(date).timestamp()
    except (TypeError, ValueError):
        return None


def _response(result: Response | Exception) -> Response:
    if isinstance(result, Response):
        return result
    return Response(False, _short(result), untrusted=isinstance(result, http.UntrustedError))


def _token(owner: Any) -> Response:
    """Whether the Hub accepts the token: ``owner`` is the account, None if not, or why that is not known."""
    if isinstance(owner, Response):
        return owner
    if isinstance(owner, Exception):
        return Response(None, owner.what if isinstance(owner, WizardError) else _short(owner))
    return Response(owner is not None)


def _index(answer: Answer) -> Response:
    """Of pip: it looks for one of its own releases. Releases before 21.2 have no such command."""
    if answer.status == 0:
        return Response(True)
    if answer.status is None or "No module named" in answer.err or "unknown command" in answer.err:
        return Response(None, _short(answer.err))
    errors = [line for line in answer.err.splitlines() if line.startswith("ERROR: ")]
    return Response(False, _short(errors[0].removeprefix("ERROR: ") if errors else answer.err))


def _short(text: object) -> str:
    return one_line(redact(str(text)))[:200]
