"""An OpenAI-compatible server that streams at a known rate, on 127.0.0.1: what a load generator can be held against.

    python benchmarks/bench/stub.py [--port 18080] [--ttft 0.5] [--tpot 0.05] [--tokens 50] [--fail 0] [--silent]

Every token is due at a fixed time after its request has arrived, so an answer takes the same time for one request and
for a hundred, as far as this process keeps up. How late it was itself is measured and printed at the end (Ctrl-C), so
that a deviation of the load generator can be told from one of the stub.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import signal
import statistics
import time
from dataclasses import dataclass, field

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


@dataclass
class Stub:
    ttft: float
    tpot: float
    tokens: int
    fail: float = 0.0
    """Share of the requests that are answered with HTTP 503."""
    silent: bool = False
    """Answer without any text."""
    count: int = 0
    late: list[float] = field(default_factory=list)
    """Seconds that each first token was late."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                await self.answer(reader, writer)
        writer.close()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        arrived = time.perf_counter()
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        await reader.readexactly(int(lengths[0].partition(b":")[2]) if lengths else 0)
        if head.startswith(b"GET"):
            known = b"/models" in head.partition(b"\r\n")[0]
            plain(writer, 200 if known else 404, {"object": "list", "data": [{"id": "stub", "object": "model"}]})
            return
        self.count += 1
        if self.fail and int(self.count * self.fail) > int((self.count - 1) * self.fail):
            plain(writer, 503, {"error": {"message": "busy"}})
            return
        await self.stream(writer, arrived)

    async def stream(self, writer: asyncio.StreamWriter, arrived: float) -> None:
        writer.write(HEAD)
        for number in range(0 if self.silent else self.tokens):
            due = arrived + self.ttft + number * self.tpot
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            if not number:
                self.late.append(time.perf_counter() - due)
            event(writer, {"choices": [{"index": 0, "delta": {"content": "word "}, "finish_reason": None}]})
            await writer.drain()
        event(writer, {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]})
        used = 0 if self.silent else self.tokens
        usage = {"prompt_tokens": 8, "completion_tokens": used, "total_tokens": 8 + used}
        event(writer, {"choices": [], "usage": usage})
        chunk(writer, b"data: [DONE]\n\n")
        writer.write(b"0\r\n\r\n")
        await writer.drain()


def event(writer: asyncio.StreamWriter, data: dict[str, object]) -> None:
    whole = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "stub", **data}
    chunk(writer, f"data: {json.dumps(whole)}\n\n".encode())


def chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(b"%x\r\n%b\r\n" % (len(data), data))


def plain(writer: asyncio.StreamWriter, status: int, data: dict[str, object]) -> None:
    body = json.dumps(data).encode()
    writer.write(b"HTTP/1.1 %d Stub\r\nContent-Type: application/json\r\n" % status)
    writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))


async def run(stub: Stub, port: int) -> None:
    server = await asyncio.start_server(stub.serve, "127.0.0.1", port, backlog=1024)
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await stopped.wait()
    late = sorted(1000 * each for each in stub.late)
    if late:
        middle, slowest = statistics.median(late), late[int(0.99 * (len(late) - 1))]
        print(
            f"{len(late)} answers; the stub's first tokens were {middle:.2f} ms late, p99 {slowest:.2f} ms", flush=True
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--port", type=int, default=18080)
    parser.add_argument("--ttft", type=float, default=0.5)
    parser.add_argument("--tpot", type=float, default=0.05)
    parser.add_argument("--tokens", type=int, default=50)
    parser.add_argument("--fail", type=float, default=0.0)
    parser.add_argument("--silent", action="store_true")
    given = parser.parse_args()
    asyncio.run(run(Stub(given.ttft, given.tpot, given.tokens, given.fail, given.silent), given.port))


if __name__ == "__main__":
    main()
