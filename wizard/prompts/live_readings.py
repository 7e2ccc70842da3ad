"""Live readings of this machine, a line per part every few seconds: for screen readers, or for a program."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator

from wizard.kernel.language import tr
from wizard.kernel.text import one_line
from wizard.probe import summary
from wizard.probe.live import GpuReading, Monitor, Reading

FIRST_S = 1.0
"""Seconds until the first displayed reading: measuring the processor's load takes two."""


def readings(
    monitor: Monitor, interval_s: float, sleep: Callable[[float], None] = time.sleep
) -> Generator[Reading, None, None]:
    """Yield a reading after `FIRST_S` and then every ``interval_s`` seconds, forever; closing it closes ``monitor``."""
    try:
        monitor.read()
        sleep(FIRST_S)
        while True:
            yield monitor.read()
            sleep(interval_s)
    finally:
        monitor.close()


def reading_text(reading: Reading) -> str:
    """``CPU: 12% busy, 21.9 GiB free of 23.5 GiB``, and the same for each GPU; unknown values are omitted."""
    cpu = reading.cpu
    parts = [
        tr("{share:.0%} busy", share=cpu.utilisation) if cpu.utilisation is not None else "",
        _free(cpu.memory_available_bytes, cpu.memory_total_bytes),
        summary.degrees(cpu.temperature_c),
    ]
    return "\n".join([f"CPU: {', '.join(filter(None, parts))}", *map(_gpu, reading.gpus)])


def _gpu(gpu: GpuReading) -> str:
    parts = [
        tr("{share:.0%} busy", share=gpu.utilisation) if gpu.utilisation is not None else "",
        _free(gpu.memory_free_bytes, gpu.memory_total_bytes),
        summary.degrees(gpu.temperature_c),
        summary.power(gpu),
    ]
    readings = list(filter(None, parts)) or [summary.silence(gpu)]
    return f"GPU {gpu.index} ({one_line(gpu.name)}): {', '.join(readings)}"


def _free(free: int | None, total: int | None) -> str:
    return "" if total is None else summary.free_of(free, total)
