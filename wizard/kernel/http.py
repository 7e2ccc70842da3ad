"""HTTP by ``httpx2``, the client that ``huggingface_hub`` brings: the only file that imports it.

Proxies are those of the environment (``HTTP_PROXY``, ``HTTPS_PROXY``, ``ALL_PROXY``, ``NO_PROXY``), except for this
machine: no proxy has a way to it. Redirects are followed; another origin does not get the ``Authorization`` header
(``_redirect_headers`` of httpx2).
"""

from __future__ import annotations

import contextlib
import functools
import ipaddress
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from urllib.parse import urlsplit

from wizard.kernel.language import tr

if TYPE_CHECKING:
    import ssl

    import httpx2

Client = TypeVar("Client")

CONNECT_S = 5.0

_ENDED = ("Server disconnected", "peer closed connection")
"""How httpcore2 and h11 begin the message of a protocol error that is an early end of the connection."""


class NoConnectionError(OSError):
    """No HTTP server answers there, or not in time."""


class LostConnectionError(OSError):
    """The connection ended before the response did."""


class NotHttpError(ValueError):
    """What came is not HTTP, or leads nowhere (endless redirects)."""


class Reply(NamedTuple):
    """A whole response."""

    status: int
    body: bytes


def get(url: str, *, timeout_s: float, headers: Mapping[str, str] | None = None) -> Reply:
    """GET ``url``; connecting, writing and each read may take ``timeout_s``.

    Raises:
        NoConnectionError, LostConnectionError, NotHttpError: As they say.
    """
    import httpx2

    with _errors(), _client(httpx2.Client, url, httpx2.Timeout(timeout_s)) as client:
        response = client.get(url, headers=headers)
        return Reply(response.status_code, response.content)


async def post_lines(
    url: str, body: bytes, headers: Mapping[str, str] | None = None, sent: Callable[[], object] = lambda: None
) -> AsyncGenerator[tuple[int, bytes], None]:
    """POST the JSON ``body`` and yield the status with every line of the answer as it comes; closing it hangs up.

    A response that is not 200 yields at least one line, which may be empty.

    Args:
        url: ``http://…`` or ``https://…``.
        body: JSON.
        headers: More than those that every request has.
        sent: Called when a connection stands and a request goes out on it; once more after each redirect.

    Raises:
        NoConnectionError, LostConnectionError, NotHttpError: As they say.
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


def local(host: str) -> bool:
    """Whether ``host`` names this machine."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    return address.is_loopback or address.is_unspecified


def _client(kind: Callable[..., Client], url: str, timeout: httpx2.Timeout) -> Client:
    """A client of httpx2 for a request to ``url``."""
    import httpx2

    direct = local(urlsplit(url).hostname or "")
    try:
        return kind(timeout=timeout, follow_redirects=True, verify=_certificates(), trust_env=not direct)
    except (ImportError, ValueError, httpx2.InvalidURL) as error:  # ImportError: SOCKS needs one more package
        raise NoConnectionError(tr("cannot use the proxy from the environment: {error}", error=error)) from error


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Read once: it takes some 20 ms."""
    import httpx2

    return httpx2.create_ssl_context()


@contextlib.contextmanager
def _errors() -> Iterator[None]:
    """httpx2's errors as the three of this file."""
    import httpx2

    try:
        yield
    except (httpx2.ConnectError, httpx2.TimeoutException, httpx2.ProxyError) as error:
        raise NoConnectionError(_words(error)) from error
    except httpx2.NetworkError as error:
        raise LostConnectionError(_words(error)) from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        ended = isinstance(error, httpx2.RemoteProtocolError) and str(error).startswith(_ENDED)
        raise (LostConnectionError if ended else NotHttpError)(_words(error)) from error


def _words(error: BaseException) -> str:
    """What the system said, where it said something: httpx2 hides a refused connection behind its own words."""
    cause: BaseException | None = error
    while cause and not (isinstance(cause, OSError) and cause.strerror):
        cause = cause.__cause__ or cause.__context__
    return str(cause or error) or (tr("no answer") if "Timeout" in type(error).__name__ else repr(error))
