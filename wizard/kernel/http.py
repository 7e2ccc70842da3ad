"""HTTP through ``httpx2``, the client that ``huggingface_hub`` depends on: the only file that imports it.

Proxies come from the environment (``HTTP_PROXY``, ``HTTPS_PROXY``, ``ALL_PROXY``, ``NO_PROXY``), except for this
machine, which no proxy can reach. Redirects are followed; another origin does not get the ``Authorization`` header
(``_redirect_headers`` of httpx2).
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import ipaddress
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast
from urllib.parse import urlsplit

from wizard.kernel.language import tr

if TYPE_CHECKING:
    import ssl

    import httpx2

Client = TypeVar("Client")

CONNECT_S = 5.0
LARGEST_GLANCE = 2**20
"""Bytes; a list of a thousand models has about a tenth."""

_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
"""An empty line (html.spec.whatwg.org/multipage/server-sent-events.html, "Parsing an event stream")."""
_ENDED = ("Server disconnected", "peer closed connection")
"""Prefixes of the httpcore2 and h11 messages for a connection that ended early."""


class NoConnectionError(OSError):
    """No HTTP server responds there, or not in time."""


class UntrustedError(NoConnectionError):
    """The server's certificate was rejected."""


class LostConnectionError(OSError):
    """The connection ended before the response did."""


class NotHttpError(ValueError):
    """The response is not HTTP, or redirects endlessly."""


class Reply(NamedTuple):
    """A complete response."""

    status: int
    body: bytes
    date: str = ""
    """The server's time, as its ``Date`` header has it (RFC 9110, 6.6.1)."""


def get(
    url: str, *, timeout_s: float, headers: Mapping[str, str] | None = None, trusted: ssl.SSLContext | None = None
) -> Reply:
    """GET ``url``; connecting, writing and each read may take ``timeout_s`` seconds. ``trusted``: instead of the
    system's certificates.

    Raises:
        NoConnectionError, LostConnectionError, NotHttpError: See their docstrings.
    """
    import httpx2

    with _errors(), _client(httpx2.Client, url, httpx2.Timeout(timeout_s), trusted) as client:
        response = client.get(url, headers=headers)
        return Reply(response.status_code, response.content, response.headers.get("Date", ""))


def prepare() -> None:
    """Load the client, so that a `glance` does not wait for it."""
    import httpx2

    _ = httpx2.AsyncClient, _certificates()


async def glance(url: str, *, within_s: float, body: bytes | None = None, largest: int = LARGEST_GLANCE) -> Reply:
    """GET ``url``, or POST the JSON ``body``, without following redirects; cancelling it disconnects.

    Args:
        url: ``http://…``.
        within_s: Seconds that all of it may take, however slowly it arrives.
        body: JSON.
        largest: Bytes of the response; more are `NotHttpError`.

    Raises:
        NoConnectionError, LostConnectionError, NotHttpError: See their docstrings.
    """
    import httpx2

    async def whole() -> Reply:
        client = _client(httpx2.AsyncClient, url, httpx2.Timeout(None), follow=False)
        method, fields = ("GET", {}) if body is None else ("POST", {"Content-Type": "application/json"})
        fields = {**fields, "Accept-Encoding": "identity"}
        async with client, client.stream(method, url, content=body, headers=fields) as response:
            data = b""
            async for piece in response.aiter_raw():
                data += piece
                if len(data) > largest:
                    raise NotHttpError(tr("the response is too long"))
            return Reply(response.status_code, data)

    with _errors():
        try:
            return await asyncio.wait_for(whole(), within_s)
        except asyncio.TimeoutError as error:
            raise NoConnectionError(tr("no response")) from error


async def post_lines(
    url: str, body: bytes, headers: Mapping[str, str] | None = None, sent: Callable[[], object] = lambda: None
) -> AsyncGenerator[tuple[int, bytes], None]:
    """POST the JSON ``body`` and yield the status with each line of the response as it arrives; closing it disconnects.

    A response other than 200 yields at least one line, which may be empty.

    Args:
        url: ``http://…`` or ``https://…``.
        body: JSON.
        headers: Headers to add to the default ones.
        sent: Called when a connection is open and a request is sent on it; again after each redirect.

    Raises:
        NoConnectionError, LostConnectionError, NotHttpError: See their docstrings.
    """
    import httpx2

    async def trace(event: str, _info: object) -> None:
        if event == "http11.send_request_headers.started":
            sent()

    fields = {"Content-Type": "application/json", "Accept-Encoding": "identity", **(headers or {})}
    timeout = httpx2.Timeout(None, connect=CONNECT_S)
    with _errors():
        async with (
            _client(httpx2.AsyncClient, url, timeout) as client,
            client.stream("POST", url, content=body, headers=fields, extensions={"trace": trace}) as response,
        ):
            rest = b""
            async for data in response.aiter_bytes():
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    yield response.status_code, line
            if rest or response.status_code != 200:
                yield response.status_code, rest


def bounded_client(url: str, headers: Mapping[str, str], largest: int) -> httpx2.AsyncClient:
    """An asynchronous client for the server at ``url`` that sends ``headers`` and follows no redirects.

    A response with more than ``largest`` bytes, or a compressed one, ends with an error of httpx2. Of a stream of
    server-sent events, which may never end, each event may have so many.
    """
    import httpx2

    class Bounded(httpx2.AsyncByteStream):
        def __init__(self, body: httpx2.AsyncByteStream, *, events: bool) -> None:
            self._body, self._events = body, events

        async def __aiter__(self) -> AsyncIterator[bytes]:
            count, last = 0, b""
            async for data in self._body:
                count += len(data)
                if count > largest:
                    raise httpx2.DecodingError(tr("the response is too long"))
                if self._events:
                    data_and_before = last + data
                    for end in _EVENT_END.finditer(data_and_before):
                        count = len(data_and_before) - end.end()
                    last = data_and_before[-3:]
                yield data

        async def aclose(self) -> None:
            await self._body.aclose()

    async def bound(response: httpx2.Response) -> None:
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise httpx2.DecodingError(tr("the response is compressed"))
        events = response.headers.get("Content-Type", "").startswith("text/event-stream")
        response.stream = Bounded(cast("httpx2.AsyncByteStream", response.stream), events=events)

    client = _client(httpx2.AsyncClient, url, httpx2.Timeout(None, connect=CONNECT_S), follow=False)
    client.headers.update({**headers, "Accept-Encoding": "identity"})
    client.event_hooks = {"request": [], "response": [bound]}
    return client


def proxied(url: str) -> bool:
    """Whether a request to ``url`` uses a proxy of the environment."""
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    host, proxies = parts.hostname or "", getproxies()
    return not local(host) and not proxy_bypass(host) and bool({parts.scheme, "all"} & proxies.keys())


def local(host: str) -> bool:
    """Whether ``host`` is this machine."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    return address.is_loopback or address.is_unspecified


def _client(
    kind: Callable[..., Client],
    url: str,
    timeout: httpx2.Timeout,
    trusted: ssl.SSLContext | None = None,
    *,
    follow: bool = True,
) -> Client:
    """An httpx2 client for a request to ``url``."""
    import httpx2

    direct = local(urlsplit(url).hostname or "")
    try:
        return kind(timeout=timeout, follow_redirects=follow, verify=trusted or _certificates(), trust_env=not direct)
    except (ImportError, ValueError, httpx2.InvalidURL) as error:  # ImportError: SOCKS requires an additional package
        raise NoConnectionError(tr("cannot use the proxy from the environment: {error}", error=error)) from error


@functools.cache
def _certificates() -> ssl.SSLContext:
    """The system's certificates, read once: it takes some 20 ms."""
    import httpx2

    return httpx2.create_ssl_context()


@contextlib.contextmanager
def _errors() -> Iterator[None]:
    """Map httpx2's errors to the three of this module."""
    import httpx2

    try:
        yield
    except (httpx2.ConnectError, httpx2.TimeoutException, httpx2.ProxyError) as error:
        raise (UntrustedError if _is_untrusted(error) else NoConnectionError)(_words(error)) from error
    except httpx2.NetworkError as error:
        raise LostConnectionError(_words(error)) from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        ended = isinstance(error, httpx2.RemoteProtocolError) and str(error).startswith(_ENDED)
        raise (LostConnectionError if ended else NotHttpError)(_words(error)) from error


def _is_untrusted(error: BaseException) -> bool:
    """Whether OpenSSL rejected the certificate; compared by name, because ``ssl`` takes long to import."""
    cause: BaseException | None = error
    while cause and type(cause).__name__ != "SSLCertVerificationError":
        cause = cause.__cause__ or cause.__context__
    return cause is not None


def _words(error: BaseException) -> str:
    """The operating system's error message if there is one: httpx2 replaces "connection refused" with its own words."""
    cause: BaseException | None = error
    while cause and not (isinstance(cause, OSError) and cause.strerror):
        cause = cause.__cause__ or cause.__context__
    return str(cause or error) or (tr("no response") if "Timeout" in type(error).__name__ else repr(error))
