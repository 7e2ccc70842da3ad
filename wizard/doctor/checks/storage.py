"""Disk, inodes and shared memory."""

from __future__ import annotations

from wizard.doctor.facts import Facts
from wizard.doctor.finding import Finding, failed, inapplicable, passed, unknown, warned
from wizard.kernel.units import GIB, MIB

LOW_DISK, NO_DISK = 20 * GIB, 2 * GIB
"""Bytes: a model of 8 billion parameters in 16 bits is 16 GB, to which its server's environment or image is added."""
LOW_INODES, NO_INODES = 100_000, 30_000
"""An environment with its packages takes tens of thousands: the wizard's own with all tools has 25,000."""
LOW_SHARED, NO_SHARED = 1 * GIB, 64 * MIB
"""Bytes: NVIDIA's images recommend ``--shm-size=1g``, and an instance of a Python model takes up to 64 MiB
(triton-inference-server/server issues 3504 and 6195).
"""


def disk(facts: Facts) -> Finding:
    """Free space for the workspace."""
    free, path = facts.host.disk.free_bytes, facts.host.disk.path
    if free < NO_DISK:
        return failed("disk.full", free_bytes=free, path=path)
    if free < LOW_DISK:
        return warned("disk.low", free_bytes=free, path=path)
    return passed("disk.enough", free_bytes=free, path=path)


def inodes(facts: Facts) -> Finding:
    """Free inodes: without one, "no space left" is reported on a disk with space (df(1), ``-i``)."""
    room, path = facts.kernel.inodes, facts.host.disk.path
    if room is None:
        return unknown("inodes.unknown", path=path)
    if not room.total:
        return inapplicable("inodes.dynamic")
    if room.free < NO_INODES:
        return failed("inodes.none", free=room.free, path=path)
    if room.free < LOW_INODES:
        return warned("inodes.low", free=room.free, path=path)
    return passed("inodes.enough", free=room.free, path=path)


def shared_memory(facts: Facts) -> Finding:
    """Shared memory, through which Triton's Python backend passes tensors and NCCL data between GPUs."""
    room = facts.kernel.shared_memory
    if room is None:
        return unknown("shm.unknown")
    code = "container" if facts.host.system.container else "host"
    commands = () if facts.host.system.container else ("sudo mount -o remount,size=4G /dev/shm",)
    if not room.total:
        return failed("shm.missing")
    if room.free < NO_SHARED:
        return failed(f"shm.full-{code}", *commands, free_bytes=room.free, total_bytes=room.total)
    if room.free < LOW_SHARED:
        return warned(f"shm.low-{code}", *commands, free_bytes=room.free, total_bytes=room.total)
    return passed("shm.enough", free_bytes=room.free)
