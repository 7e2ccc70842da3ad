"""The geometry of an axis: its range, the places of values on it, its ticks and their labels. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10

MOST = 1e15
"""Larger values, and those that are negative or not finite, are in no chart: nothing that is measured has them."""
LEAST = 1e-9
"""Smaller values are placed as 0."""
WIDE = 30.0
"""Ratio of the largest to the smallest value from which an axis is logarithmic."""
STEPS = (1.0, 2.0, 5.0)
"""Steps between ticks, times a power of ten."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The values from ``low`` to ``high``, which differ, linear or logarithmic."""

    low: float
    high: float
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """Where ``value`` is: 0 is the low end, 1 the high end; values beyond an end are at it."""
        if self.logarithmic:
            share = log10(value / self.low) / log10(self.high / self.low) if value > 0 else 0.0
        else:
            share = (value - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, share))


def drawable(value: float | None) -> bool:
    """Whether ``value`` can be placed."""
    return value is not None and isfinite(value) and 0 <= value <= MOST


def linear(values: Iterable[float], most: int = 6) -> Scale:
    """From 0 to the first tick that is not below any of ``values``; with about ``most`` ticks."""
    top = max(filter(drawable, values), default=0.0)
    step = _step(top, most)
    return Scale(0.0, step * max(1, ceil(top / step - 1e-9)))


def suited(values: Iterable[float], most: int = 6) -> Scale:
    """Logarithmic if ``values`` differ by `WIDE` or more and none is 0; else from 0."""
    known = [value for value in values if drawable(value)]
    low, high = min(known, default=0.0), max(known, default=0.0)
    if low < LEAST or high / low < WIDE:
        return linear(known, most)
    return Scale(_round_down(low), round_up(high), logarithmic=True)


def ticks(scale: Scale, most: int = 6) -> tuple[float, ...]:
    """Round values on ``scale``, in order, at least two; at most ``most`` or one more."""
    if scale.logarithmic:
        return _logarithmic(scale, most)
    step = _step(scale.high - scale.low, most)
    count = round((scale.high - scale.low) / step)
    return tuple(_exact(scale.low + at * step) for at in range(count + 1))


def label(value: float) -> str:
    """A tick's label: ``0.05``, ``12.5``, ``1,500``, ``20k``, ``3M``, ``1e-09``."""
    for limit, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= limit:
            return f"{value / (1e3 if unit == 'k' else limit):g}{unit}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:g}"


def _step(top: float, most: int) -> float:
    """The smallest round step of which at most ``most`` are in ``top``."""
    if top < LEAST:
        return 1.0
    exponent = floor(log10(top / most))
    for power in (exponent, exponent + 1):
        for step in STEPS:
            if top / (step * 10.0**power) <= most * (1 + 1e-9):
                return float(step * 10.0**power)
    return float(10.0 ** (exponent + 2))


def _logarithmic(scale: Scale, most: int) -> tuple[float, ...]:
    first, last = floor(log10(scale.low) + 1e-9), ceil(log10(scale.high) - 1e-9)
    for steps in (STEPS, STEPS[:1]):
        marks = [_exact(step * 10.0**power) for power in range(first, last + 1) for step in steps]
        inside = tuple(each for each in marks if scale.low * (1 - 1e-9) <= each <= scale.high * (1 + 1e-9))
        if 2 <= len(inside) <= most + 1:
            return inside
    stride = max(1, ceil((last - first) / most))
    inside = tuple(
        tick
        for power in range(first, last + 1, stride)
        if scale.low * (1 - 1e-9) <= (tick := _exact(10.0**power)) <= scale.high * (1 + 1e-9)
    )
    return inside if len(inside) >= 2 else (scale.low, scale.high)


def _round_down(value: float) -> float:
    power = 10.0 ** floor(log10(value))
    return _exact(power * max(step for step in STEPS if step * power <= value * (1 + 1e-9)))


def round_up(value: float) -> float:
    """The smallest round value that is not below ``value``, which is positive."""
    power = 10.0 ** floor(log10(value))
    return _exact(power * min(step for step in (*STEPS, 10.0) if step * power >= value * (1 - 1e-9)))


def _exact(value: float) -> float:
    """Without the noise of floating-point arithmetic."""
    return float(f"{value:.12g}")
