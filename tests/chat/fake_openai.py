"""A stand-in of an OpenAI-compatible server on loopback, and questions to it."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from wizard.chat import openai
from wizard.chat.ask import Ask
from wizard.chat.chunk import Chunk
from wizard.chat.conversation import Conversation, Sampling
from wizard.chat.stream import answer
from wizard.serve.endpoint import Endpoint

KEY = "secret-0123456789abcdef"
WORDS = ("Hi ", "😀", "é.")
ASK = Ask("m", "", 10, None, 0.95, None)


def event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: " + json.dumps({"choices": [choice]}, ensure_ascii=False).encode() + b"\n\n"


def calling(*calls: tuple[str, str], before: str = "", cut: int = 5) -> bytes:
    """The events of an answer that calls functions, as vLLM and OpenAI stream it: the name first, then the arguments in
    pieces of ``cut`` characters (platform.openai.com/docs/guides/function-calling, streaming).
    """
    events = [event({"role": "assistant", "content": before})]
    for index, (name, arguments) in enumerate(calls):
        call = {"index": index, "id": f"chat-{index}", "type": "function", "function": {"name": name, "arguments": ""}}
        events.append(event({"tool_calls": [call]}))
        for start in range(0, len(arguments), cut):
            piece = {"index": index, "function": {"arguments": arguments[start : start + cut]}}
            events.append(event({"tool_calls": [piece]}))
    return b"".join([*events, event({}, "tool_calls"), USAGE, DONE])


ROLE = event({"role": "assistant", "content": ""})
SAID = b"".join(event({"content": word}) for word in WORDS)
STOP = event({}, "stop")
USAGE = b'data: {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3}}\n\n'
DONE = b"data: [DONE]\n\n"
DEEP = b"[" * 200_000
"""JSON that no parser of Python takes: it raises RecursionError."""
WHOLE = ROLE + SAID + STOP + USAGE + DONE


@dataclass
class FakeOpenAI:
    """What it answers, and what it was asked."""

    body: bytes = WHOLE
    bodies: list[bytes] = field(default_factory=list)
    """Answers before ``body``, one for each request."""
    status: int = 200
    models: tuple[str, ...] = ("m",)
    key: str = ""
    owner: str = ""
    keys: list[str | None] = field(default_factory=list)
    length: int | None = 4096
    endless: bool = False
    raw: bytes = b""
    asked: list[dict[str, Any]] = field(default_factory=list)
    hung_up: threading.Event = field(default_factory=threading.Event)
    url: str = ""


class Handler(BaseHTTPRequestHandler):
    fake: FakeOpenAI

    def log_message(self, *_: object) -> None:
        pass

    def refused(self) -> bool:
        self.fake.keys.append(self.headers.get("Authorization"))
        wrong = bool(self.fake.key) and self.fake.keys[-1] != f"Bearer {self.fake.key}"
        if wrong:
            self.reply(401, b'{"error": {"message": "Incorrect API key provided"}}')
        return wrong

    def reply(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        if not self.refused():
            more: dict[str, Any] = {"max_model_len": self.fake.length} if self.fake.length else {}
            more |= {"owned_by": self.fake.owner} if self.fake.owner else {}
            models = json.dumps({"data": [{"id": name, **more} for name in self.fake.models]}).encode()
            self.reply(200, self.fake.raw or models)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.refused():
            return
        self.fake.asked.append({"path": self.path, **asked})
        if not self.fake.endless:
            self.reply(self.fake.status, self.fake.bodies.pop(0) if self.fake.bodies else self.fake.body)
            return
        self.send_response(200)
        self.end_headers()
        with contextlib.suppress(OSError):
            while True:
                self.wfile.write(event({"content": "x"}))
        self.fake.hung_up.set()


@contextlib.contextmanager
def serving(fake: FakeOpenAI) -> Iterator[FakeOpenAI]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"fake": fake}))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    fake.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield fake
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def asked(text: str = "Hello", **sampling: float | None) -> Conversation:
    return Conversation(sampling=Sampling(**sampling)).with_message("system", "Be brief.").with_message("user", text)  # type: ignore[arg-type]


async def read(endpoint: Endpoint, talk: Conversation | None = None) -> list[Chunk]:
    return [chunk async for chunk in answer(endpoint, talk or asked())]


async def only(base: str) -> None:
    """Ask the server at ``base`` without asking for its models before."""
    async with contextlib.aclosing(openai.stream(ASK, base)) as pieces:
        async for _ in pieces:
            pass
