"""A chart as SVG: no script, no reference to anything, with its text alternative. All text is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from wizard.kernel.text import width
from wizard.texts.benchmark.chart import Chart, Dot, Series
from wizard.texts.benchmark.colors import Colors
from wizard.texts.benchmark.markup import html

WIDTH, HEIGHT = 680, 400
FONT = (
    "system-ui, 'Segoe UI', 'Helvetica Neue', 'Noto Sans', 'Noto Sans KR', 'DejaVu Sans', 'Liberation Sans', Arial, "
    "sans-serif"
)
"""Families of which nearly every system has one."""
SIZE, SMALL = 14, 12.5
"""Sizes of text, in pixels."""
CHARACTER = 0.58
"""Width of a character, as a share of the size of its text; an upper estimate for most texts."""
ROW, GAP = 22, 18
"""Height of a row of the legend, and the space between two of its entries."""
DASHES = ("", "8 4", "2 3", "10 3 2 3", "14 5", "5 2")
"""Pattern of a series' line: series differ by marker and pattern, too, not by color alone."""
RADIUS = 5.0


def drawn_width(text: str, size: float = SIZE) -> float:
    """Estimated width of ``text`` in pixels."""
    return width(text) * size * CHARACTER


@dataclass(frozen=True, slots=True)
class Frame:
    """Where the data are: the edges of their area, in pixels."""

    left: float
    top: float
    right: float
    bottom: float

    def at(self, chart: Chart, x: float, y: float) -> tuple[float, float]:
        """The place of a value."""
        across, up = chart.x.place(x), chart.y.place(y)
        return self.left + across * (self.right - self.left), self.bottom - up * (self.bottom - self.top)


def svg(chart: Chart, colors: Colors, *, prefix: str = "chart", alone: bool = False) -> str:
    """The chart, as an element for a page.

    Args:
        chart: The chart.
        colors: Its colors.
        prefix: Begins the IDs of elements; unique among the charts of a page.
        alone: Whether it is a file by itself: it has a title and a background.
    """
    named = f"{prefix}-{chart.id}"
    title_height = 30.0 if alone else 0.0
    legend, legend_height = _legend(chart, colors, title_height)
    high = HEIGHT + legend_height + title_height
    ticks = max((drawn_width(label, SMALL) for _, label in chart.y.ticks), default=0)
    frame = Frame(24 + ticks + 16, title_height + legend_height + 12, WIDTH - 22, high - 54)
    parts = [
        f'<title id="{named}-title">{html(chart.title)}</title>',
        f'<desc id="{named}-desc">{html(" ".join((chart.about, *chart.sentences)))}</desc>',
        _background(colors, high) if alone else "",
        _text(16, 24, chart.title, colors.ink, size=17, weight=600) if alone else "",
        legend,
        _axes(chart, colors, frame),
        _limits(chart, colors, frame),
        *(_series(chart, each, at, colors, frame) for at, each in enumerate(chart.series)),
        _labels(chart, colors, frame),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {high:g}" width="{WIDTH}" height="{high:g}" '
        f'role="img" aria-labelledby="{named}-title {named}-desc" style="max-width:100%;font-family:{html(FONT)}">'
        f"{''.join(parts)}</svg>"
    )


def _background(colors: Colors, high: float) -> str:
    return f'<rect width="{WIDTH}" height="{high:g}" style="fill:{colors.page}"/>'


def _text(
    x: float, y: float, text: str, color: str, *, size: float = SIZE, anchor: str = "start", weight: int = 400,
    turn: int = 0,
) -> str:  # fmt: skip
    turned = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
    bold = f";font-weight:{weight}" if weight != 400 else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{turned} '
        f'style="fill:{color};font-size:{size:g}px{bold}">{html(text)}</text>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, color: str, *, wide: float = 1, dash: str = "") -> str:
    dashed = f";stroke-dasharray:{dash}" if dash else ""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'style="stroke:{color};stroke-width:{wide:g}{dashed}"/>'
    )


def _legend(chart: Chart, colors: Colors, top: float) -> tuple[str, float]:
    """The names of the series beside their marks, and the height of that; nothing for a single series."""
    if len(chart.series) < 2:
        return "", 0.0
    x, y, parts = 16.0, top + 20.0, []
    for at, series in enumerate(chart.series):
        wide = 38 + drawn_width(series.name, SMALL + 0.5)
        if x > 16 and x + wide > WIDTH - 16:
            x, y = 16.0, y + ROW
        color = colors.series[at % len(colors.series)]
        line = _line(x, y - 4, x + 28, y - 4, color, wide=2, dash=DASHES[at % len(DASHES)]) if series.joined else ""
        parts.append(
            line + _mark(x + 14, y - 4, at, color) + _text(x + 34, y, series.name, colors.ink, size=SMALL + 0.5)
        )
        x += wide + GAP
    return "".join(parts), y - top + 4


def _axes(chart: Chart, colors: Colors, frame: Frame) -> str:
    parts = []
    for tick, label in chart.y.ticks:
        _, y = frame.at(chart, chart.x.scale.low, tick)
        parts.append(_line(frame.left, y, frame.right, y, colors.grid))
        parts.append(_text(frame.left - 8, y + 4, label, colors.muted, size=SMALL, anchor="end"))
    for tick, label in chart.x.ticks:
        x, _ = frame.at(chart, tick, chart.y.scale.low)
        parts.append(_line(x, frame.bottom, x, frame.bottom + 5, colors.muted))
        parts.append(_text(x, frame.bottom + 20, label, colors.muted, size=SMALL, anchor="middle"))
    middle = (frame.left + frame.right) / 2, (frame.top + frame.bottom) / 2
    parts += [
        _line(frame.left, frame.bottom, frame.right, frame.bottom, colors.muted),
        _line(frame.left, frame.top, frame.left, frame.bottom, colors.muted),
        _text(middle[0], frame.bottom + 43, chart.x.title, colors.ink, anchor="middle"),
        _text(18, middle[1], chart.y.title, colors.ink, anchor="middle", turn=-90),
    ]
    return "".join(parts)


def _limits(chart: Chart, colors: Colors, frame: Frame) -> str:
    parts = []
    for limit in chart.limits:
        x, _ = frame.at(chart, limit.x, chart.y.scale.low)
        right = x + 6 + drawn_width(limit.name, SMALL) > frame.right
        parts.append(_line(x, frame.top, x, frame.bottom, colors.limit, wide=1.5, dash="6 4"))
        anchor, beside = ("end", x - 6) if right else ("start", x + 6)
        parts.append(_text(beside, frame.bottom - 8, limit.name, colors.limit, size=SMALL, anchor=anchor))
    return "".join(parts)


def _series(chart: Chart, series: Series, at: int, colors: Colors, frame: Frame) -> str:
    color, dash = colors.series[at % len(colors.series)], DASHES[at % len(DASHES)]
    places = [frame.at(chart, dot.x, dot.y) for dot in series.dots]
    parts = []
    if series.joined and len(places) > 1:
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        dashed = f";stroke-dasharray:{dash}" if dash else ""
        parts.append(f'<polyline points="{points}" style="fill:none;stroke:{color};stroke-width:2{dashed}"/>')
    for dot, (x, y) in zip(series.dots, places, strict=True):
        parts += _bars(chart, dot, color, frame)
        if series.marked:
            parts.append(_mark(x, y, at, color))
    if not series.marked and places:  # a line without marks gets one, so that it is known by more than its color
        parts.append(_mark(*places[(at + 1) * len(places) // (len(chart.series) + 1)], at, color))
    return "".join(parts)


def _bars(chart: Chart, dot: Dot, color: str, frame: Frame) -> Iterable[str]:
    """The intervals of ``dot``, with caps."""
    if dot.y_low is not None and dot.y_high is not None:
        (x, low), (_, high) = frame.at(chart, dot.x, dot.y_low), frame.at(chart, dot.x, dot.y_high)
        yield _line(x, low, x, high, color, wide=1.5)
        yield from (_line(x - 4, y, x + 4, y, color, wide=1.5) for y in (low, high))
    if dot.x_low is not None and dot.x_high is not None:
        (low, y), (high, _) = frame.at(chart, dot.x_low, dot.y), frame.at(chart, dot.x_high, dot.y)
        yield _line(low, y, high, y, color, wide=1.5)
        yield from (_line(x, y - 4, x, y + 4, color, wide=1.5) for x in (low, high))


def _mark(x: float, y: float, at: int, color: str) -> str:
    """The mark of the series number ``at``."""
    r = RADIUS
    shapes = (
        None,
        ((-r, -r), (r, -r), (r, r), (-r, r)),
        ((0, -r - 1), (r + 1, r), (-r - 1, r)),
        ((0, -r - 2), (r + 2, 0), (0, r + 2), (-r - 2, 0)),
        ((-r - 1, -r), (r + 1, -r), (0, r + 1)),
        ((-r, -2), (-2, -2), (-2, -r), (2, -r), (2, -2), (r, -2), (r, 2), (2, 2), (2, r), (-2, r), (-2, 2), (-r, 2)),
    )
    shape = shapes[at % len(shapes)]
    if shape is None:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:g}" style="fill:{color}"/>'
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in shape)
    return f'<polygon points="{points}" style="fill:{color}"/>'


def _labels(chart: Chart, colors: Colors, frame: Frame) -> str:
    """The labels of dots, beside their intervals; one that would cover another is left out: it is in the table, too."""
    parts: list[str] = []
    taken: list[tuple[float, float, float]] = []
    for dot in (dot for series in chart.series for dot in series.dots if dot.label):
        x, y = frame.at(chart, dot.x, dot.y)
        wide = drawn_width(dot.label, SMALL)
        left = x - 9 - wide if x - 9 - wide > frame.left else x + 9
        low = max(y - 8, frame.top + SMALL)
        if any(left < end and begin < left + wide and abs(low - other) < SMALL for begin, end, other in taken):
            continue
        taken.append((left, left + wide, low))
        parts.append(_text(left, low, dot.label, colors.ink, size=SMALL))
    return "".join(parts)
