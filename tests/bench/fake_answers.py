"""FakeAnswers: stands in for a server's ``/v1/chat/completions``, whole answers as OpenAI's API reference has them."""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[str], "str | int"]
"""From the question to the answer, or to the HTTP status of an error."""


def right(question: str) -> str:
    """The right answer to a sum; otherwise the question itself."""
    match = re.search(r"(\d+) \+ (\d+)\.", question)
    return f"It is {int(match[1]) + int(match[2])}" if match else question


@contextlib.contextmanager
def answering(answer: Answer = right) -> Iterator[str]:
    """Its address; the model is called ``m``."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def reply(self, status: int, data: dict[str, Any]) -> None:
            body = json.dumps(data).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            self.reply(200, {"object": "list", "data": [{"id": "m", "object": "model"}]})

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            reply = answer(asked["messages"][-1]["content"])
            if isinstance(reply, int):
                self.reply(reply, {"error": {"message": "out of memory", "type": "server_error"}})
                return
            message = {"role": "assistant", "content": reply}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            self.reply(200, {"id": "1", "object": "chat.completion", "model": "m", "choices": [choice]})

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
