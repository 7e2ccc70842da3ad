"""NVIDIA GPUs and the links between them, as NVML describes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wizard.kernel.errors import HostError
from wizard.kernel.language import tr
from wizard.probe import nvml
from wizard.probe.host import Gpu, GpuLink, GpuProcess, MigSlice, Problem
from wizard.probe.nvml import Nvml, Unknown

TOPOLOGY = {0: "PIX", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
"""``nvmlGpuTopologyLevel_t`` → the word of ``nvidia-smi topo -m``; two GPUs of one board (0) are at least that near."""


@dataclass(frozen=True, slots=True)
class GpuPart:
    """The part of a host that NVML knows; ``unknown`` names fields of `Host`."""

    gpus: tuple[Gpu, ...] = ()
    links: tuple[GpuLink, ...] = ()
    problem: Problem | None = None
    driver_version: str | None = None
    cuda_driver_version: str | None = None
    unknown: dict[str, str] = field(default_factory=dict)


def find(host_memory: tuple[int | None, int | None], library: Any = None) -> GpuPart:
    """Ask NVML for everything that it knows; never raises: what NVML cannot say is in ``problem`` or ``unknown``.

    Args:
        host_memory: (total, available) bytes, which unified-memory devices share.
        library: Stands in for the module ``pynvml``.
    """
    try:
        with nvml.opened(library) as session:
            return _part(session, host_memory)
    except HostError as error:
        return GpuPart(problem=Problem(error.code, error.what, error.todo))


def _part(session: Nvml, host_memory: tuple[int | None, int | None]) -> GpuPart:
    unknown: dict[str, str] = {}
    driver = known(session.query("nvmlSystemGetDriverVersion"), "driver_version", unknown)
    cuda = known(session.query("nvmlSystemGetCudaDriverVersion_v2"), "cuda_driver_version", unknown)
    count = known(session.query("nvmlDeviceGetCount"), "gpus", unknown) or 0
    handles = [session.query("nvmlDeviceGetHandleByIndex", index) for index in range(count)]
    return GpuPart(
        gpus=tuple(_gpu(session, index, handle, host_memory) for index, handle in enumerate(handles)),
        links=_links(session, handles, unknown),
        driver_version=driver,
        cuda_driver_version=None if cuda is None else f"{cuda // 1000}.{cuda % 1000 // 10}",
        unknown=unknown,
    )


def known(answer: Any, name: str, unknown: dict[str, str]) -> Any:
    """``answer``, or None after noting in ``unknown`` why ``name`` has none."""
    if isinstance(answer, Unknown):
        unknown[name] = answer.because
        return None
    return answer


def _gpu(session: Nvml, index: int, handle: Any, host_memory: tuple[int | None, int | None]) -> Gpu:
    if isinstance(handle, Unknown):  # fallen off the bus, or not to be touched by this user
        names = ("uuid", "memory_total_bytes", "memory_free_bytes", "compute_capability")
        return Gpu(index, tr("unknown GPU"), unknown=dict.fromkeys(names, handle.because))
    unknown: dict[str, str] = {}

    def ask(name: str, function: str, *arguments: Any) -> Any:
        return known(session.query(function, handle, *arguments), name, unknown)

    total, free, shared = memory(session, handle, host_memory, unknown)
    capability = ask("compute_capability", "nvmlDeviceGetCudaComputeCapability")
    milliwatts = ask("power_limit_watts", "nvmlDeviceGetPowerManagementLimit")
    mig = mig_enabled(session, handle, unknown)
    return Gpu(
        index=index,
        name=ask("name", "nvmlDeviceGetName") or tr("unknown GPU"),
        uuid=ask("uuid", "nvmlDeviceGetUUID"),
        memory_total_bytes=total,
        memory_free_bytes=free,
        memory_is_shared_with_host=shared,
        compute_capability=None if capability is None else (int(capability[0]), int(capability[1])),
        memory_bus_bits=ask("memory_bus_bits", "nvmlDeviceGetMemoryBusWidth"),
        memory_clock_mhz=ask("memory_clock_mhz", "nvmlDeviceGetMaxClockInfo", nvml.CLOCK_MEMORY),
        sm_clock_mhz=ask("sm_clock_mhz", "nvmlDeviceGetMaxClockInfo", nvml.CLOCK_SM),
        cuda_cores=ask("cuda_cores", "nvmlDeviceGetNumGpuCores"),
        power_limit_watts=None if milliwatts is None else milliwatts / 1000,
        pcie_generation=ask("pcie_generation", "nvmlDeviceGetMaxPcieLinkGeneration"),
        pcie_width=ask("pcie_width", "nvmlDeviceGetMaxPcieLinkWidth"),
        mig_enabled=mig,
        mig_slices=_slices(session, handle, unknown) if mig else (),
        processes=processes(session, handle, unknown),
        unknown=unknown,
    )


def memory_info(session: Nvml, handle: Any) -> Any:
    """What NVML says of a device's memory, in bytes.

    Version 2 counts what the driver reserves apart from what is used; drivers before 510 know only version 1.
    """
    info = session.query("nvmlDeviceGetMemoryInfo", handle, version=nvml.MEMORY_V2)
    return session.query("nvmlDeviceGetMemoryInfo", handle) if isinstance(info, Unknown) else info


def memory(
    session: Nvml, handle: Any, host_memory: tuple[int | None, int | None], unknown: dict[str, str]
) -> tuple[int | None, int | None, bool]:
    """(total, free, shared with the host). Unified-memory devices (GB10, Jetson) answer "not supported" or 0."""
    info = memory_info(session, handle)
    if isinstance(info, Unknown) and not info.not_supported:
        unknown["memory_total_bytes"] = unknown["memory_free_bytes"] = info.because
        return None, None, False
    if not isinstance(info, Unknown) and info.total > 0:
        return info.total, info.free, False
    total, free = host_memory
    if total is None or free is None:
        reason = tr("the device shares the host's memory, whose size is unknown")
        unknown["memory_total_bytes"] = unknown["memory_free_bytes"] = reason
    return total, free, True


def mig_enabled(session: Nvml, handle: Any, unknown: dict[str, str]) -> bool | None:
    """Whether the GPU is divided into MIG instances; None, and the reason noted, if NVML does not say."""
    mode = session.query("nvmlDeviceGetMigMode", handle)
    if isinstance(mode, Unknown) and mode.not_supported:
        return False
    mode = known(mode, "mig_enabled", unknown)
    return None if mode is None else bool(mode[0])


def _slices(session: Nvml, handle: Any, unknown: dict[str, str]) -> tuple[MigSlice, ...]:
    """The MIG instances."""
    slices: list[MigSlice] = []
    for part in mig_handles(session, handle, unknown):
        uuid, info = session.query("nvmlDeviceGetUUID", part), memory_info(session, part)
        slices.append(
            MigSlice(
                uuid="" if isinstance(uuid, Unknown) else uuid,
                profile=mig_profile(session, part),
                memory_total_bytes=None if isinstance(info, Unknown) else info.total,
            )
        )
    return tuple(slices)


def mig_handles(session: Nvml, handle: Any, unknown: dict[str, str]) -> list[Any]:
    """NVML's handles of the MIG instances; a slot without one answers "not found" and is left out."""
    slots = known(session.query("nvmlDeviceGetMaxMigDeviceCount", handle), "mig_slices", unknown) or 0
    parts = [session.query("nvmlDeviceGetMigDeviceHandleByIndex", handle, slot) for slot in range(slots)]
    return [part for part in parts if not isinstance(part, Unknown)]


def mig_profile(session: Nvml, part: Any) -> str:
    """``1g.5gb`` of the name "NVIDIA A100-SXM4-40GB MIG 1g.5gb"."""
    name = session.query("nvmlDeviceGetName", part)
    return tr("unknown") if isinstance(name, Unknown) else name.rpartition("MIG ")[2]


def processes(session: Nvml, handle: Any, unknown: dict[str, str]) -> tuple[GpuProcess, ...]:
    """Who holds memory. In a container the process ids are the host's and the names are hidden."""
    found: dict[int, GpuProcess] = {}
    for kind in ("Compute", "Graphics"):
        running = known(session.query(f"nvmlDeviceGet{kind}RunningProcesses", handle), "processes", unknown)
        for process in running or ():
            name = session.query("nvmlSystemGetProcessName", process.pid)
            name = None if isinstance(name, Unknown) else name
            found[process.pid] = GpuProcess(process.pid, name, process.usedGpuMemory)
    return tuple(found[pid] for pid in sorted(found))


def _links(session: Nvml, handles: list[Any], unknown: dict[str, str]) -> tuple[GpuLink, ...]:
    good = [(index, handle) for index, handle in enumerate(handles) if not isinstance(handle, Unknown)]
    if len(good) < 2:
        return ()
    peers = {index: _nvlink_peers(session, handle) for index, handle in good}
    addresses = {index: _bus_address(session.query("nvmlDeviceGetPciInfo", handle)) for index, handle in good}
    links: list[GpuLink] = []
    for position, (a, first) in enumerate(good):
        for b, second in good[position + 1 :]:
            direct = sum(1 for peer in peers[a] if peer is not None and peer == addresses[b])
            bonded = direct + min(peers[a].count(_SWITCH), peers[b].count(_SWITCH))
            if bonded:
                links.append(GpuLink(a, b, f"NV{bonded}"))
                continue
            level = known(session.query("nvmlDeviceGetTopologyCommonAncestor", first, second), "gpu_links", unknown)
            if level is not None:
                links.append(GpuLink(a, b, TOPOLOGY.get(level, "SYS")))
    return tuple(links)


_SWITCH = "switch"


def _nvlink_peers(session: Nvml, handle: Any) -> list[str | None]:
    """The far end of each active NVLink: a GPU's PCI address, `_SWITCH` (all GPUs behind it are reached), or None."""
    peers: list[str | None] = []
    for link in range(nvml.NVLINK_MAX_LINKS):
        state = session.query("nvmlDeviceGetNvLinkState", handle, link)
        if isinstance(state, Unknown):
            break  # past the last link, or no NVLink at all
        if not state:
            continue
        kind = session.query("nvmlDeviceGetNvLinkRemoteDeviceType", handle, link)
        if kind == nvml.NVLINK_TO_SWITCH:
            peers.append(_SWITCH)
        else:
            peers.append(_bus_address(session.query("nvmlDeviceGetNvLinkRemotePciInfo", handle, link)))
    return peers


def _bus_address(pci: Any) -> str | None:
    return None if isinstance(pci, Unknown) else pci.busId.decode().lower() or None
