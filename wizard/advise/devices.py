"""GPUs as the advice sees them: groups of like ones that may work together. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Rates:
    """Dense tensor-core rates in operations per second by what is multiplied; None where the GPU cannot.

    Attributes:
        fp16: Both 16-bit formats, with fp32 accumulation.
        fp8: 8-bit floating point.
        fp4: 4-bit floating point (NVFP4, MXFP4).
        int8: 8-bit integers.
        bandwidth: Memory bandwidth in bytes per second.
        source: Who says so; a derived rate says what it is derived from.
        known: True if they come from a table with sources, False if they were derived from NVML's clocks.
    """

    fp16: float
    bandwidth: float
    source: str
    fp8: float | None = None
    fp4: float | None = None
    int8: float | None = None
    known: bool = True


@dataclass(frozen=True, slots=True)
class Device:
    """Like GPUs of one machine.

    Attributes:
        name: As NVML says it.
        indices: NVML's indices of the group.
        compute_capability: ``(9, 0)``.
        total_bytes: Memory that CUDA can use of one GPU: NVML's total without what the driver reserves.
        free_bytes: Of that, free on the fullest GPU of the group.
        rates: How fast one GPU is; None if nothing is known (speed is not estimated then).
        link: ``nvlink`` where every pair has it, ``bridge`` where only pairs do, ``pcie`` else.
        link_bytes_per_second: From one GPU to the others, one direction.
        mig: These are MIG slices: each works alone.
        unified: Memory shared with the host.
        holders: Who holds memory: ``python (pid 4242): 10.0 GiB``.
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
    unified: bool = False
    holders: tuple[str, ...] = field(default=())
