"""What the machine shows beside the wizard: rows of ``nvidia-smi``, and the processes of a server."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path

MIB = 1024**2
SLACK_BYTES = 64 * MIB
"""By how much free memory may differ between two moments at which nothing of ours runs."""
MARK = b"TRITON_WIZARD_SERVER="


def gone(kept: dict[int, int]) -> bool:
    return all(abs(each) * MIB <= SLACK_BYTES for each in kept.values())


def smi(query: str, fields: str) -> list[list[str]]:
    """Rows of ``nvidia-smi``."""
    words = ["nvidia-smi", f"--query-{query}={fields}", "--format=csv,noheader,nounits"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return [[cell.strip() for cell in line.split(",")] for line in done.stdout.splitlines() if line.strip()]


def state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def marked(server: Path) -> list[int]:
    """The processes of a server, by what it says in their environment."""
    mark, pids = MARK + os.fsencode(server), []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark in path.read_bytes().split(b"\0"):
                pids.append(int(path.parent.name))
    return pids


def engines(pids: list[int]) -> dict[str, int]:
    """The engine programs among the processes ``pids``: the GPUs that each sees → its pid.

    Each leads a session, in which its own children have the same environment.
    """
    leaders = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            gpus = [row.partition(b"=")[2] for row in environment if row.startswith(b"CUDA_VISIBLE_DEVICES=")]
            if os.getsid(pid) == pid and any(word.startswith(b"engines/") for word in words) and gpus:
                leaders[gpus[0].decode()] = pid
    return leaders
