"""Live readings: GPUs from NVML, processor and memory from the kernel. Cheap enough for every second.

`Host` describes a machine; a `Reading` is its current state.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from wizard.kernel.errors import HostError
from wizard.kernel.language import tr
from wizard.probe import gpus, load, nvml
from wizard.probe.host import Gpu, GpuProcess, Host, Problem
from wizard.probe.load import CpuReading, CpuTime
from wizard.probe.nvml import Device, Nvml, Unknown

_COUNTERS = {
    "nvlink_sent": (nvml.FIELD_NVLINK_TX, nvml.ALL_LINKS, 1024),
    "nvlink_received": (nvml.FIELD_NVLINK_RX, nvml.ALL_LINKS, 1024),
    "pcie_sent": (nvml.FIELD_PCIE_TX, 0, 1),
    "pcie_received": (nvml.FIELD_PCIE_RX, 0, 1),
}
"""Name → NVML's field, its scope, and its unit in bytes (nvml.h: NVLink's data counters are in KiB)."""
REDUCED = {
    0x04: "SwPowerCap",
    0x08: "HwSlowdown",
    0x10: "SyncBoost",
    0x20: "SwThermalSlowdown",
    0x40: "HwThermalSlowdown",
    0x80: "HwPowerBrakeSlowdown",
}
"""Bit → name of a reason for lower clocks (nvml.h, ``nvmlClocksEventReason…``), without those that are chosen: an idle
GPU, and settings of the user.
"""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes per second between two readings, of all NVLinks of a GPU or of its PCIe slot."""

    sent: float
    received: float


@dataclass(frozen=True, slots=True)
class MigReading:
    """A MIG instance at a point in time."""

    profile: str
    memory_total_bytes: int | None
    memory_used_bytes: int | None


@dataclass(frozen=True, slots=True)
class GpuReading:
    """A GPU at a point in time; unknown values are None with a reason in ``unknown``, never 0."""

    index: int
    name: str
    memory_total_bytes: int | None = None
    memory_used_bytes: int | None = None
    """By processes; without the driver's reserved memory if the driver reports it separately."""
    memory_free_bytes: int | None = None
    memory_is_shared_with_host: bool = False
    utilisation: float | None = None
    """Share of the last sample period (1/6 s to 1 s) in which a kernel ran, 0 to 1 (nvml.h, nvmlUtilization_t)."""
    temperature_c: int | None = None
    power_watts: float | None = None
    power_limit_watts: float | None = None
    sm_clock_mhz: int | None = None
    clocks_reduced: tuple[str, ...] = ()
    """Why its clocks are lower than they can be, as nvml.h names the reasons; empty if they are not, or if unknown."""
    nvlink: Traffic | None = None
    pcie: Traffic | None = None
    mig_slices: tuple[MigReading, ...] = ()
    processes: tuple[GpuProcess, ...] = ()
    unknown: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reading:
    """The machine at a point in time."""

    cpu: CpuReading
    gpus: tuple[GpuReading, ...] = ()
    problem: Problem | None = None
    """Why NVML as a whole reports nothing."""


def refreshed(host: Host, reading: Reading) -> Host:
    """``host`` with the current free memory and processes of the reading; other values are unchanged."""
    seen = {gpu.index: gpu for gpu in reading.gpus}

    def renewed(gpu: Gpu) -> Gpu:
        now = seen.get(gpu.index)
        if now is None or now.memory_free_bytes is None:
            return gpu
        return replace(gpu, memory_free_bytes=now.memory_free_bytes, processes=now.processes)

    available = reading.cpu.memory_available_bytes
    return replace(
        host,
        gpus=tuple(map(renewed, host.gpus)),
        memory_available_bytes=host.memory_available_bytes if available is None else available,
    )


class Monitor:
    """Takes readings repeatedly; NVML stays open between them.

    Another thread may close it at any time, without waiting: a running reading ends.
    """

    def __init__(self, root: Path = Path("/"), clock: Callable[[], float] = time.monotonic) -> None:
        self._root, self._clock = root, clock
        self._busy = threading.Lock()
        self._closed = False
        self._session = Nvml()
        self._devices: list[Device | Unknown] | None = None
        self._counted: dict[tuple[int, str], tuple[float, int]] = {}
        self._time: CpuTime | None = None

    def read(self) -> Reading:
        """The current reading (a few milliseconds; the first one opens NVML). Never raises."""
        with self._busy:
            before, self._time = self._time, load.cpu_time(self._clock(), self._root)
            cpu = load.reading(before, self._time, self._root)
            try:
                reading = Reading(cpu, self._gpus((cpu.memory_total_bytes, cpu.memory_available_bytes)))
            except HostError as error:  # it may work the next time: a driver that is loaded, a GPU that is back
                self._devices = None
                self._counted.clear()
                reading = Reading(cpu, problem=Problem(error.code, error.what, error.todo))
            if self._closed:
                self._session.close()
            return reading

    def close(self) -> None:
        """Close NVML; a running reading ends."""
        self._closed = True
        self._session.kill()
        if self._busy.acquire(blocking=False):
            try:
                self._session.close()
            finally:
                self._busy.release()

    def _gpus(self, host_memory: tuple[int | None, int | None]) -> tuple[GpuReading, ...]:
        """All GPUs.

        Raises:
            HostError: See `Nvml.devices`.
        """
        if self._session.spent and not self._closed:
            self._session.close()
            self._session = Nvml()
            self._devices = None
        if self._devices is None:
            self._devices = self._session.devices()
        return tuple(self._described(index, device, host_memory) for index, device in enumerate(self._devices))

    def _described(
        self, index: int, device: Device | Unknown, host_memory: tuple[int | None, int | None]
    ) -> GpuReading:
        try:
            if isinstance(device, Device):
                return self._gpu(device, host_memory)
            because = device.because  # fallen off the bus, or not accessible to this user
        except HostError:
            raise
        except Exception as error:  # the others are read anyway
            because = f"{type(error).__name__}: {error}"
        return GpuReading(index, tr("unknown GPU"), unknown=dict.fromkeys(("memory", "utilisation"), because))

    def _gpu(self, device: Device, host_memory: tuple[int | None, int | None]) -> GpuReading:
        session = self._session
        unknown: dict[str, str] = {}

        def ask(name: str, function: str, *arguments: Any, read: Callable[[Any], Any] | None = None) -> Any:
            return gpus.known(session.query(function, device, *arguments, read=read), name, unknown)

        total, used, free, shared = _memory(session, device, host_memory, unknown)
        traffic = self._traffic(session, device, unknown)
        return GpuReading(
            index=device.index,
            name=ask("name", "nvmlDeviceGetName") or tr("unknown GPU"),
            memory_total_bytes=total,
            memory_used_bytes=used,
            memory_free_bytes=free,
            memory_is_shared_with_host=shared,
            utilisation=ask("utilisation", "nvmlDeviceGetUtilizationRates", read=lambda rates: rates["gpu"] / 100),
            temperature_c=ask("temperature_c", "nvmlDeviceGetTemperature", nvml.TEMPERATURE_GPU),
            power_watts=ask("power_watts", "nvmlDeviceGetPowerUsage", read=gpus.watts),
            power_limit_watts=ask("power_limit_watts", "nvmlDeviceGetPowerManagementLimit", read=gpus.watts),
            sm_clock_mhz=ask("sm_clock_mhz", "nvmlDeviceGetClockInfo", nvml.CLOCK_SM),
            clocks_reduced=_reduced(session, device),
            nvlink=traffic.get("nvlink"),
            pcie=traffic.get("pcie"),
            mig_slices=_slices(session, device, unknown) if gpus.mig_enabled(session, device, unknown) else (),
            processes=gpus.processes(session, device, unknown),
            unknown=unknown,
        )

    def _traffic(self, session: Nvml, device: Device, unknown: dict[str, str]) -> dict[str, Traffic]:
        """Rates from NVML's counters and those of the previous reading.

        (``nvmlDeviceGetPcieThroughput`` measures for 20 ms per call; counters cost nothing.)
        """
        now = self._clock()
        counters = session.fields(device, *((counter, scope) for counter, scope, _unit in _COUNTERS.values()))
        rates: dict[str, float] = {}
        for (name, (_field, _scope, unit)), counter in zip(_COUNTERS.items(), counters, strict=True):
            path = name.partition("_")[0]
            if isinstance(counter, Unknown):
                unknown[path] = counter.because
                continue
            then, before = self._counted.get((device.index, name), (now, 0))
            self._counted[device.index, name] = (now, counter)
            if now > then and counter >= before:
                rates[name] = (counter - before) * unit / (now - then)
            else:
                unknown.setdefault(path, tr("a second reading is needed"))
        return {
            path: Traffic(rates[f"{path}_sent"], rates[f"{path}_received"])
            for path in ("nvlink", "pcie")
            if f"{path}_sent" in rates and f"{path}_received" in rates
        }


def _reduced(session: Nvml, device: Device) -> tuple[str, ...]:
    """See `GpuReading.clocks_reduced`. The function's older name, which all drivers have."""
    bits = session.query("nvmlDeviceGetCurrentClocksThrottleReasons", device)
    return () if isinstance(bits, Unknown) else reduced(bits)


def reduced(bits: int) -> tuple[str, ...]:
    """The names of the reasons in NVML's ``bits``."""
    return tuple(name for bit, name in REDUCED.items() if bits & bit)


def _memory(
    session: Nvml, device: Device, host_memory: tuple[int | None, int | None], unknown: dict[str, str]
) -> tuple[int | None, int | None, int | None, bool]:
    """(total, used, free, shared with the host)."""
    reasons: dict[str, str] = {}
    total, free, shared = gpus.memory(session, device, host_memory, reasons)
    if reasons:
        unknown["memory"] = next(iter(reasons.values()))
    info = None if shared else gpus.memory_info(session, device)
    if info is not None and not isinstance(info, Unknown):
        return total, int(info["used"]), free, shared
    return total, None if total is None or free is None else total - free, free, shared


def _slices(session: Nvml, device: Device, unknown: dict[str, str]) -> tuple[MigReading, ...]:
    slices: list[MigReading] = []
    for part in gpus.mig_devices(session, device, unknown):
        info = gpus.memory_info(session, part)
        known = not isinstance(info, Unknown)
        profile = gpus.mig_profile(session, part)
        slices.append(MigReading(profile, info["total"] if known else None, info["used"] if known else None))
    return tuple(slices)
