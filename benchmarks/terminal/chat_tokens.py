"""From a key to the character on the screen while an answer streams at 500 tokens per second, and what that costs.

    python benchmarks/terminal/chat_tokens.py [--keys N] [--size 120x40] [--compare]

With ``--compare``, a second server answers beside the first (F6), and only the keys are measured.

The wizard runs in a pseudo terminal and chats with `token_server.py`, a process of its own that sends 500 tokens per
second (4 characters and an event of HTTP each) of headings, paragraphs, formulas, code, lists of 80 items and tables
of 200 rows. This script is the terminal. It notes the clock and writes a character into the terminal that nothing
else on the screen has (a braille pattern, another one for every key), and goes on typing as a person who types
quickly does, whether the character is shown or not. It notes the clock of the read that brought the last byte of this
character. So everything between the keyboard and the terminal is in the figure, the kernel's queues and the turns of
three processes too; what a terminal takes to draw is not.

Processor time per token: that of the wizard while the answer streams, less that of a program that reads the same
stream with the same client and shows nothing, by the tokens that came in that time.

Bars: 50 ms at the 99th percentile, 1 ms per token.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from bisect import bisect_left
from pathlib import Path

from streaming import Terminal
from token_server import RATE

BAR_MS, BAR_TOKEN_MS = 50.0, 1.0
LEAST_SHARE = 0.95
"""Of the tokens per second that must really arrive, else the figures say nothing."""
PATTERNS = range(0x2801, 0x28FF)
MOST_KEYS = len(PATTERNS)
BASE_TOKENS = 3_000
HERE = Path(__file__).parent


class Keyboard(Terminal):
    """A terminal that keeps what is written, without a picture of it: that adds nothing to the time."""

    def __init__(self, argv: list[str], *, columns: int, rows: int) -> None:
        super().__init__(argv, columns=columns, rows=rows)
        self.written = bytearray()
        self.came: list[tuple[int, float]] = []
        """How much was written after each read, and the read's clock."""

    def _next(self, deadline: float) -> float | None:
        piece = self.piece(deadline)
        if piece is None:
            return None
        self.written += piece[1]
        self.came.append((len(self.written), piece[0]))
        return piece[0]

    def until_written(self, wanted: bytes, seconds: float = 30.0) -> None:
        """Read on until ``wanted`` is written, or was.

        Raises:
            TimeoutError: It never was.
        """
        deadline = time.monotonic() + seconds
        while wanted not in self.written:
            if self._next(deadline) is None:
                raise TimeoutError(wanted.decode())

    def clock_of(self, wanted: bytes) -> float:
        """The clock of the read after which ``wanted`` stood there first."""
        end = self.written.index(wanted) + len(wanted)
        return self.came[bisect_left(self.came, (end, 0.0))][1]


def server(tokens: int) -> tuple[subprocess.Popen[str], str]:
    """A server of answers with so many tokens, and its address."""
    argv = [sys.executable, str(HERE / "token_server.py"), str(tokens)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"


def read_only(url: str) -> float:
    """Milliseconds of processor time per token of the client alone."""
    from wizard.chat.client import described
    from wizard.chat.conversation import Conversation
    from wizard.chat.stream import answer
    from wizard.journey import at

    async def read() -> int:
        endpoint = at(url)
        served, count = described(endpoint), 0
        async for chunk in answer(endpoint, Conversation().with_message("user", "x"), served=served):
            count = max(count, chunk.tokens or 0)
        return count

    begun = resource.getrusage(resource.RUSAGE_SELF)
    count = asyncio.run(read())
    ended = resource.getrusage(resource.RUSAGE_SELF)
    return (ended.ru_utime - begun.ru_utime + ended.ru_stime - begun.ru_stime) * 1e3 / count


def typed(terminal: Keyboard, keys: int, sure: random.Random) -> list[float]:
    """Milliseconds from key to picture."""
    pressed = {}
    for pattern in PATTERNS[:keys]:
        terminal.rest(sure.uniform(0.04, 0.12))
        character = chr(pattern).encode()
        pressed[character] = terminal.press(character)
    terminal.until_written(character)
    return [(terminal.clock_of(character) - clock) * 1e3 for character, clock in pressed.items()]


def tokens_shown(terminal: Keyboard) -> int:
    """The count of tokens that was shown last."""
    counts = re.findall(rb"([\d,]+) tokens", terminal.written)
    return int(counts[-1].replace(b",", b"")) if counts else 0


def streamed(url: str, keys: int, columns: int, rows: int) -> tuple[list[float], float, float]:
    """Times of keys; milliseconds of processor time for each token while nobody types; tokens per second."""
    with tempfile.TemporaryDirectory() as folder:
        terminal = Keyboard([str(HERE / "streaming.py"), "chat", folder, url], columns=columns, rows=rows)
        try:
            terminal.until_written(b"sk something")
            terminal.rest(2.0)
            terminal.press(b"Go\r")
            terminal.until_written(b" tokens")
            terminal.rest(6.0)  # the answer is long by now, and everything is loaded
            first, begun, taken = tokens_shown(terminal), time.monotonic(), terminal.cpu_seconds()
            terminal.rest(8.0)
            last, cpu, wall = tokens_shown(terminal), terminal.cpu_seconds() - taken, time.monotonic() - begun
            times = typed(terminal, keys, random.Random(5))
            return times, cpu * 1e3 / (last - first), (last - first) / wall
        finally:
            terminal.end()


def compared(urls: tuple[str, str], keys: int, columns: int, rows: int) -> list[float]:
    """Times of keys while two models answer, each with a lane."""
    with tempfile.TemporaryDirectory() as folder:
        terminal = Keyboard([str(HERE / "streaming.py"), "chat", folder, urls[0]], columns=columns, rows=rows)
        try:
            terminal.until_written(b"sk something")
            terminal.rest(2.0)
            for keystrokes, then in (
                (b"\x1b[17~", b"compare with"),
                (b"\x1b[A\r", b"Another server"),
                (urls[1].encode() + b"\r", b"Both models get"),
                (b"Go\r", b"Both answer"),
            ):
                terminal.press(keystrokes)
                terminal.until_written(then)
                terminal.rest(1.0)
            terminal.rest(6.0)
            return typed(terminal, keys, random.Random(5))
        finally:
            terminal.end()


def main() -> int:
    """Measure and print; the exit status says whether the bars are kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=240, help=f"at most {MOST_KEYS} (240)")
    parser.add_argument("--size", default="120x40", help="columns x rows (120x40)")
    parser.add_argument("--compare", action="store_true", help="let a second server answer, too")
    given = parser.parse_args()
    columns, rows = map(int, given.size.split("x"))
    keys = min(given.keys, MOST_KEYS)
    processes = [server(100_000), server(100_000 if given.compare else BASE_TOKENS)]
    try:
        if given.compare:
            delays = compared((processes[0][1], processes[1][1]), keys, columns, rows)
            return _keys(delays, columns, rows)
        delays, cpu_ms, rate = streamed(processes[0][1], keys, columns, rows)
        base_ms = read_only(processes[1][1])
    finally:
        for process, _url in processes:
            process.terminate()
            process.wait()
    result = _keys(delays, columns, rows)
    print(f"{rate:.0f} tokens/s shown")
    screen_ms = cpu_ms - base_ms
    print(f"processor time per token: {cpu_ms:.2f} ms, {base_ms:.2f} of it the client's: the screen {screen_ms:.2f}")
    if rate < LEAST_SHARE * RATE:
        print(f"too few tokens arrived: {rate:.0f}/s", file=sys.stderr)
        return 2
    return result or int(screen_ms > BAR_TOKEN_MS)


def _keys(delays: list[float], columns: int, rows: int) -> int:
    """Print the times of the keys, and return whether they miss the bar."""
    cuts = statistics.quantiles(delays, n=100, method="inclusive")
    print(f"{columns} × {rows}; load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print(f"{len(delays)} keys   p50 {cuts[49]:.1f}   p99 {cuts[98]:.1f}   max {max(delays):.1f} ms")
    return int(cuts[98] > BAR_MS)


if __name__ == "__main__":
    sys.exit(main())
