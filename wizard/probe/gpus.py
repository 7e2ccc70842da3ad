"""NVIDIA GPUs as described by NVML."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from wizard.kernel.errors import HostError
from wizard.kernel.language import tr
from wizard.probe import links, nvml
from wizard.probe.host import Gpu, GpuLink, GpuProcess, MigSlice, Problem
from wizard.probe.nvml import Device, Nvml, Unknown

_MAX_SLOTS, _MAX_PROCESSES = 64, 4096
"""More than any GPU has: 7 MIG instances, and a process for each of its 2^12 channels."""


@dataclass(frozen=True, slots=True)
class GpuPart:
    """The part of a host from NVML; ``unknown`` contains names of fields of `Host`."""

    gpus: tuple[Gpu, ...] = ()
    links: tuple[GpuLink, ...] = ()
    problem: Problem | None = None
    driver_version: str | None = None
    cuda_driver_version: str | None = None
    unknown: dict[str, str] = field(default_factory=dict)


def find(host_memory: tuple[int | None, int | None]) -> GpuPart:
    """Query NVML; never raises: missing values are in ``problem`` or ``unknown``.

    Args:
        host_memory: (total, available) bytes, which unified-memory devices share.
    """
    with contextlib.closing(Nvml()) as session:
        unknown: dict[str, str] = {}
        driver = cuda = None
        try:
            driver = known(session.query("nvmlSystemGetDriverVersion"), "driver_version", unknown)
            cuda = known(_cuda(session), "cuda_driver_version", unknown)
            devices = session.devices()
            gpus = tuple(_described(session, index, device, host_memory) for index, device in enumerate(devices))
            between = links.find(session, [device for device in devices if isinstance(device, Device)], unknown)
        except HostError as error:
            problem = Problem(error.code, error.what, error.todo)
            return GpuPart((), (), problem, driver, cuda, unknown)
        return GpuPart(gpus, between, None, driver, cuda, unknown)


def _cuda(session: Nvml) -> Any:
    """Newest CUDA that the driver supports, ``13.0``; drivers before 410 have the first version of the query only."""

    def read(number: int) -> str:
        return f"{number // 1000}.{number % 1000 // 10}"

    answer = session.query("nvmlSystemGetCudaDriverVersion_v2", read=read)
    return session.query("nvmlSystemGetCudaDriverVersion", read=read) if isinstance(answer, Unknown) else answer


def known(answer: Any, name: str, unknown: dict[str, str]) -> Any:
    """``answer``, or None after recording in ``unknown`` why ``name`` has none."""
    if isinstance(answer, Unknown):
        unknown[name] = answer.because
        return None
    return answer


def _described(session: Nvml, index: int, device: Device | Unknown, host_memory: tuple[int | None, int | None]) -> Gpu:
    try:
        if isinstance(device, Device):
            return _gpu(session, device, host_memory)
        because = device.because  # fallen off the bus, or not accessible to this user
    except HostError:
        raise
    except Exception as error:  # the others are described anyway
        because = f"{type(error).__name__}: {error}"
    names = ("uuid", "memory_total_bytes", "memory_free_bytes", "compute_capability")
    return Gpu(index, tr("unknown GPU"), unknown=dict.fromkeys(names, because))


def _gpu(session: Nvml, device: Device, host_memory: tuple[int | None, int | None]) -> Gpu:
    unknown: dict[str, str] = {}

    def ask(name: str, function: str, *arguments: Any, read: Callable[[Any], Any] | None = None) -> Any:
        return known(session.query(function, device, *arguments, read=read), name, unknown)

    total, free, shared = memory(session, device, host_memory, unknown)
    mig = mig_enabled(session, device, unknown)
    return Gpu(
        index=device.index,
        name=ask("name", "nvmlDeviceGetName") or tr("unknown GPU"),
        uuid=ask("uuid", "nvmlDeviceGetUUID"),
        memory_total_bytes=total,
        memory_free_bytes=free,
        memory_is_shared_with_host=shared,
        compute_capability=ask("compute_capability", "nvmlDeviceGetCudaComputeCapability", read=_capability),
        memory_bus_bits=ask("memory_bus_bits", "nvmlDeviceGetMemoryBusWidth"),
        memory_clock_mhz=ask("memory_clock_mhz", "nvmlDeviceGetMaxClockInfo", nvml.CLOCK_MEMORY),
        sm_clock_mhz=ask("sm_clock_mhz", "nvmlDeviceGetMaxClockInfo", nvml.CLOCK_SM),
        cuda_cores=ask("cuda_cores", "nvmlDeviceGetNumGpuCores"),
        power_limit_watts=ask("power_limit_watts", "nvmlDeviceGetPowerManagementLimit", read=watts),
        pcie_generation=ask("pcie_generation", "nvmlDeviceGetMaxPcieLinkGeneration"),
        pcie_width=ask("pcie_width", "nvmlDeviceGetMaxPcieLinkWidth"),
        mig_enabled=mig,
        mig_slices=_slices(session, device, unknown) if mig else (),
        processes=processes(session, device, unknown),
        unknown=unknown,
    )


def watts(milliwatts: int) -> float:
    """Watts from NVML's unit of power."""
    return milliwatts / 1000


def _capability(answer: list[int]) -> tuple[int, int]:
    major, minor = answer
    if not 1 <= major < 100 or minor > 9:
        raise ValueError(f"{major}.{minor}")
    return major, minor


def memory_info(session: Nvml, device: Device) -> Any:
    """Memory of a device, a dictionary of bytes: ``total``, ``free``, ``used``; or `Unknown`.

    Version 2 reports memory reserved by the driver separately from used memory; drivers before 510 only have version 1.
    """
    second = session.query("nvmlDeviceGetMemoryInfo", device, version=nvml.MEMORY_V2, read=_checked_memory)
    if not isinstance(second, Unknown) and second["total"]:
        return second
    first = session.query("nvmlDeviceGetMemoryInfo", device, read=_checked_memory)
    definite = not isinstance(second, Unknown) or second.not_supported  # then it has no separate memory
    return second if isinstance(first, Unknown) and definite else first


def _checked_memory(info: dict[str, int]) -> dict[str, int]:
    if info["free"] > info["total"] or info["used"] > info["total"]:
        raise ValueError(f"{info['free']} of {info['total']} bytes free, {info['used']} used")
    return info


def memory(
    session: Nvml, device: Device, host_memory: tuple[int | None, int | None], unknown: dict[str, str]
) -> tuple[int | None, int | None, bool]:
    """(total, free, shared with the host). Unified-memory devices (GB10, Jetson) return "not supported" or 0."""
    info = memory_info(session, device)
    if isinstance(info, Unknown) and not info.not_supported:
        unknown["memory_total_bytes"] = unknown["memory_free_bytes"] = info.because
        return None, None, False
    if not isinstance(info, Unknown) and info["total"] > 0:
        return info["total"], info["free"], False
    total, free = host_memory
    if total is None or free is None:
        reason = tr("the device shares the host's memory, whose size is unknown")
        unknown["memory_total_bytes"] = unknown["memory_free_bytes"] = reason
    return total, free, True


def mig_enabled(session: Nvml, device: Device, unknown: dict[str, str]) -> bool | None:
    """Whether the GPU is divided into MIG instances; None, with the reason recorded, if NVML does not report it."""
    mode = session.query("nvmlDeviceGetMigMode", device, read=lambda modes: bool(modes[0]))
    if isinstance(mode, Unknown) and mode.not_supported:
        return False
    enabled: bool | None = known(mode, "mig_enabled", unknown)
    return enabled


def _slices(session: Nvml, device: Device, unknown: dict[str, str]) -> tuple[MigSlice, ...]:
    """The MIG instances."""
    slices: list[MigSlice] = []
    for part in mig_devices(session, device, unknown):
        uuid, info = session.query("nvmlDeviceGetUUID", part), memory_info(session, part)
        slices.append(
            MigSlice(
                uuid="" if isinstance(uuid, Unknown) else uuid,
                profile=mig_profile(session, part),
                memory_total_bytes=None if isinstance(info, Unknown) else info["total"],
                index=part.slot,
            )
        )
    return tuple(slices)


def mig_devices(session: Nvml, device: Device, unknown: dict[str, str]) -> list[Device]:
    """The MIG instances of a GPU."""
    slots = session.query("nvmlDeviceGetMaxMigDeviceCount", device, read=lambda count: _at_most(_MAX_SLOTS, count))
    return session.mig_devices(device, known(slots, "mig_slices", unknown) or 0)


def mig_profile(session: Nvml, part: Device) -> str:
    """The profile, such as ``1g.5gb``, in the name "NVIDIA A100-SXM4-40GB MIG 1g.5gb"."""
    profile = session.query("nvmlDeviceGetName", part, read=lambda name: str(name.rpartition("MIG ")[2]))
    return tr("unknown") if isinstance(profile, Unknown) else profile


def processes(session: Nvml, device: Device, unknown: dict[str, str]) -> tuple[GpuProcess, ...]:
    """Processes that use memory. In a container the process IDs are the host's and the names are hidden."""
    processes: dict[int, GpuProcess] = {}
    for kind in ("Compute", "Graphics"):
        running = session.query(f"nvmlDeviceGet{kind}RunningProcesses", device, read=_holders)
        for pid, used in known(running, "processes", unknown) or ():
            name = session.query("nvmlSystemGetProcessName", pid)
            processes[pid] = GpuProcess(pid, None if isinstance(name, Unknown) else name, used)
    return tuple(processes[pid] for pid in sorted(processes))


def _holders(answer: list[dict[str, Any]]) -> list[tuple[int, int | None]]:
    """(process ID, bytes). nvidia-ml-py 12.535.77 has a longer structure than NVML since driver 535.98."""
    _at_most(_MAX_PROCESSES, len(answer))
    if any("usedGpuCcProtectedMemory" in each for each in answer):
        raise ValueError(tr("nvidia-ml-py 12.535.77 misreads process data: install a newer version"))
    return [(int(each["pid"]), each["usedGpuMemory"]) for each in answer]


def _at_most(most: int, count: int) -> int:
    if count > most:
        raise ValueError(count)
    return count
