"""Limits that a container runtime, systemd or a batch system set for this process: CPU quota and memory.

Control groups, version 1 and 2. Sources: the kernel's Documentation/admin-guide/cgroup-v2.rst (cpu.max, memory.max,
memory.current, memory.stat, pids.max, pids.current) and cgroup-v1/ (cpu.cfs_quota_us, cpu.cfs_period_us,
memory.limit_in_bytes, memory.usage_in_bytes; in pids.rst the names of version 2), and proc(5) for /proc/self/cgroup and
/proc/self/mountinfo. A limit of an outer group binds the inner ones, so all are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_UNLIMITED = 1 << 60
"""cgroup v1 represents "no limit" as the largest multiple of the page size; no real limit is that large."""


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """The tightest memory limit on this process, and the memory left under it. Bytes."""

    limit: int
    room: int


def read(path: Path) -> str | None:
    """The text of a small kernel file, or None if it is not readable."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def cpu_quota(root: Path = Path("/")) -> float | None:
    """Number of processors whose time this process may use (1.5 is one and a half), or None without a quota."""
    return min((quota for quota, _folder in _quotas(root)), default=None)


def cpu_seconds(root: Path = Path("/")) -> float | None:
    """Processor time that the group with the tightest quota has used, in seconds; None without a quota, or unknown.

    Sources: cgroup-v2.rst (cpu.stat: usage_usec) and cgroup-v1/cpuacct.rst (cpuacct.usage, nanoseconds).
    """
    tightest = min(_quotas(root), default=None)
    if tightest is None:
        return None
    folder = tightest[1]
    for line in (read(folder / "cpu.stat") or "").splitlines():
        name, _, value = line.partition(" ")
        if name == "usage_usec" and value.isdigit():
            return int(value) / 1e6
    nanoseconds = _number(folder, "cpuacct.usage")
    return None if nanoseconds is None else nanoseconds / 1e9


def _quotas(root: Path) -> Iterator[tuple[float, Path]]:
    for folder in _folders("cpu", root):
        quota, period = _quota(folder)
        if quota.isdigit() and period.isdigit() and int(period) > 0:
            yield int(quota) / int(period), folder


def _quota(folder: Path) -> tuple[str, str]:
    if text := read(folder / "cpu.max"):
        quota, _, period = text.strip().partition(" ")
    else:
        quota = (read(folder / "cpu.cfs_quota_us") or "").strip()
        period = (read(folder / "cpu.cfs_period_us") or "").strip()
    return quota, period  # "max" and "-1" mean no quota; neither is all digits


def memory_limit(root: Path = Path("/")) -> MemoryLimit | None:
    """The tightest memory limit on this process, or None if there is none."""
    limits: list[MemoryLimit] = []
    for folder in _folders("memory", root):
        limit = _number(folder, "memory.max", "memory.limit_in_bytes")
        used = _number(folder, "memory.current", "memory.usage_in_bytes")
        if limit is None or limit >= _UNLIMITED:
            continue
        # The page cache counts as used, but its inactive part is freed before any process is killed.
        used = max(0, (used or 0) - _inactive_cache(folder))
        limits.append(MemoryLimit(limit, max(0, limit - used)))
    if not limits:
        return None
    return MemoryLimit(min(each.limit for each in limits), min(each.room for each in limits))


def tasks(root: Path = Path("/")) -> tuple[int, int] | None:
    """The tightest limit on the number of processes and threads, and how many it still allows; None without a limit."""
    limits = [
        (limit, max(0, limit - (_number(folder, "pids.current") or 0)))
        for folder in _folders("pids", root)
        if (limit := _number(folder, "pids.max")) is not None
    ]
    return min(limits, key=lambda each: each[1], default=None)


def _number(folder: Path, *names: str) -> int | None:
    for name in names:
        text = (read(folder / name) or "").strip()
        if text.isdigit():
            return int(text)
    return None


def _inactive_cache(folder: Path) -> int:
    lines = (read(folder / "memory.stat") or "").splitlines()
    values = dict(line.split(" ", 1) for line in lines if " " in line)
    text = values.get("total_inactive_file", values.get("inactive_file", "0")).strip()
    return int(text) if text.isdigit() else 0


def _folders(controller: str, root: Path) -> Iterator[Path]:
    """Folders of this process's control groups that have ``controller``, inner ones first."""
    groups: dict[str, str] = {}  # controller, or "" for the unified hierarchy (v2) → path of the group
    for line in (read(root / "proc/self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        for name in names.split(","):
            groups[name] = path
    for line in (read(root / "proc/self/mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        fields, tail = before.split(), after.split()
        if len(fields) < 5 or len(tail) < 3:
            continue
        key = "" if tail[0] == "cgroup2" else controller
        mounted_here = tail[0] == "cgroup2" or (tail[0] == "cgroup" and controller in tail[2].split(","))
        if mounted_here and key in groups:
            yield from _upward(root / fields[4].lstrip("/"), PurePosixPath(fields[3]), PurePosixPath(groups[key]))


def _upward(mount: Path, mounted: PurePosixPath, group: PurePosixPath) -> Iterator[Path]:
    """The group's folder and its parents up to the mount point; outside the mounted part only the mount point shows."""
    inside = group.relative_to(mounted) if group.is_relative_to(mounted) else PurePosixPath()
    for part in (inside, *inside.parents):
        if ".." not in part.parts:
            yield mount / part
