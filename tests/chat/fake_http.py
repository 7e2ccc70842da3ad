"""An HTTP server on loopback, and a proxy, that send exactly the bytes that a test writes down (RFC 9112)."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


@dataclass
class FakeHttp:
    """What arrived: each request's head (request line and fields) and body."""

    port: int = 0
    heads: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    hung_up: threading.Event = field(default_factory=threading.Event)
    """A client closed its connection before the test's answer was at its end."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def lines(self) -> list[str]:
        """The request lines."""
        return [head.split("\r\n")[0] for head in self.heads]


@contextlib.contextmanager
def serving_bytes(answer: Callable[[str], bytes], *, endless: bytes = b"") -> Iterator[FakeHttp]:
    """Answer each request with ``answer(request line)``, then with ``endless`` until the client hangs up."""
    fake = FakeHttp()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        fake.port = listener.getsockname()[1]

        def serve_connection(connection: socket.socket) -> None:
            with connection, contextlib.suppress(OSError), connection.makefile("rb") as reader:
                while request := read_request(reader):
                    head, body = request
                    fake.heads.append(head)
                    fake.bodies.append(body)
                    connection.sendall(answer(head.split("\r\n")[0]))
                    if endless:
                        try:
                            while True:
                                connection.sendall(endless)
                        except OSError:
                            fake.hung_up.set()
                            raise

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    threading.Thread(target=serve_connection, args=(connection,), daemon=True).start()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield fake
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def read_request(reader: BinaryIO) -> tuple[str, bytes] | None:
    """The head (request line and fields) and body of the next request; None at the connection's end."""
    lines = []
    while (line := reader.readline()).strip():
        lines.append(line.decode())
    if not lines:
        return None
    fields = dict(line.lower().strip().split(": ", 1) for line in lines[1:])
    return "".join(lines), reader.read(int(fields.get("content-length", 0)))


def chunk(data: bytes, extension: str = "") -> bytes:
    """One chunk of a body."""
    return f"{len(data):x}{extension}\r\n".encode() + data + b"\r\n"


def whole(body: bytes, status: str = "200 OK", *fields: str) -> bytes:
    """A response of known length; the connection stays open."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *fields]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body
