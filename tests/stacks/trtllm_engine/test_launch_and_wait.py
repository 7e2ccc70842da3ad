"""The script that keeps a container alive as long as Triton's ranks, with a real process tree and real signals."""

from __future__ import annotations

import signal
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

SCRIPT = str(files("wizard.stacks.trtllm_engine") / "launch_and_wait.py")
LAUNCH = """
import subprocess, sys
print("launching", *sys.argv[1:], flush=True)
subprocess.Popen([sys.executable, "-c", {rank!r}])
print("launched", flush=True)
"""
RANK = """
import signal
stops = {signal.SIGTERM, signal.SIGINT}
signal.pthread_sigmask(signal.SIG_BLOCK, stops)
print("serving", flush=True)
print("stopped by", int(signal.sigwait(stops)), flush=True)
"""


LATE = """
import os, subprocess, sys
rank = subprocess.Popen([sys.executable, "-c", {rank!r}])
os.waitid(os.P_PID, rank.pid, os.WEXITED | os.WNOWAIT)  # it has failed by the time that it is dropped
"""


def started(folder: Path, rank: str, script: str = LAUNCH) -> subprocess.Popen[str]:
    """The script with a stand-in for NVIDIA's, which starts ``rank`` and returns at once."""
    launch = folder / "fake_launch_triton_server.py"
    launch.write_text(script.format(rank=rank))
    argv = [sys.executable, SCRIPT, str(launch), "--world_size", "2"]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, start_new_session=True)


def lines(process: subprocess.Popen[str], until: str) -> list[str]:
    assert process.stdout
    printed = []
    for line in process.stdout:
        printed.append(line.strip())
        if printed[-1] == until:
            break
    return printed


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_lives_as_long_as_the_ranks_and_hands_a_stop_on(tmp_path: Path, number: signal.Signals) -> None:
    process = started(tmp_path, RANK)
    assert "launching --world_size 2" in lines(process, "serving")
    assert process.poll() is None
    process.send_signal(number)
    assert f"stopped by {int(number)}" in lines(process, "")
    assert process.wait(60) == 0


@pytest.mark.parametrize(
    ("rank", "status"),
    [("raise SystemExit(3)", 3), ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137), ("pass", 0)],
)
def test_the_ranks_end_is_its_own(tmp_path: Path, rank: str, status: int) -> None:
    process = started(tmp_path, rank)
    process.communicate(timeout=60)
    assert process.returncode == status


def test_a_script_that_refuses_to_start_is_no_success(tmp_path: Path) -> None:
    launch = tmp_path / "fake_launch_triton_server.py"
    launch.write_text("raise RuntimeError('tritonserver process(es) already found')\n")
    done = subprocess.run([sys.executable, SCRIPT, str(launch)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "already found" in done.stderr


def test_a_rank_that_fails_at_once_is_not_lost(tmp_path: Path) -> None:
    process = started(tmp_path, "raise SystemExit(3)", LATE)
    process.communicate(timeout=60)
    assert process.returncode == 3
