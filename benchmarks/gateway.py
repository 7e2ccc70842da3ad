"""What the OpenAI-compatible address adds to Triton's own gRPC: processor time per piece, time to the first piece.

Usage: ``.venv/bin/python benchmarks/gateway.py [--streams 1] [--requests 40]``. A stand-in of Triton sends 200 pieces
per request, 5 ms apart, so that each is an event of its own. The gateway is the real process, with a model process to
watch. ``first piece`` compares requests over one open gRPC channel with requests over one open HTTP connection, taken
in turn: medians, in milliseconds. ``processor`` is what the kernel has counted for the gateway's process, over the
pieces that it passed on. Wanted: ≤ 0.3 ms per piece, ≤ 3 ms to the first.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import grpc
from tritonclient.grpc import service_pb2, service_pb2_grpc

from wizard.chat import triton_grpc
from wizard.chat.ask import Ask
from wizard.kernel import proctable
from wizard.kernel.paths import ServerFolder, Workspace
from wizard.kernel.values import to_json
from wizard.plan.ports import Ports
from wizard.serve import find
from wizard.serve.endpoint import Endpoint
from wizard.serve.exposure import Exposure

MODEL = "m"
PIECES = 200
APART_S = 0.005
CONFIG: dict[str, Any] = {
    "name": MODEL,
    "input": [{"name": "text_input", "data_type": "TYPE_STRING", "dims": [1]}],
    "output": [{"name": name} for name in ("text_output", "completion_tokens", "finish_reason")],
    "parameters": {"chat_template": {"string_value": "{{ messages[-1].content }}"}},
}
QUESTION = {"model": MODEL, "stream": True, "messages": [{"role": "user", "content": "What is Triton?"}]}


class FakeTriton(service_pb2_grpc.GRPCInferenceServiceServicer):  # type: ignore[misc]
    """Sends `PIECES` tokens as the wizard's own models do."""

    async def ModelStreamInfer(self, requests: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:  # noqa: N802, ARG002
        async for _ in requests:
            for number in range(1, PIECES + 1):
                yield response(" token", number, "length" if number == PIECES else "")
                await asyncio.sleep(APART_S)


def response(text: str, tokens: int, finish: str) -> Any:
    answer = service_pb2.ModelStreamInferResponse()
    values = (("text_output", text), ("finish_reason", finish), ("completion_tokens", tokens), ("prompt_tokens", 9))
    for name, value in values:
        output = answer.infer_response.outputs.add()
        output.name, output.datatype = name, "INT32" if isinstance(value, int) else "BYTES"
        data = struct.pack("<i", value) if isinstance(value, int) else struct.pack("<I", len(value)) + value.encode()
        answer.infer_response.raw_output_contents.append(data)
    answer.infer_response.parameters["triton_final_response"].bool_param = bool(finish)
    return answer


class Description(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps(CONFIG).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


def processor_s(pid: int) -> float:
    """Seconds of processor time of ``pid`` so far (proc_pid_stat(5), fields 14 and 15)."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def over_grpc(channel: grpc.aio.Channel, address: str) -> float:
    began, first = time.perf_counter(), 0.0
    ask = Ask(MODEL, "What is Triton?", PIECES, None, 0.95, None)
    async with aclosing(triton_grpc.stream(ask, address, shared=channel)) as pieces:
        async for piece in pieces:
            first = first or (time.perf_counter() - began if piece.text else 0.0)
    return first


async def over_http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> float:
    body = json.dumps(QUESTION).encode()
    began, first = time.perf_counter(), 0.0
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    while (line := await reader.readline()) != b"0\r\n":
        if not line:
            raise SystemExit("the gateway has hung up")
        if not first and b" token" in line:
            first = time.perf_counter() - began
    await reader.readline()
    return first


async def measure(server: ServerFolder, streams: int, requests: int) -> None:
    triton = grpc.aio.server()
    service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(FakeTriton(), triton)
    port = triton.add_insecure_port("127.0.0.1:0")
    await triton.start()
    with ThreadingHTTPServer(("127.0.0.1", 0), Description) as described:
        threading.Thread(target=described.serve_forever, daemon=True).start()
        script = server.root / MODEL / "1" / "model.py"  # a process that looks like the model's, to be watched
        script.parent.mkdir(parents=True)
        script.write_text("import time\ntime.sleep(3600)\n", encoding="utf-8")
        model = subprocess.Popen([find.STUB, str(script)], executable=sys.executable, start_new_session=True)  # noqa: ASYNC220
        row = proctable.read(model.pid)
        ports = Ports(described.server_port, port, port)
        find.write(server, Endpoint(MODEL, MODEL, "127.0.0.1", ports, model.pid, row.started if row else "", "log"))
        with socket.create_server(("127.0.0.1", 0)) as listener:
            workspace, number = str(server.root.parent.parent), str(listener.fileno())
            argv = [sys.executable, "-m", "wizard.gateway", workspace, number, to_json(Exposure())]
            gateway = subprocess.Popen(argv, pass_fds=[listener.fileno()], stderr=subprocess.DEVNULL)  # noqa: ASYNC220
            address = listener.getsockname()[1]
        try:
            await compared(gateway.pid, address, f"127.0.0.1:{port}", streams, requests)
        finally:
            gateway.kill()
            model.kill()
            described.shutdown()
            await triton.stop(None)


def serving(keeper: int) -> int:
    """The process that serves, the only child of its ``keeper``, once it has answered."""
    return int(Path(f"/proc/{keeper}/task/{keeper}/children").read_text(encoding="utf-8"))


async def compared(keeper: int, port: int, triton: str, streams: int, requests: int) -> None:
    connections = [await asyncio.open_connection("127.0.0.1", port) for _ in range(streams)]
    grpc_ms: list[float] = []
    http_ms: list[float] = []
    async with triton_grpc.channel(triton) as channel:
        await asyncio.gather(over_grpc(channel, triton), *(over_http(*each) for each in connections))  # warm
        pid = serving(keeper)
        before = processor_s(pid)
        for _ in range(requests // streams):
            grpc_ms += await asyncio.gather(*(over_grpc(channel, triton) for _ in connections))
            http_ms += await asyncio.gather(*(over_http(*each) for each in connections))
        used = processor_s(pid) - before
    for _, writer in connections:
        writer.close()
    per_piece = 1000 * used / (len(http_ms) * PIECES)
    ours, theirs = (1000 * statistics.median(each) for each in (http_ms, grpc_ms))
    print(f"{streams} at once: processor {per_piece:.3f} ms per piece", end="; ")
    print(f"first piece {ours:.2f} ms, over gRPC {theirs:.2f} ms, added {ours - theirs:.2f} ms")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--streams", type=int, default=1)
    options.add_argument("--requests", type=int, default=40)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Workspace(Path(folder)).server(MODEL), given.streams, given.requests))


if __name__ == "__main__":
    main()
