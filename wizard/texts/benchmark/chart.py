"""A chart as a value: what every interface draws in its own way."""

from __future__ import annotations

from dataclasses import dataclass

from wizard.texts.benchmark.scale import Scale, label, ticks

MOST_SERIES = 6
"""Series that can be sentences apart by shape, and by color."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: its title with the unit, its range, and its ticks with their labels."""

    title: str
    scale: Scale
    ticks: tuple[tuple[float, str], ...]

    def place(self, value: float) -> float:
        """Where ``value`` is on it, from 0 to 1."""
        return self.scale.place(value)


def axis(title: str, scale: Scale, most: int = 6, *, unit: str = "") -> Axis:
    """An axis with round ticks."""
    return Axis(title, scale, tuple((tick, label(tick) + unit) for tick in ticks(scale, most)))


@dataclass(frozen=True, slots=True)
class Dot:
    """A point, with the bounds of its interval or range in either direction; None: unknown."""

    x: float
    y: float
    label: str = ""
    x_low: float | None = None
    x_high: float | None = None
    y_low: float | None = None
    y_high: float | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """Points that belong together; with ``marked`` off, only the line through them is drawn."""

    name: str
    dots: tuple[Dot, ...]
    marked: bool = True
    joined: bool = True


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit on the horizontal axis."""

    x: float
    name: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart.

    Attributes:
        id: Stable name; letters, digits and hyphens.
        title: What it shows.
        about: How to read it, and what the intervals are.
        x: Horizontal axis.
        y: Vertical axis.
        series: At most `MOST_SERIES`.
        limits: Limits of the service level.
        sentences: The points in words, a sentence each, for those who do not see them.
    """

    id: str
    title: str
    about: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    limits: tuple[Limit, ...] = ()
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A chart that cannot be drawn, and why."""

    id: str
    title: str
    why: str
