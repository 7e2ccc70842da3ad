"""Summaries of live readings, the same in every interface. Pure functions."""

from __future__ import annotations

from wizard.kernel.language import tr
from wizard.kernel.units import size
from wizard.probe.live import GpuReading


def free_of(free: int | None, total: int | None) -> str:
    """Bytes of memory: ``100 GiB free of 140 GiB``."""
    return tr("{free} free of {total}", free=size(free), total=size(total))


def degrees(celsius: int | None) -> str:
    """``61 °C``; empty if unknown."""
    return "" if celsius is None else f"{celsius} °C"


def power(gpu: GpuReading) -> str:
    """``412 of 700 W``, without the limit if unknown; empty if the power itself is unknown."""
    if gpu.power_watts is None:
        return ""
    if not gpu.power_limit_watts:
        return f"{gpu.power_watts:.0f} W"
    return tr("{watts:.0f} of {limit:.0f} W", watts=gpu.power_watts, limit=gpu.power_limit_watts)


def silence(gpu: GpuReading) -> str:
    """Why a GPU does not even report its memory."""
    why = gpu.unknown.get("memory") or gpu.unknown.get("memory_total_bytes") or tr("no reason given")
    return tr("No readings: {why}", why=why)
