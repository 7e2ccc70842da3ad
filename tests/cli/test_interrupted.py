"""Ctrl-C while a command starts: status 130, no traceback, at whatever line it arrives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

INTERRUPTED = """\
import _signal, os, sys

AT, COUNTED = int(sys.argv[1]), 0

def count(frame, event, argument):
    global COUNTED
    if not COUNTED and _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        return  # before main has said what Ctrl-C does
    COUNTED += 1
    if COUNTED == AT:
        sys.setprofile(None)
        os.kill(os.getpid(), _signal.SIGINT)

from wizard.__main__ import main

sys.argv[:2] = ["triton-wizard"]
sys.setprofile(count)
try:
    main()
finally:
    sys.setprofile(None)
    print("calls:", COUNTED, file=sys.stderr)
"""
"""Runs the wizard and interrupts it at the call or return with the number that is its first argument; 0: never."""
TIMES = 10


def start(at: int, words: list[str]) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-c", INTERRUPTED, str(at), *words]
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("command", [["--version"], ["status"], ["plan", "demo", "--json"]], ids=lambda words: words[0])
def test_ctrl_c_at_every_point_of_a_start(command: list[str], tmp_path: Path) -> None:
    words = [*command, *(["--workspace", str(tmp_path)] if command[0] != "--version" else [])]
    calls = int(start(0, words).stderr.rpartition("calls:")[2])
    assert calls > 1000
    for at in [1, 2, 3, 5, 8, *range(13, calls, calls // TIMES)]:
        done = start(at, words)
        if done.stderr.startswith("Exception ignored in: <generator"):  # Python drops what is raised as it closes one
            done = start(at + 100, words)
        assert (done.returncode, "Traceback" in done.stderr) == (130, False), f"{at} of {calls}: {done.stderr[-2000:]}"
