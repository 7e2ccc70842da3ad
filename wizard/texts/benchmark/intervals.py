"""Charts of values with their intervals: a row for each name, a value of each series in it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wizard.bench.measured import Interval
from wizard.kernel.text import one_line, width
from wizard.texts.benchmark.chart import Axis, Chart, Dot, Limit, Series, axis
from wizard.texts.benchmark.scale import MOST, Scale, linear

MOST_ROWS = 12
MOST_NAME = 22
"""Cells of a row's name."""
APART, ALL = 0.45, 0.8
"""Distance of two series within a row, in rows, and of the first from the last at most."""


@dataclass(frozen=True, slots=True)
class Place:
    """A value: its row, its series, and how it is said in words."""

    row: str
    series: str
    value: Interval
    sentence: str


def chart(
    id: str, title: str, about: str, across: Axis, rows: str, places: Sequence[Place], limits: Sequence[Limit] = ()
) -> Chart:
    """The chart of all ``places`` that are on the axis ``across``; of the rows, which are ``rows``, only the first."""
    drawn = [each for each in places if abs(each.value.value) <= MOST]
    names = [*dict.fromkeys(each.row for each in drawn)][:MOST_ROWS]
    series = [*dict.fromkeys(each.series for each in drawn)]
    apart = min(APART, ALL / len(series)) if series else 0.0
    return Chart(
        id,
        title,
        about,
        across,
        Axis(rows, Scale(-0.5, len(names) - 0.5), tuple((float(_up(names, name)), _short(name)) for name in names)),
        tuple(
            Series(
                name,
                tuple(
                    _dot(each.value, _up(names, each.row) + ((len(series) - 1) / 2 - at) * apart)
                    for each in drawn
                    if each.series == name and each.row in names
                ),
                joined=False,
            )
            for at, name in enumerate(series)
        ),
        tuple(limits),
        tuple(each.sentence for each in places),
    )


def _up(names: Sequence[str], name: str) -> int:
    """The first row is at the top."""
    return len(names) - 1 - names.index(name)


def _dot(value: Interval, y: float) -> Dot:
    return Dot(value.value, y, x_low=value.low, x_high=value.high)


def _short(name: str) -> str:
    text = one_line(name)
    while width(text) > MOST_NAME:
        text = f"{text[:-2]}…"
    return text


def ends(values: Sequence[Interval]) -> list[float]:
    """All values and bounds."""
    return [end for value in values for end in (value.value, value.low, value.high) if end is not None]


def around_zero(title: str, values: Sequence[Interval]) -> Axis:
    """An axis with 0 in its middle."""
    top = linear([abs(end) for end in ends(values)], 3).high
    return axis(title, Scale(-top, top))
