"""How busy the processor is now and how much memory is free, as far as this process may use them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from wizard.kernel.language import tr
from wizard.probe import cgroups, processor
from wizard.probe.cgroups import read

SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal")
"""Names in /sys/class/hwmon of the processor's own sensors (Intel, AMD twice, Arm boards)."""
ZONES = ("x86_pkg_temp", "cpu-thermal", "cpu_thermal")
"""The same in /sys/class/thermal, where there is no such hwmon device."""


@dataclass(frozen=True, slots=True)
class CpuReading:
    """The processor and the memory at one moment; what is unknown is None with a reason in ``unknown``, never 0."""

    utilisation: float | None = None
    """Share of the processor time that this process may use, 0 to 1, since the reading before."""
    load: float | None = None
    """Programs that ran or waited to run in the last minute, on average (proc(5), /proc/loadavg); of the machine."""
    memory_total_bytes: int | None = None
    memory_available_bytes: int | None = None
    temperature_c: int | None = None
    unknown: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CpuTime:
    """Processor time, in whatever unit: only shares of differences are taken."""

    busy: float
    possible: float


def cpu_time(now: float, root: Path = Path("/")) -> CpuTime | None:
    """Time that was used and that could have been.

    With a quota that of the control group, else that of the processors that this process may run on.

    Args:
        now: Seconds on a clock that never goes back.
        root: Where /proc and /sys are.
    """
    quota, used = cgroups.cpu_quota(root), cgroups.cpu_seconds(root)
    mine = os.sched_getaffinity(0)
    if quota is not None and used is not None:
        return CpuTime(used, now * min(quota, len(mine)))
    busy = possible = 0
    for line in (read(root / "proc/stat") or "").splitlines():
        name, *numbers = line.split()
        if not name.startswith("cpu") or not name[3:].isdigit() or int(name[3:]) not in mine:
            continue
        # user nice system idle iowait irq softirq steal; guest time, which follows, is in user's already (proc(5))
        spent = [int(number) for number in numbers[:8]]
        possible += sum(spent)
        busy += sum(spent) - sum(spent[3:5])
    return CpuTime(busy, possible) if possible else None


def reading(before: CpuTime | None, after: CpuTime | None, root: Path = Path("/")) -> CpuReading:
    """What is known now; ``before`` is the time at the reading before, None at the first one."""
    unknown: dict[str, str] = {}
    total, available = processor.memory(root)
    if total is None or available is None:
        unknown["memory"] = tr("cannot read /proc/meminfo")
    share = None
    if after is None:
        unknown["utilisation"] = tr("cannot read /proc/stat")
    elif before is None or after.possible <= before.possible:
        unknown["utilisation"] = tr("it needs a second reading")
    else:
        share = max(0.0, min(1.0, (after.busy - before.busy) / (after.possible - before.possible)))
    temperature = _temperature(root)
    if temperature is None:
        unknown["temperature_c"] = tr("the kernel exposes no processor sensor")
    load = (read(root / "proc/loadavg") or "").partition(" ")[0]
    return CpuReading(share, _number(load), total, available, temperature, unknown)


def _temperature(root: Path) -> int | None:
    """The hottest of the processor's sensors, in degrees Celsius."""
    files = [
        sensor
        for device in (root / "sys/class/hwmon").glob("*/name")
        if (read(device) or "").strip() in SENSORS
        for sensor in device.parent.glob("temp*_input")
    ] or [
        zone.parent / "temp"
        for zone in (root / "sys/class/thermal").glob("*/type")
        if (read(zone) or "").strip() in ZONES
    ]
    degrees = [int(text) / 1000 for file in files if (text := (read(file) or "").strip()).isdigit()]
    return round(max(degrees)) if degrees else None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
