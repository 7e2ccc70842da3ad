"""One HTTP request of which the answer is read line by line as it comes (RFC 9112), as server-sent events are."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from urllib.parse import urlsplit

from wizard.chat.ask import lost, unreachable
from wizard.kernel.language import tr

CONNECT_S = 5.0


async def lines(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    foreign: Callable[[str, object], Exception],
    sent: Callable[[], object] = lambda: None,
) -> AsyncGenerator[tuple[int, bytes], None]:
    """POST ``body`` to ``url`` and yield the status with every line of the answer; closing it hangs up.

    Args:
        url: ``http://…`` or ``https://…``.
        body: JSON.
        headers: More than those that every request has.
        foreign: The error for an answer that is no HTTP, from the address and what is wrong.
        sent: Called when everything is connected and the request goes out.

    Raises:
        ServerError: TW-C01 if nobody answers, TW-C03 if the connection ends before the answer does, and ``foreign``.
    """
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    where = f"{parts.scheme}://{parts.netloc}"
    try:
        opening = asyncio.open_connection(parts.hostname, parts.port or (443 if secure else 80), ssl=secure or None)
        reader, writer = await asyncio.wait_for(opening, CONNECT_S)
    except (OSError, asyncio.TimeoutError) as error:
        raise unreachable(where, error or tr("no answer")) from error
    try:
        sent()
        writer.write(_head(parts.path, parts.netloc, len(body), headers) + body)
        await writer.drain()
        async for status, line in _answer(reader):
            yield status, line
    except (OSError, asyncio.IncompleteReadError) as error:
        raise lost(where, error) from error
    except (ValueError, asyncio.LimitOverrunError) as error:
        raise foreign(where, error) from error
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


def _head(path: str, host: str, length: int, headers: Mapping[str, str]) -> bytes:
    fields = {
        "Host": host,
        "Content-Type": "application/json",
        "Content-Length": str(length),
        "Connection": "close",
        **headers,
    }
    text = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"POST {path} HTTP/1.1\r\n{text}\r\n".encode("ascii")


async def _answer(reader: asyncio.StreamReader) -> AsyncGenerator[tuple[int, bytes], None]:
    """The status with each line, whether the body comes in chunks or in one piece (sections 6 and 7).

    A server may keep the connection although it was asked to close it: then a body ends where its length says.
    """
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    if not head.startswith(b"http/"):
        raise ValueError(f"it says {head[:40]!r}")
    status = int(head.split(None, 2)[1])
    chunked = b"\r\ntransfer-encoding: chunked" in head
    length = re.search(rb"\r\ncontent-length:([^\r]*)", head)
    rest = b""
    async for data in _chunks(reader) if chunked else _parts(reader, length and _length(length[1])):
        *whole, rest = (rest + data).split(b"\n")
        for line in whole:
            yield status, line
    if rest or status != 200:
        yield status, rest


async def _chunks(reader: asyncio.StreamReader) -> AsyncGenerator[bytes, None]:
    while size := int(await reader.readuntil(b"\n"), 16):
        yield (await reader.readexactly(size + 2))[:-2]


def _length(text: bytes) -> int:
    if not text.strip().isdigit():
        raise ValueError(f"a length of {text[:40]!r}")
    return int(text)


async def _parts(reader: asyncio.StreamReader, length: int | None) -> AsyncGenerator[bytes, None]:
    """The body up to its length, or to the end of the connection if it says none."""
    left = length
    while left != 0 and (data := await reader.read(65536 if left is None else min(left, 65536))):
        yield data
        left = None if left is None else left - len(data)
    if left:
        raise asyncio.IncompleteReadError(b"", left)
