"""From a key to the picture that shows it, while a build writes 10,000 lines per second, or another number.

    python benchmarks/terminal/log_lines.py [--keys N] [--size 120x40] [--lines 10000]

The wizard runs in a pseudo terminal with its own engine, whose only step writes so many lines per second. This script
is the terminal. It notes the clock, writes a key into the terminal, reads what the wizard writes until the picture
(kept by pyte) shows what the key does, and notes the clock of that read. So everything between the keyboard and the
terminal is in the figure, the kernel's queues and two processes' turns too. What must be shown:

- scroll: ↑ stops the following of the end, End takes it up again; the title of the output says so.
- search: a digit that is typed into the search field stands there, and Backspace takes it away.
- cursor: ↓ and ↑ in the list of steps move its pointer.

Where others work on the machine, let it go before them, or their work is measured: ``chrt -r 5 python …``.

Bar: 50 ms at the 99th percentile. Lines per second are counted by the numbers of the lines in sight.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from streaming import LINES_PER_S, Terminal, building

BAR_MS = 50.0
LEAST_SHARE = 0.95
"""Of the lines per second that must really arrive, else the figures say nothing."""
Deed = tuple[bytes, Callable[[str], object]]

UP, DOWN, END, TAB, BACKSPACE = b"\x1b[A", b"\x1b[B", b"\x1b[F", b"\t", b"\x7f"


def scroll() -> Iterator[Deed]:
    """↑ and End, in turn."""
    while True:
        yield UP, lambda text: "paused" in text
        yield END, lambda text: "following" in text


def search(sure: random.Random) -> Iterator[Deed]:
    """A digit and Backspace, in turn; the field is open. What is found of it is shown too, in the same picture."""
    while True:
        digit = str(sure.randrange(10))
        yield digit.encode(), lambda text, digit=digit: f"/{digit} " in text  # type: ignore[misc]
        yield BACKSPACE, lambda text: "Search the output" in text


def cursor() -> Iterator[Deed]:
    """↓ and ↑, in turn; the list of steps has the focus."""
    while True:
        yield DOWN, lambda text: "▸○ Then one" in text
        yield UP, lambda text: "▸● Write lines" in text


def measured(terminal: Terminal, deeds: Iterator[Deed], count: int, sure: random.Random) -> list[float]:
    """Milliseconds from key to picture, ``count`` times, with pauses as a person makes them."""
    delays = []
    for _ in range(count):
        terminal.rest(sure.uniform(0.03, 0.15))
        key, shown = next(deeds)
        begun = terminal.press(key)
        delays.append((terminal.until(shown) - begun) * 1e3)
    return delays


def summary(name: str, delays: list[float]) -> str:
    """Percentiles in a line."""
    cuts = statistics.quantiles(delays, n=100, method="inclusive")
    return f"{name:<8} {len(delays):>5} keys   p50 {cuts[49]:6.1f}   p99 {cuts[98]:6.1f}   max {max(delays):6.1f} ms"


def main() -> int:
    """Measure and print; the exit status says whether the bar is kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=300, help="of each kind (300)")
    parser.add_argument("--size", default="120x40", help="columns x rows (120x40)")
    parser.add_argument("--lines", type=int, default=LINES_PER_S, help="per second (10,000)")
    arguments = parser.parse_args()
    columns, rows = map(int, arguments.size.split("x"))
    sure = random.Random(5)
    with (
        tempfile.TemporaryDirectory() as folder,
        building(Path(folder), arguments.lines, columns=columns, rows=rows) as terminal,
    ):
        terminal.until(lambda _text: terminal.numbers())
        terminal.rest(3.0)
        first, begun, taken = max(terminal.numbers()), time.monotonic(), terminal.cpu_seconds()
        by_kind = {"scroll": measured(terminal, scroll(), arguments.keys, sure)}
        terminal.press(TAB)
        terminal.until(lambda text: "Choose a step" in text)
        by_kind["cursor"] = measured(terminal, cursor(), arguments.keys, sure)
        terminal.press(b"/")
        terminal.until(lambda text: "Search the output" in text)
        by_kind["search"] = measured(terminal, search(sure), arguments.keys, sure)
        terminal.press(b"\x1b")
        terminal.press(END)
        terminal.rest(2.0)
        last, wall = max(terminal.numbers()), time.monotonic() - begun
        share = (terminal.cpu_seconds() - taken) / wall
    rate = (last - first) / wall
    all_delays = [delay for each in by_kind.values() for delay in each]
    print(f"{columns} × {rows}; {rate:,.0f} lines/s shown; the wizard takes {share:.0%} of one processor;")
    print(f"load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    for name, delays in (*by_kind.items(), ("all", all_delays)):
        print(summary(name, delays))
    if rate < LEAST_SHARE * arguments.lines:
        print(f"too few lines arrived: {rate:,.0f}/s", file=sys.stderr)
        return 2
    return 0 if statistics.quantiles(all_delays, n=100, method="inclusive")[98] <= BAR_MS else 1


if __name__ == "__main__":
    sys.exit(main())
