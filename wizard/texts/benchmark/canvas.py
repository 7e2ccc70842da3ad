"""A chart in a grid of characters, for terminals: letters and lines that every font has. Pure.

Pieces of a line carry a role, so that a full-screen interface can color them; without colors nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TypeAlias

from wizard.kernel.text import width
from wizard.texts.benchmark.chart import Chart, Dot, Series

Line: TypeAlias = tuple[tuple[str, int], ...]
"""Pieces of text, each with its role: the number of a series, or one of the following."""
TEXT, LIMIT = -1, -2
MARKS = "ox+*#@"
"""Marks of the series."""
LEAST_WIDTH, LEAST_HEIGHT = 16, 3
"""Cells of the area below which nothing is drawn."""


class Area:
    """The cells in which the data are drawn; what is drawn later covers what was there."""

    def __init__(self, chart: Chart, wide: int, high: int) -> None:
        self.chart, self.wide, self.high = chart, wide, high
        self._cells = [[(" ", TEXT)] * wide for _ in range(high)]

    def at(self, x: float, y: float) -> tuple[int, int]:
        """Column and row of a value."""
        across, up = self.chart.x.place(x), self.chart.y.place(y)
        return round(across * (self.wide - 1)), round((1 - up) * (self.high - 1))

    def put(self, column: int, row: int, sign: str, role: int) -> None:
        """Draw ``sign`` in a cell."""
        self._cells[row][column] = (sign, role)

    def free(self, column: int, row: int, count: int) -> bool:
        """Whether ``count`` cells from there exist and are empty."""
        inside = 0 <= row < self.high and column >= 0 and column + count <= self.wide
        return inside and all(sign == " " for sign, _ in self._cells[row][column : column + count])

    def lines(self) -> Iterator[Line]:
        """The rows, neighbors of a role together."""
        for row in self._cells:
            pieces: list[tuple[str, int]] = []
            for sign, role in row:
                if pieces and (pieces[-1][1] == role):
                    pieces[-1] = (pieces[-1][0] + sign, role)
                else:
                    pieces.append((sign, role))
            yield tuple(pieces)


def drawn(chart: Chart, columns: int, lines: int) -> tuple[Line, ...]:
    """The chart in at most ``lines`` lines of at most ``columns`` cells; nothing if that is too small."""
    labels = [label for _, label in chart.y.ticks]
    margin = max(map(width, labels), default=0) + 2
    legend = _legend(chart, columns)
    wide, high = columns - margin, lines - len(legend) - 3
    if high < LEAST_HEIGHT and len(legend) > 1:
        legend = legend[:1]
        high = lines - len(legend) - 3
    if wide < LEAST_WIDTH or high < LEAST_HEIGHT:
        return ()
    area = Area(chart, wide, high)
    _draw(area, chart)
    named = _rows_with_labels(chart, high)
    body = [
        ((f"{named.get(row, ''):>{margin - 2}} {'┤' if row in named else '│'}", TEXT), *line)
        for row, line in enumerate(area.lines())
    ]
    axis = f"{' ' * (margin - 1)}└{'─' * wide}"
    ticks = _ticks(chart, margin, wide)
    title = chart.x.title if width(chart.x.title) <= wide else ""
    below = " " * (margin + max(0, (wide - width(title)) // 2)) + title
    return (*legend, *body, ((axis, TEXT),), ((ticks, TEXT),), ((below, TEXT),))


def plot(chart: Chart, columns: int, lines: int) -> list[str]:
    """The same without roles."""
    return ["".join(text for text, _ in line).rstrip() for line in drawn(chart, columns, lines)]


def _legend(chart: Chart, columns: int) -> list[Line]:
    """The vertical axis, the marks of the series, and the limits, in as many lines as they need."""
    entries = [(f"↑ {chart.y.title}", TEXT)]
    if len(chart.series) > 1:
        entries += [(f"{MARKS[at % len(MARKS)]} {series.name}", at) for at, series in enumerate(chart.series)]
    entries += [(f": {limit.name}", LIMIT) for limit in chart.limits]
    made: list[list[tuple[str, int]]] = [[]]
    used = 0
    for text, role in entries:
        if made[-1] and used + 2 + width(text) > columns:
            made.append([])
            used = 0
        gap = "  " if made[-1] else ""
        made[-1].append((gap + text, role))
        used += width(gap + text)
    return [tuple(line) for line in made if sum(width(text) for text, _ in line) <= columns]


def _draw(area: Area, chart: Chart) -> None:
    """Limits, intervals, lines, marks and labels: each covers those before."""
    for limit in chart.limits:
        column, _ = area.at(limit.x, chart.y.scale.low)
        for row in range(area.high):
            area.put(column, row, ":", LIMIT)
    dots = [(at, dot) for at, series in enumerate(chart.series) for dot in series.dots]
    for at, dot in dots:
        _bars(area, dot, at)
    for at, series in enumerate(chart.series):
        _curve(area, series, at)
    for at, dot in dots:
        if chart.series[at].marked:
            area.put(*area.at(dot.x, dot.y), MARKS[at % len(MARKS)], at)
    for _, dot in dots:
        _label(area, dot)


def _bars(area: Area, dot: Dot, role: int) -> None:
    """Intervals that are longer than a cell."""
    column, row = area.at(dot.x, dot.y)
    if dot.x_low is not None and dot.x_high is not None:
        for at in range(area.at(dot.x_low, dot.y)[0], area.at(dot.x_high, dot.y)[0] + 1):
            area.put(at, row, "-", role)
    if dot.y_low is not None and dot.y_high is not None:
        for at in range(area.at(dot.x, dot.y_high)[1], area.at(dot.x, dot.y_low)[1] + 1):
            area.put(column, at, "|", role)


def _curve(area: Area, series: Series, role: int) -> None:
    """The line through the dots: of dots if they are marked, else of the mark."""
    if not series.joined:
        return
    sign = "·" if series.marked else MARKS[role % len(MARKS)]
    places = [area.at(dot.x, dot.y) for dot in series.dots]
    for first, last in pairwise(places):
        for column, row in _between(first, last):
            if not series.marked or area.free(column, row, 1):
                area.put(column, row, sign, role)
    if len(places) == 1 and not series.marked:
        area.put(*places[0], sign, role)


def _between(first: tuple[int, int], last: tuple[int, int]) -> Iterable[tuple[int, int]]:
    """The cells on a straight line, both ends included."""
    steps = max(abs(last[0] - first[0]), abs(last[1] - first[1]), 1)
    for at in range(steps + 1):
        yield tuple(round(a + (b - a) * at / steps) for a, b in zip(first, last, strict=True))  # type: ignore[misc]


def _label(area: Area, dot: Dot) -> None:
    """The label above, below or beside the dot, where there is room."""
    if not dot.label or width(dot.label) != len(dot.label):
        return
    column, row = area.at(dot.x, dot.y)
    half = len(dot.label) // 2
    for left, line in ((column - half, row - 1), (column - half, row + 1), (column - len(dot.label) - 1, row)):
        if area.free(left, line, len(dot.label)):
            for at, sign in enumerate(dot.label):
                area.put(left + at, line, sign, TEXT)
            return


def _rows_with_labels(chart: Chart, high: int) -> dict[int, str]:
    """Row → label of a tick; the ends first."""
    named: dict[int, str] = {}
    ends = chart.y.ticks[:1] + chart.y.ticks[-1:]
    for tick, label in (*ends, *chart.y.ticks[1:-1]):
        row = round((1 - chart.y.place(tick)) * (high - 1))
        if not any(abs(row - other) < 2 for other in named):
            named[row] = label
    return named


def _ticks(chart: Chart, margin: int, wide: int) -> str:
    """The labels of the horizontal axis, each centered at its tick as far as there is room."""
    line, end = "", 0
    for tick, label in chart.x.ticks:
        size = width(label)
        center = margin + round(chart.x.place(tick) * (wide - 1))
        start = min(max(0, center - size // 2), margin + wide - size)
        if start < end + (2 if end else 0):
            continue
        line += " " * (start - width(line)) + label
        end = start + size
    return line
