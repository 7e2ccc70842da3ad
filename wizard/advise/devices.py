"""GPUs for the advice: groups of identical ones that can work together. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Literal

from wizard.advise.reasons import Reason, because
from wizard.catalog.gpus import MOST, GpuProfile, MemoryKind, match
from wizard.kernel.language import tr
from wizard.probe.host import Gpu, GpuLink, Host, MigSlice
from wizard.probe.shorthand import RESERVED_BYTES

NVLINK_BYTES = 25e9
"""Bytes per second of an NVLink in one direction, generations 2 to 4 (Volta to Hopper); Blackwell's fifth has twice
that.
"""
PCIE_LANE_BYTES = {1: 0.25e9, 2: 0.5e9, 3: 0.985e9, 4: 1.97e9, 5: 3.94e9, 6: 7.56e9}
"""Bytes per second of a PCIe lane in one direction, by generation, after encoding."""
OPERATIONS = {
    (7, 0): 16,
    (7, 5): 16,
    (8, 0): 32,
    (8, 7): 16,
    (9, 0): 32,
    (10, 0): 64,
    (10, 3): 64,
}
"""Dense 16-bit tensor-core operations per CUDA core and clock, by compute capability, where it is not 8: rates of
NVIDIA's datasheets divided by cores × boost clock (T4, V100, A10, A30, A40, A100, L4, L40S, H100 SXM within 1.3 %).
"""
STACK_BITS = 1024
"""Width of the bus of a stack of HBM (JEDEC JESD235); GPUs with other memory have at most 512 bits."""
BUSY = 0.1
"""A GPU with more than this share of its memory in use is not grouped with idle ones."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Dense tensor-core rates in operations per second by operand format; None if the GPU does not support it.

    Attributes:
        fp16: Both 16-bit formats, with fp32 accumulation.
        fp8: 8-bit floating point.
        fp4: 4-bit floating point (NVFP4, MXFP4).
        int8: 8-bit integers.
        bandwidth: Memory bandwidth in bytes per second.
        memory: Kind of the memory.
        source: The source of the figures; for a derived rate what it was derived from.
        known: True if they come from a table with sources, False if they were derived from NVML's clocks.
    """

    fp16: float
    bandwidth: float
    memory: MemoryKind
    source: str
    fp8: float | None = None
    fp4: float | None = None
    int8: float | None = None
    known: bool = True


@dataclass(frozen=True, slots=True)
class Device:
    """Identical GPUs of one machine.

    Attributes:
        name: As reported by NVML.
        indices: NVML's indices of the group; of MIG slices, the index of each one's GPU.
        compute_capability: ``(9, 0)``.
        total_bytes: Memory of a GPU that CUDA can use: NVML's total minus what the driver reserves.
        free_bytes: The free part of it on the fullest GPU of the group.
        rates: Rates of a GPU; None if unknown (speed is not estimated then).
        link: ``nvlink`` if every pair has it, ``bridge`` if only pairs have it, else ``pcie``.
        link_bytes_per_second: From a GPU to the others, in one direction.
        mig: Whether these are MIG slices, each of which works alone.
        slices: The slices, each of the GPU in ``indices``; empty for whole GPUs, and for a slice that is all that a
            container shows.
        kin: Of MIG slices, NVML's indices of all GPUs of this kind.
        unified: Whether the memory is shared with the host.
        holders: Processes that use memory: ``python (pid 4242): 10.0 GiB``, as reasons.
        named: Number of GPUs requested, if more than a single machine has; the group is then one machine's.
        watts: Power limit of a GPU, the highest of the group; None if that of any is unknown, and for MIG slices.
    """

    name: str
    indices: tuple[int, ...]
    compute_capability: tuple[int, int]
    total_bytes: int
    free_bytes: int
    rates: Rates | None = None
    link: Literal["nvlink", "bridge", "pcie"] = "pcie"
    link_bytes_per_second: float = 25e9
    mig: bool = False
    slices: tuple[MigSlice, ...] = ()
    kin: tuple[int, ...] = ()
    unified: bool = False
    holders: tuple[Reason, ...] = field(default=())
    named: int | None = None
    watts: float | None = None


def devices(host: Host) -> list[Device]:
    """The GPUs of ``host`` in groups of identical ones, the largest first; GPUs that NVML cannot describe are omitted.

    A GPU whose memory is in use is not grouped with idle ones, because the fullest sets the limit for all.

    Raises:
        UsageError: TW-D02 or TW-K01 if a profile of a GPU is damaged.
    """
    whole: dict[tuple[str, int, tuple[int, int], bool], list[Gpu]] = {}
    parts: dict[tuple[str, str], list[tuple[Gpu, MigSlice]]] = {}
    for gpu in host.gpus:
        name, _, profile = gpu.name.partition(" MIG ")
        if profile:  # inside a container only the slice is visible
            alone = MigSlice(gpu.uuid or "", profile, gpu.memory_total_bytes)
            parts.setdefault((name, profile), []).append((gpu, alone))
        elif gpu.mig_enabled:
            for mig_slice in filter(lambda each: each.uuid, gpu.mig_slices):  # no other name selects a slice
                parts.setdefault((name, mig_slice.profile), []).append((gpu, mig_slice))
        elif (total := gpu.memory_total_bytes) and gpu.compute_capability:
            key = (name, total, gpu.compute_capability, _taken(gpu, total) > BUSY * total)
            whole.setdefault(key, []).append(gpu)
    groups = [
        _group(members, total, capability, host.gpu_links) for (_, total, capability, _), members in whole.items()
    ]
    groups += [made for members in parts.values() if (made := _slices(members, host)) is not None]
    return sorted(groups, key=lambda device: (device.mig, -len(device.indices) * device.free_bytes))


def group(host: Host, indices: Collection[int], uuids: Collection[str] = ()) -> Device | None:
    """The group of ``host`` with all GPUs ``indices``, or with the MIG slices ``uuids`` on them; None if none has."""
    return next(
        (
            device
            for device in devices(host)
            if {*indices} <= {*device.indices} and {*uuids} <= {part.uuid for part in device.slices}
        ),
        None,
    )


def rates(gpu: Gpu, profile: GpuProfile | None) -> Rates | None:
    """The rates of ``gpu``: from its profile, else from its clocks; None if neither is sufficient.

    Derived: bandwidth = memory clock × 2 (both edges) × bus width / 8; rate = cores × clock × `OPERATIONS`, half of it
    for a GeForce, which accumulates in fp32 at half rate; 8 bits twice and 4 bits four times as fast where they exist.
    """
    if profile is not None:
        tensor = profile.tensor
        fp8, fp4, int8 = (None if tera is None else tera * 1e12 for tera in (tensor.fp8, tensor.fp4, tensor.int8))
        source = tr("bandwidth: {source}", source=profile.bandwidth.source) + f"; {tensor.source}"
        bandwidth = profile.bandwidth.bytes_per_second
        return Rates(tensor.fp16 * 1e12, bandwidth, profile.memory.kind, source, fp8, fp4, int8)
    capability = gpu.compute_capability
    if not (capability and gpu.memory_bus_bits and gpu.memory_clock_mhz and gpu.cuda_cores and gpu.sm_clock_mhz):
        return None
    if capability < (7, 0):
        return None  # no tensor cores: nothing was fitted to such GPUs
    per_core = OPERATIONS.get(capability, 8) / (2 if "geforce" in gpu.name.lower() else 1)
    fp16 = gpu.cuda_cores * gpu.sm_clock_mhz * 1e6 * per_core
    return Rates(
        fp16,
        gpu.memory_clock_mhz * 1e6 * 2 * gpu.memory_bus_bits / 8,
        "hbm" if gpu.memory_bus_bits >= STACK_BITS else "lpddr" if gpu.memory_is_shared_with_host else "gddr",
        tr(
            "derived from NVML: {bits} bit x {memory_clock} MHz x 2 / 8 bytes/s, {cores} cores x {clock} MHz x "
            "{operations:g} operations/s",
            bits=gpu.memory_bus_bits,
            memory_clock=gpu.memory_clock_mhz,
            cores=gpu.cuda_cores,
            clock=gpu.sm_clock_mhz,
            operations=per_core,
        ),
        fp8=2 * fp16 if capability >= (8, 9) else None,
        fp4=4 * fp16 if capability >= (10, 0) else None,
        int8=2 * fp16 if capability >= (7, 5) else None,
        known=False,
    )


def _taken(gpu: Gpu, total: int) -> int:
    """Bytes of ``total`` that processes use, besides the driver."""
    free = gpu.memory_free_bytes
    return 0 if free is None or gpu.memory_is_shared_with_host else max(0, total - free - RESERVED_BYTES)


def _reserved(gpu: Gpu, total: int) -> int:
    """Bytes of ``total`` that the driver reserves: used memory that belongs to no process, up to what is plausible."""
    if gpu.memory_is_shared_with_host:
        return 0
    if gpu.memory_free_bytes is None:
        return RESERVED_BYTES
    held = sum(process.used_bytes or 0 for process in gpu.processes)
    return min(RESERVED_BYTES, max(0, total - gpu.memory_free_bytes - held))


def _group(members: list[Gpu], total: int, capability: tuple[int, int], links: tuple[GpuLink, ...]) -> Device:
    """A group of identical whole GPUs, with ``total`` bytes by NVML, as a device."""
    first = members[0]
    profile = match(first.name)
    named = len(members)
    if first.uuid is None:  # from a shorthand or a case: NVML counts the GPUs of one machine
        members = members[: profile.link.most if profile else MOST]
    usable = total - max(_reserved(gpu, total) for gpu in members)
    free = min(usable if gpu.memory_free_bytes is None else gpu.memory_free_bytes for gpu in members)
    made = Device(
        name=first.name,
        indices=tuple(gpu.index for gpu in members),
        compute_capability=capability,
        total_bytes=usable,
        free_bytes=min(usable, free),
        rates=rates(first, profile),
        unified=first.memory_is_shared_with_host,
        holders=tuple(line for gpu in members for line in _holders(gpu, total, several=len(members) > 1)),
        named=named if named > len(members) else None,
        watts=_watts(members),
    )
    kind, speed = _link(members, capability, profile, links)
    return replace(made, link=kind, link_bytes_per_second=speed or made.link_bytes_per_second)


def _watts(members: list[Gpu]) -> float | None:
    """The highest power limit; None if any is unknown."""
    limits = [gpu.power_limit_watts for gpu in members]
    known = [limit for limit in limits if limit]
    return max(known) if len(known) == len(limits) else None


def _holders(gpu: Gpu, total: int, several: bool) -> list[Reason]:
    """The processes that use memory of ``gpu``, and the part without a visible process (a container hides other
    processes).
    """
    where = gpu.index if several else None
    lines = [
        because("holder", name=process.name, pid=process.pid, size_bytes=process.used_bytes, index=where)
        for process in gpu.processes
    ]
    hidden = _taken(gpu, total) - sum(process.used_bytes or 0 for process in gpu.processes)
    if hidden > BUSY / 2 * total:
        lines.append(because("hidden-holders", size_bytes=hidden, index=where))
    return lines


def _link(
    members: list[Gpu], capability: tuple[int, int], profile: GpuProfile | None, links: tuple[GpuLink, ...]
) -> tuple[Literal["nvlink", "bridge", "pcie"], float | None]:
    """The link between the members, and bytes per second of a GPU in one direction (None if unknown)."""
    inside = {gpu.index for gpu in members}
    bonds = [int(link.kind[2:]) for link in links if link.kind.startswith("NV") and {link.a, link.b} <= inside]
    if not bonds:
        generation = members[0].pcie_generation or (profile.link.pcie_generation if profile else None)
        lanes = min(gpu.pcie_width or 16 for gpu in members)
        return "pcie", PCIE_LANE_BYTES[generation] * lanes if generation in PCIE_LANE_BYTES else None
    pairs = len(members) * (len(members) - 1) // 2
    speed = min(bonds) * NVLINK_BYTES * (2 if capability >= (10, 0) else 1)
    return ("nvlink" if len(bonds) == pairs else "bridge"), speed


def _slices(members: list[tuple[Gpu, MigSlice]], host: Host) -> Device | None:
    """Identical MIG slices: compute by the profile (``3g`` of 7; an A30 has 4), bandwidth by the share of memory."""
    gpu, part = members[0]
    name = gpu.name.partition(" MIG ")[0]
    known = match(name)
    capability = gpu.compute_capability or (known.compute_capability if known else None)
    smallest = min(part.memory_total_bytes or 0 for _, part in members)
    if not smallest or capability is None:
        return None
    full = rates(gpu, known)
    whole = known.memory.bytes if known else gpu.memory_total_bytes or smallest
    eighths = max(1, round(smallest / whole * 8)) / 8
    digit = part.profile.partition("g.")[0]
    compute = int(digit) / (4 if "A30" in name else 7) if digit.isdecimal() else eighths
    inside_container = " MIG " in gpu.name
    free = [gpu.memory_free_bytes for gpu, _ in members if inside_container and gpu.memory_free_bytes is not None]
    return Device(
        name=f"{name} MIG {part.profile}",
        indices=tuple(gpu.index for gpu, _ in members),
        compute_capability=capability,
        total_bytes=smallest,
        free_bytes=min([smallest, *free]),
        rates=full and _share(full, compute, eighths),
        mig=True,
        slices=() if inside_container else tuple(part for _, part in members),
        kin=tuple(each.index for each in host.gpus if each.name == gpu.name),
    )


def _share(whole: Rates, compute: float, bandwidth: float) -> Rates:
    """The rates of a part of a GPU."""
    fp8, fp4, int8 = (None if rate is None else rate * compute for rate in (whole.fp8, whole.fp4, whole.int8))
    fp16, memory = whole.fp16 * compute, whole.bandwidth * bandwidth
    text = tr(
        "{compute:.0%} of the GPU's compute rate and {bandwidth:.0%} of its bandwidth",
        compute=compute,
        bandwidth=bandwidth,
    )
    return Rates(fp16, memory, whole.memory, f"{text}; {whole.source}", fp8, fp4, int8, known=False)
