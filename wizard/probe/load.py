"""The processor's load and the free memory, with the limits of this process."""

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
"""The same in /sys/class/thermal, without such an hwmon device."""


@dataclass(frozen=True, slots=True)
class CpuReading:
    """The processor and the memory at a point in time; unknown values are None with a reason in ``unknown``, never
    0.
    """

    utilisation: float | None = None
    """Share of the processor time available to this process, 0 to 1, since the previous reading."""
    load: float | None = None
    """Average number of running and waiting programs in the last minute (proc(5), /proc/loadavg); of the machine."""
    memory_total_bytes: int | None = None
    memory_available_bytes: int | None = None
    temperature_c: int | None = None
    unknown: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CpuTime:
    """Processor time in any unit: only shares of differences are used."""

    busy: float
    possible: float


def cpu_time(now: float, root: Path = Path("/")) -> CpuTime | None:
    """Used and available time.

    With a quota of the control group, else of the processors that this process may run on.

    Args:
        now: Monotonic seconds.
        root: Parent of /proc and /sys.
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
        # user nice system idle iowait irq softirq steal; guest time, which follows, is included in user's (proc(5))
        spent = [int(number) for number in numbers[:8]]
        possible += sum(spent)
        busy += sum(spent) - sum(spent[3:5])
    return CpuTime(busy, possible) if possible else None


def reading(before: CpuTime | None, after: CpuTime | None, root: Path = Path("/")) -> CpuReading:
    """The current values; ``before`` is the time of the previous reading, None for the first one."""
    unknown: dict[str, str] = {}
    total, available = processor.memory(root)
    if total is None or available is None:
        unknown["memory"] = tr("cannot read /proc/meminfo")
    share = None
    if after is None:
        unknown["utilisation"] = tr("cannot read /proc/stat")
    elif before is None or after.possible <= before.possible:
        unknown["utilisation"] = tr("a second reading is needed")
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
