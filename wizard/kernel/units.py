"""Human-readable sizes, times and rates."""

from __future__ import annotations

from wizard.kernel.language import tr

GIB = 1024**3
MIB = 1024**2


def size(count: int | None) -> str:
    """``count`` bytes in readable binary units: ``1.5 GiB``, ``2.5 KiB``, ``64 KiB``; ``unknown`` for None."""
    if count is None:
        return tr("unknown")
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            if unit == "KiB" and abs(value) < 10:
                return f"{round(value, 1):g} {unit}"
            return f"{value:.0f} {unit}" if unit in ("B", "KiB") or value >= 100 else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def duration(seconds: float | None) -> str:
    """``seconds`` in readable form: ``0.4 s``, ``12 s``, ``3 min 20 s``, ``2 h 5 min``; ``unknown`` for None."""
    if seconds is None:
        return tr("unknown")
    if seconds < 9.95:
        return tr("{seconds:.1f} s", seconds=seconds)
    whole = round(seconds)
    if whole < 60:
        return tr("{seconds} s", seconds=whole)
    if whole < 3600:
        return tr("{minutes} min {seconds} s", minutes=whole // 60, seconds=whole % 60)
    return tr("{hours} h {minutes} min", hours=whole // 3600, minutes=whole % 3600 // 60)


def count(number: int | None) -> str:
    """A parameter count in readable form: ``8.03 B``, ``3.1 M``; ``unknown`` for None."""
    if number is None:
        return tr("unknown")
    for limit, unit in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K")):
        if number >= 0.9995 * limit:  # what rounds up to the limit has its unit
            return f"{number / limit:.3g} {unit}" if number < 999.5 * limit else f"{number / limit:,.0f} {unit}"
    return str(number)
