"""Memory of the wizard while it streams for a long time: lines of a build in one process, an answer in another.

    python benchmarks/terminal/streaming_soak.py [--minutes N] [--share 0.2]

Both run in pseudo terminals: the build with the wizard's own engine and `streaming.LINES_PER_S` lines per second, the
chat with a server of this script that sends `TOKENS_PER_S` tokens per second (OpenAI's protocol), in answers of
`ANSWER_S` seconds, each in a conversation of its own: one that goes on keeps what was said. Printed are the resident
set sizes, and at the end their slopes after warm-up, by least squares. Where others work on the machine, a ``--share``
of both rates leaves them some of it. Bar: less than `BAR_KIB` KiB per minute, both.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from streaming import LINES_PER_S, Terminal, building

TOKENS_PER_S = 500
ANSWER_S = 4
"""Seconds that one answer takes."""
INTERVAL_S = 10.0
WARM_UP = 0.3
"""Share of the time that is left out of the slope."""
BAR_KIB = 256.0


class Tokens(BaseHTTPRequestHandler):
    """Says the same to everybody, ``rate`` tokens per second."""

    rate = TOKENS_PER_S
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Silence."""

    def do_GET(self) -> None:
        """The list of models."""
        self._answer(json.dumps({"object": "list", "data": [{"id": "soak", "object": "model"}]}).encode())

    def do_POST(self) -> None:
        """One answer, piece by piece."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        begun = time.monotonic()
        try:
            for number in range(self.rate * ANSWER_S):
                word = "\n\n" if number % 60 == 59 else f"word{number % 97} "
                self._piece({"index": 0, "delta": {"content": word}, "finish_reason": None})
                time.sleep(max(0.0, begun + (number + 1) / self.rate - time.monotonic()))
            self._piece({"index": 0, "delta": {}, "finish_reason": "stop"})
            self.wfile.write(b"data: [DONE]\n\n")
        except OSError:  # the wizard has gone
            return
        self.close_connection = True

    def _piece(self, choice: object) -> None:
        chunk = {"id": "soak", "object": "chat.completion.chunk", "created": 0, "model": "soak", "choices": [choice]}
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def slope(points: Sequence[tuple[float, float]]) -> float:
    """By least squares, of (x, y)."""
    mean_x, mean_y = (sum(point[at] for point in points) / len(points) for at in (0, 1))
    above = sum((x - mean_x) * (y - mean_y) for x, y in points)
    below = sum((x - mean_x) ** 2 for x, _y in points)
    return above / below if below else 0.0


def ask(terminal: Terminal) -> None:
    """Begin another conversation; the answer before is over by now."""
    terminal.press(b"\x0e")
    terminal.rest(0.5)
    terminal.press(b"Go on\r")
    terminal.until(lambda text: "word1 " in text)  # it really streams


def main() -> int:
    """Stream, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0, help="how long (60)")
    parser.add_argument("--share", type=float, default=1.0, help="of the full rates (1)")
    given = parser.parse_args()
    seconds, lines_per_s, Tokens.rate = (
        given.minutes * 60,
        int(LINES_PER_S * given.share),
        int(TOKENS_PER_S * given.share),
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), Tokens)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    program = str(Path(__file__).with_name("streaming.py"))
    samples: dict[str, list[tuple[float, float]]] = {"build": [], "chat": []}
    print(f"{lines_per_s:,} lines/s and {Tokens.rate} tokens/s for {seconds / 60:g} minutes", flush=True)
    with (
        tempfile.TemporaryDirectory() as build_folder,
        tempfile.TemporaryDirectory() as other,
        building(Path(build_folder), lines_per_s, columns=120, rows=40) as build,
    ):
        chat = Terminal([program, "chat", other, url], columns=120, rows=40)
        try:
            build.until(lambda _text: build.numbers())
            chat.until(lambda text: "● Chat" in text)
            begun = time.monotonic()
            while (now := time.monotonic() - begun) < seconds:
                ask(chat)
                for terminal in (build, chat):
                    terminal.skip(INTERVAL_S / 2)
                for name, terminal in (("build", build), ("chat", chat)):
                    samples[name].append((now / 60, terminal.resident_bytes() / 1024))
                print(
                    f"{now:6.0f} s  " + "  ".join(f"{name} {samples[name][-1][1]:9,.0f} KiB" for name in samples),
                    flush=True,
                )
        finally:
            chat.end()
            server.shutdown()
    status = 0
    for name, points in samples.items():
        per_minute = slope(points[int(len(points) * WARM_UP) :])
        print(f"{name}: {per_minute:+,.0f} KiB per minute after warm-up (bar {BAR_KIB:,.0f})")
        status |= per_minute >= BAR_KIB
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
