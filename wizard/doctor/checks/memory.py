"""RAM, swap, and the limits of control groups."""

from __future__ import annotations

from wizard.doctor.facts import Facts
from wizard.doctor.finding import Finding, failed, inapplicable, passed, unknown, warned
from wizard.kernel.units import GIB

LOW_MEMORY, NO_MEMORY = 4 * GIB, 1 * GIB
"""Bytes that are available: a server with an engine takes some, and a model on the CPU its whole size."""
SWAPPING = 0.5
"""Share of the swap from which on the machine is short of memory."""
LOW_CORES = 2
LOW_TASKS = 500
"""Processes and threads: an engine starts some for every core and every GPU."""


def memory(facts: Facts) -> Finding:
    """Available RAM, within the limit of the control group."""
    total, free = facts.host.memory_total_bytes, facts.host.memory_available_bytes
    if total is None or free is None:
        return unknown("memory.unknown")
    if free < NO_MEMORY:
        return failed("memory.none", "ps aux --sort=-rss | head", free_bytes=free, total_bytes=total)
    if free < LOW_MEMORY:
        return warned("memory.low", "ps aux --sort=-rss | head", free_bytes=free, total_bytes=total)
    return passed("memory.enough", free_bytes=free, total_bytes=total)


def swap(facts: Facts) -> Finding:
    """Swap in use: weights that are read from it are slow."""
    room = facts.kernel.swap
    if room is None:
        return unknown("swap.unknown")
    if not room.total:
        return passed("swap.none")
    used = room.total - room.free
    if used > SWAPPING * room.total:
        return warned("swap.used", used_bytes=used, total_bytes=room.total)
    return passed("swap.free", used_bytes=used, total_bytes=room.total)


def limited_memory(facts: Facts) -> Finding:
    """The control group's memory limit: the kernel kills a process that exceeds it (cgroup-v2.rst, memory.max)."""
    limit = facts.kernel.memory_limit
    if limit is None:
        return _unlimited(facts, "cgroup-memory")
    if limit.room < NO_MEMORY:
        return failed("cgroup-memory.full", limit_bytes=limit.limit, free_bytes=limit.room)
    if limit.room < LOW_MEMORY:
        return warned("cgroup-memory.low", limit_bytes=limit.limit, free_bytes=limit.room)
    return passed("cgroup-memory.enough", limit_bytes=limit.limit, free_bytes=limit.room)


def limited_cpu(facts: Facts) -> Finding:
    """The control group's share of the processors (cgroup-v2.rst, cpu.max)."""
    quota = facts.kernel.cpu_quota
    if quota is None:
        return _unlimited(facts, "cgroup-cpu")
    return (warned if quota < LOW_CORES else passed)(
        "cgroup-cpu.low" if quota < LOW_CORES else "cgroup-cpu.enough", quota=quota
    )


def limited_tasks(facts: Facts) -> Finding:
    """The control group's number of processes and threads: fork(2) and clone(2) fail beyond it (cgroup-v1/pids.rst)."""
    room = facts.kernel.tasks
    if room is None:
        return _unlimited(facts, "cgroup-tasks")
    if room.free < LOW_TASKS:
        return warned("cgroup-tasks.low", free=room.free, total=room.total)
    return passed("cgroup-tasks.enough", free=room.free, total=room.total)


def _unlimited(facts: Facts, check: str) -> Finding:
    """There is no limit, or no control group to read it from."""
    return inapplicable(f"{check}.none") if facts.kernel.has_cgroups else unknown(f"{check}.unknown")
