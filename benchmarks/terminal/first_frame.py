"""How long until the full-screen wizard shows something.

Starts ``python -m wizard`` in a terminal of 80 × 24 and takes the time from starting the process to the first drawn
frame, which is the welcome with its first rows; beside it the same for a bare Textual app with one line of text.
Wanted: ≤ 700 ms.

    python benchmarks/terminal/first_frame.py [--runs N] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence

import pexpect

LIMIT_MS = 700.0
BARE = """
from textual.app import App
from textual.widgets import Static

class Bare(App):
    def compose(self):
        yield Static("Serve a model")

Bare().run()
"""


def first_frame_ms(argv: Sequence[str], shown: str = "Serve a model") -> float:
    """Milliseconds from the start of ``argv`` until its first frame has ``shown``; it is told to quit afterwards."""
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "TRITON_WIZARD_HOME": home, "XDG_CONFIG_HOME": home, "TERM": "xterm-256color"}
        began = time.perf_counter()
        child = pexpect.spawn(argv[0], list(argv[1:]), dimensions=(24, 80), env=environment, timeout=30)
        child.expect_exact(shown.encode())
        taken = (time.perf_counter() - began) * 1000
        child.sendcontrol("q")
        child.expect(pexpect.EOF)
        child.close()
    return taken


def main() -> int:
    """Measure, print, and fail if the limit is not met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7, help="median of this many (7)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    programs = {"wizard": [sys.executable, "-m", "wizard"], "bare": [sys.executable, "-c", BARE]}
    taken: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(options.runs):  # in turn, so that whatever else the machine does meets both
        for name, argv in programs.items():
            taken[name].append(first_frame_ms(argv))
    wizard, bare = statistics.median(taken["wizard"]), statistics.median(taken["bare"])
    result = {"first_frame_ms": round(wizard), "bare_textual_ms": round(bare), "ratio": round(wizard / bare, 2)}
    if options.json:
        print(json.dumps(result))
    else:
        print(
            f"first frame {wizard:.0f} ms (limit {LIMIT_MS:.0f}); bare Textual {bare:.0f} ms; ratio {wizard / bare:.2f}"
        )
    return 0 if wizard <= LIMIT_MS else 1


if __name__ == "__main__":
    sys.exit(main())
