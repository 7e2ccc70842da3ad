"""On a real NVIDIA machine, ``python tests/gpu/live_readings.py``: the live readings say what ``nvidia-smi`` says.

It needs the package and nvidia-ml-py only, prints every pair of values, and ends with 1 if one differs by more than a
moment explains: memory by 256 MiB, utilisation by 25 points, temperature by 6 degrees, power by 60 W. What nvidia-smi
knows and the reading does not is a difference as well; so are processes that only nvidia-smi sees.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from wizard.probe.live import GpuReading, Monitor

MIB = 1024**2
FIELDS = {
    "name": 0.0,
    "memory.total": 0.0,
    "memory.used": 256.0,
    "utilization.gpu": 25.0,
    "temperature.gpu": 6.0,
    "power.draw": 60.0,
    "power.limit": 0.01,
    "clocks.sm": 400.0,
}
"""What is compared → by how much two moments may differ."""
NOT_THERE = ("[N/A]", "[Not Supported]", "N/A", "[Unknown Error]")


def smi(query: str, fields: str) -> list[list[str]]:
    command = ["nvidia-smi", f"--query-{query}={fields}", "--format=csv,noheader,nounits"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [[cell.strip() for cell in line.split(",")] for line in done.stdout.splitlines() if line.strip()]


def ours(gpu: GpuReading) -> list[str | float | None]:
    def mib(count: int | None) -> float | None:
        return None if count is None else count // MIB

    return [
        gpu.name,
        mib(gpu.memory_total_bytes),
        mib(gpu.memory_used_bytes),
        None if gpu.utilisation is None else gpu.utilisation * 100,
        gpu.temperature_c,
        gpu.power_watts,
        gpu.power_limit_watts,
        gpu.sm_clock_mhz,
    ]


def same(mine: str | float | None, theirs: str, slack: float) -> bool:
    if theirs in NOT_THERE:
        return mine is None
    if mine is None or isinstance(mine, str):
        return mine == theirs
    return abs(float(theirs) - mine) <= slack


def main() -> int:
    monitor, wrong = Monitor(), 0
    monitor.read()  # traffic and the processor's utilisation take two readings
    processes = {int(pid) for (pid,) in smi("compute-apps", "pid") if pid.isdigit()}
    began = time.perf_counter()
    reading = monitor.read()
    print(f"a reading took {(time.perf_counter() - began) * 1000:.1f} ms; processor: {reading.cpu}")
    rows = smi("gpu", ",".join(FIELDS))
    monitor.close()
    if reading.cpu.utilisation is None:
        wrong += 1
        print(f"DIFFERENT: the processor's utilisation is unknown: {reading.cpu.unknown}")
    if reading.problem or len(rows) != len(reading.gpus) or not rows:
        print(f"DIFFERENT: nvidia-smi lists {len(rows)} GPUs, the reading {len(reading.gpus)}: {reading.problem}")
        return 1
    for gpu, row in zip(reading.gpus, rows, strict=True):
        print(f"GPU {gpu.index}: NVLink {gpu.nvlink}, PCIe {gpu.pcie}, unknown {gpu.unknown}")
        for (name, slack), mine, theirs in zip(FIELDS.items(), ours(gpu), row, strict=True):
            good = same(mine, theirs, slack)
            wrong += not good
            print(f"  {'same     ' if good else 'DIFFERENT'} {name}: ours {mine}, nvidia-smi {theirs}")
    mine = {process.pid for gpu in reading.gpus for process in gpu.processes}
    if not processes <= mine:
        wrong += 1
        print(f"DIFFERENT: nvidia-smi sees the processes {processes}, the reading {mine}")
    else:
        print(f"same: the processes of nvidia-smi, {processes or 'none'}, are among ours, {mine or 'none'}")
    print("all the same" if not wrong else f"{wrong} DIFFERENT")
    return min(wrong, 1)


if __name__ == "__main__":
    raise SystemExit(main())
