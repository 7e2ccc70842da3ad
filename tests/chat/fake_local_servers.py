"""Stand-ins of other programs' servers on loopback, made from their documented replies.

Each lacks what the real one lacks: Ollama's and LM Studio's lists of models have no context length, only vLLM's has
``max_model_len``, only llama-server's has ``meta``, and Triton has no list of that kind.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar


@dataclass
class FakeLocalServer:
    """An OpenAI-compatible server; ``usage`` is sent if the request asks for it and the server can."""

    models: tuple[str, ...] = ("m",)
    usage: ClassVar[bool] = True
    asked: list[tuple[str, str]] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    port: int = 0
    html: bool = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def entry(self, model: str) -> dict[str, Any]:
        """A model in ``GET /v1/models``."""
        raise NotImplementedError

    def get(self, path: str) -> tuple[int, Any]:
        if path == "/v1/models":
            return 200, {"object": "list", "data": [self.entry(model) for model in self.models]}
        return 404, {"error": {"message": "not found"}}

    def post(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        del path, body
        return 404, {"error": {"message": "not found"}}


class FakeOllama(FakeLocalServer):
    """``GET /v1/models``: ollama/ollama openai/openai.go (ToListCompletion); ``/api/tags``: docs/api.md."""

    def entry(self, model: str) -> dict[str, Any]:
        owner = model.split("/")[-2] if "/" in model else "library"
        return {"id": model, "object": "model", "created": 1735142223, "owned_by": owner}

    def get(self, path: str) -> tuple[int, Any]:
        if path == "/api/tags":
            return 200, {"models": [{"name": model, "model": model, "size": 1} for model in self.models]}
        return super().get(path)


class FakeLlamaServer(FakeLocalServer):
    """ggml-org/llama.cpp tools/server/README.md: one model, its ``meta``, and ``GET /props``."""

    def entry(self, model: str) -> dict[str, Any]:
        meta = {"vocab_type": 2, "n_vocab": 128256, "n_ctx_train": 131072, "n_ctx": 16384}
        return {"id": model, "object": "model", "created": 1735142223, "owned_by": "llamacpp", "meta": meta}

    def get(self, path: str) -> tuple[int, Any]:
        if path == "/props":
            return 200, {"default_generation_settings": {"n_ctx": 16384}, "total_slots": 1}
        return super().get(path)


class FakeLMStudio(FakeLocalServer):
    """LM Studio's OpenAI-compatible endpoints (lmstudio.ai/docs/api/openai-api): its list of models names no context.
    It counts no tokens, as its releases before ``stream_options`` (lmstudio.ai/docs/developer/api-changelog).
    """

    usage = False

    def entry(self, model: str) -> dict[str, Any]:
        return {"id": model, "object": "model", "owned_by": "organization_owner"}


class FakeVllm(FakeLocalServer):
    """``ModelCard`` in vllm/entrypoints/openai."""

    def entry(self, model: str) -> dict[str, Any]:
        return {"id": model, "object": "model", "created": 1, "owned_by": "vllm", "root": model, "max_model_len": 8192}


class FakeTriton(FakeLocalServer):
    """Triton's own protocol: ``GET /v2``, ``POST /v2/repository/index``, ``GET /v2/models/NAME/config``
    (triton-inference-server/server docs/protocol). Unknown paths have an empty body. The second model cannot chat.
    """

    def get(self, path: str) -> tuple[int, Any]:
        if path == "/v2":
            return 200, {"name": "triton", "version": "2.51.0", "extensions": ["model_repository"]}
        text = [{"name": "text_input", "data_type": "TYPE_STRING", "dims": [1]}]
        if path == f"/v2/models/{self.models[0]}/config":
            stream = [{"name": "stream", "data_type": "TYPE_BOOL", "dims": [1], "optional": True}]
            parameters = [{"name": "sampling_parameters", "data_type": "TYPE_STRING", "dims": [1], "optional": True}]
            output = [{"name": "text_output", "data_type": "TYPE_STRING", "dims": [-1]}]
            return 200, {"name": self.models[0], "input": text + stream + parameters, "output": output}
        if path.startswith("/v2/models/"):
            pixels = [{"name": "pixels", "data_type": "TYPE_FP32", "dims": [3]}]
            return 200, {"name": "resnet", "input": pixels, "output": pixels}
        return 404, None

    def post(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        if path == "/v2/repository/index" and body == {"ready": True}:
            return 200, [{"name": model, "version": "1", "state": "READY"} for model in self.models]
        return 404, None


class Handler(BaseHTTPRequestHandler):
    fake: FakeLocalServer

    def log_message(self, *_: object) -> None:
        pass

    def send(self, status: int, data: Any) -> None:
        body = b"" if data is None else json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.fake.asked.append(("GET", self.path))
        self.send(*self.fake.get(self.path))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.fake.asked.append(("POST", self.path))
        self.fake.bodies.append(body)
        if self.path != "/v1/chat/completions":
            self.send(*self.fake.post(self.path, body))
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for word in (f"I am {body['model']}", ", ", "at your ", "service."):
            self.event({"choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]})
        self.event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        if self.fake.usage and body.get("stream_options", {}).get("include_usage"):
            self.event({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 7}})
        self.wfile.write(b"data: [DONE]\n\n")

    def event(self, data: Any) -> None:
        self.wfile.write(b"data: " + json.dumps(data).encode() + b"\n\n")


Kind = FakeLocalServer


@contextlib.contextmanager
def local_server(fake: Kind, port: int = 0) -> Iterator[Kind]:
    """``fake``, listening."""
    server = ThreadingHTTPServer(("127.0.0.1", port), type("Bound", (Handler,), {"fake": fake}))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    fake.port = server.server_address[1]
    try:
        yield fake
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.contextmanager
def silent_port(trickle: bytes = b"") -> Iterator[int]:
    """A port that takes connections and never answers; with ``trickle``, it repeats these bytes until the client hangs
    up.
    """
    over = threading.Event()
    connections: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def feed(connection: socket.socket) -> None:
            with contextlib.suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\nX-Header: ")
                while not over.wait(0.02):
                    connection.sendall(trickle)

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    connections.append(connection)
                    if trickle:
                        threading.Thread(target=feed, args=(connection,), daemon=True).start()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            over.set()
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in connections:
                connection.close()
