"""Triton's own log: what in it is noise without a GPU, and which line names the cause of a failure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

NOISE = re.compile(
    "Unable to allocate pinned system memory|CudaDriverHelper has not been initialized|Failed to initialize NVML"
    "|DCGM unable to start|unable to create stream for ensemble|Error when calling cuInit|cudaErrorNoDevice"
)
"""Lines that Triton 2.51.0 always prints on a machine without an NVIDIA GPU; none of them matters there."""

HOPELESS = re.compile(r"error while loading shared libraries: .+")
"""The stub could not start; the server does not notice and waits for ever."""

_CAUSES = (
    HOPELESS,
    re.compile(r"failed to load '[^']+' version \d+: (?P<cause>.+)"),
    re.compile(r"failed to start .+ service: .+"),
    re.compile(r"Socket '[^']+' already in use"),
    re.compile(r"Poll failed for model directory '[^']+': .+"),
    re.compile(r"error: (?P<cause>.+)"),
)


def tail(path: Path, lines: int) -> list[str]:
    """The last ``lines`` lines of a log that may be large; empty if there is no log."""
    try:
        with path.open("rb") as file:
            end = file.seek(0, 2)
            file.seek(max(0, end - 400 * lines))
            return file.read().decode("utf-8", "replace").splitlines()[-lines:]
    except FileNotFoundError:
        return []


def cause(lines: Iterable[str]) -> str | None:
    """The sentence that names the first cause of a failed start, or None; later lines tell of its consequences."""
    text = list(lines)
    for pattern in _CAUSES:
        for line in text:
            if match := pattern.search(line):
                return (match.groupdict().get("cause") or match.group()).strip()
    return None
