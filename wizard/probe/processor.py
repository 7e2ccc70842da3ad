"""The processor and the memory, with the limits of this process."""

from __future__ import annotations

import math
import os
import platform
from pathlib import Path

from wizard.probe import cgroups
from wizard.probe.host import Cpu

FLAGS = (
    *("sse4_2", "avx", "avx2", "fma", "f16c", "bmi2", "avx_vnni"),
    *("avx512f", "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16", "amx_tile", "amx_int8", "amx_bf16"),
    *("asimd", "asimddp", "asimdhp", "i8mm", "bf16", "sve", "sve2"),
)
"""Instruction sets in /proc/cpuinfo by which llama.cpp and PyTorch select kernels (x86, then Arm)."""


def cpu(root: Path = Path("/")) -> Cpu:
    """Describe the processor. ``cores`` is limited by affinity and the cgroup quota, rounded up, at least 1."""
    model: str | None = None
    flags: frozenset[str] = frozenset()
    for line in (cgroups.read(root / "proc/cpuinfo") or "").splitlines():
        name, _, value = line.partition(":")
        name, value = name.strip(), value.strip()
        if name in ("model name", "Model") and value:
            model = model or value
        elif name in ("flags", "Features"):
            flags = flags or frozenset(value.split())
    cores = len(os.sched_getaffinity(0))
    quota = cgroups.cpu_quota(root)
    if quota is not None:
        cores = max(1, min(cores, math.ceil(quota)))
    return Cpu(model, platform.machine(), cores, tuple(flag for flag in FLAGS if flag in flags))


def meminfo(root: Path = Path("/")) -> dict[str, int]:
    """The bytes that /proc/meminfo reports, by name (proc(5)); empty if it is not readable."""
    values: dict[str, int] = {}
    for line in (cgroups.read(root / "proc/meminfo") or "").splitlines():
        name, _, rest = line.partition(":")
        number = rest.split()[:1]
        if number and number[0].isdigit():
            values[name] = int(number[0]) * 1024
    return values


def memory(root: Path = Path("/")) -> tuple[int | None, int | None]:
    """(total, available) bytes: MemTotal and MemAvailable of /proc/meminfo, or less if a cgroup limits them."""
    values = meminfo(root)
    total, available = values.get("MemTotal"), values.get("MemAvailable")
    limit = cgroups.memory_limit(root)
    if limit is not None:
        total = limit.limit if total is None else min(total, limit.limit)
        available = limit.room if available is None else min(available, limit.room)
    return total, available
