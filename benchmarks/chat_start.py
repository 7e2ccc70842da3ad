"""What ``triton-wizard chat`` imports, and how long that takes, before its first question goes out.

Usage: ``.venv/bin/python benchmarks/chat_start.py [RUNS]``. A stand-in of Triton on loopback describes a model with the
chat template of the offline demo; the clock stops when the question arrives there (over gRPC, over HTTP, and at an
OpenAI-compatible address). ``modules`` and ``imports`` are what ``-X importtime`` reports up to that moment: how many
modules, and the sum of the time that each took itself. ``to question`` is the wall-clock time of the same command
without that option. Figures are medians of RUNS (7) runs, taken in turn with a bare ``python -c pass`` of the same
interpreter; ``ratio`` is ``to question`` over that.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import grpc
from tritonclient.grpc import service_pb2, service_pb2_grpc

from wizard.catalog import profiles
from wizard.kernel import proctable
from wizard.kernel.paths import Workspace
from wizard.plan.ports import Ports
from wizard.serve import find
from wizard.serve.endpoint import Endpoint

MODEL = "m"
TEMPLATE = profiles.find("models/triton-wizard-demo/chat_template.jinja").read_text(encoding="utf-8")
CONFIG: dict[str, Any] = {
    "name": MODEL,
    "input": [{"name": "text_input", "data_type": "TYPE_STRING", "dims": [1]}],
    "output": [{"name": name} for name in ("text_output", "completion_tokens", "finish_reason")],
    "parameters": {"chat_template": {"string_value": TEMPLATE}, "eos_token": {"string_value": "<|im_end|>"}},
}
"""A description that `wizard.chat.wire` takes for that of one of the wizard's own models."""
IMPORT = re.compile(r"^import time: +(\d+) \| +\d+ \| ", re.MULTILINE)


@dataclass
class Arrival:
    """When the question arrived, and how much the client had written to standard error by then."""

    stderr: Path
    seconds: float = 0.0
    written: int = 0
    came: threading.Event = field(default_factory=threading.Event)

    def note(self) -> None:
        if not self.came.is_set():
            self.seconds, self.written = time.perf_counter(), self.stderr.stat().st_size
            self.came.set()


class FakeTriton(service_pb2_grpc.GRPCInferenceServiceServicer):  # type: ignore[misc]
    """Notes the question and refuses it."""

    arrival: Arrival

    def ServerLive(self, request: object, context: object) -> Any:  # noqa: N802, ARG002
        return service_pb2.ServerLiveResponse(live=True)

    def ModelStreamInfer(self, requests: Any, context: object) -> Any:  # noqa: N802, ARG002
        next(requests)
        self.arrival.note()
        yield service_pb2.ModelStreamInferResponse(error_message="this is a benchmark")


class FakeHttp(BaseHTTPRequestHandler):
    """The same over HTTP, and as an OpenAI-compatible server."""

    fake: FakeTriton

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        self._reply(200, CONFIG if self.path.endswith("/config") else {"data": [{"id": MODEL}]})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.fake.arrival.note()
        self._reply(400, {"error": "this is a benchmark"})

    def _reply(self, status: int, data: dict[str, Any]) -> None:
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def ask(fake: FakeTriton, folder: Path, arguments: list[str], *, traced: bool) -> tuple[float, int, float]:
    """Seconds to the question; modules and seconds of their imports, both 0 if not ``traced``."""
    arrival = fake.arrival = Arrival(folder / "stderr")
    option = ["-X", "importtime"] if traced else []
    with arrival.stderr.open("w") as stderr:
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, *option, "-m", "wizard", "chat", *arguments, "-m", "Hello", "--json"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            check=False,
        )
    text = arrival.stderr.read_bytes()
    if not arrival.came.is_set():
        raise SystemExit(f"the question never came:\n{text.decode()[-2000:]}")
    own = [int(microseconds) for microseconds in IMPORT.findall(text[: arrival.written].decode())]
    return arrival.seconds - start, len(own), sum(own) / 1e6


def bare() -> float:
    """Seconds that Python itself takes to start and end."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - start


def measure(fake: FakeTriton, folder: Path, http: int, rpc: int, runs: int) -> None:
    """Print the table."""
    workspace = Workspace(folder / "workspace")
    process = proctable.read(os.getpid())
    assert process is not None
    endpoint = Endpoint("b", MODEL, "127.0.0.1", Ports(http, rpc, http), process.pid, process.started, "")
    workspace.server("b").root.mkdir(parents=True)
    find.write(workspace.server("b"), endpoint)
    at = ["--workspace", str(workspace.root)]
    commands = {
        "gRPC": [*at, "b"],
        "HTTP": [*at, "b", "--protocol", "http"],
        "OpenAI": [*at, "--url", f"http://127.0.0.1:{http}/v1"],
    }
    for arguments in commands.values():
        ask(fake, folder, arguments, traced=False)  # fills the byte-code and file caches
    bares: list[float] = []
    walls: dict[str, list[float]] = {name: [] for name in commands}
    traces: dict[str, list[tuple[int, float]]] = {name: [] for name in commands}
    for _ in range(runs):
        bares.append(bare())
        for name, arguments in commands.items():
            walls[name].append(ask(fake, folder, arguments, traced=False)[0])
            traces[name].append(ask(fake, folder, arguments, traced=True)[1:])
    base = statistics.median(bares)
    print(f"{'':<8}{'modules':>9}{'imports':>11}{'to question':>14}{'bare python':>14}{'ratio':>8}")
    for name, times in walls.items():
        modules, imports = (statistics.median(column) for column in zip(*traces[name], strict=True))
        wall = statistics.median(times)
        print(
            f"{name:<8}{modules:>9.0f}{imports * 1e3:>8.0f} ms{wall * 1e3:>11.0f} ms{base * 1e3:>11.0f} ms"
            f"{wall / base:>8.1f}"
        )


def main() -> None:
    """Serve the stand-in and measure."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    fake = FakeTriton()
    http = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (FakeHttp,), {"fake": fake}))
    threading.Thread(target=http.serve_forever, daemon=True).start()
    rpc = grpc.server(ThreadPoolExecutor(2))
    service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(fake, rpc)
    port = rpc.add_insecure_port("127.0.0.1:0")
    rpc.start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            measure(fake, Path(folder), http.server_address[1], port, runs)
    finally:
        rpc.stop(None)
        http.shutdown()


if __name__ == "__main__":
    main()
