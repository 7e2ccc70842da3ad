"""A server that is no Triton: it answers every request with the same bytes and hangs up."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

from tests.chat.fake_http import read_request


@contextlib.contextmanager
def fake_server(answer: bytes) -> Iterator[int]:
    """Answer with ``answer`` on a port of 127.0.0.1, which is what the block gets."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection, connection.makefile("rb") as request:
                        read_request(request)  # whole, or closing would reset the connection
                        connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def http_answer(status: str, body: str) -> bytes:
    """A whole HTTP response."""
    raw = body.encode()
    return f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n".encode() + raw
