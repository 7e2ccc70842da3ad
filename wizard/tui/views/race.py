"""The race of two models in lines: a lane for each on a common time scale, their figures, and who was ahead. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content

from wizard.chat import race_report as words
from wizard.chat.race import Lane, Race
from wizard.chat.race_scale import Cell, Track, cells, fastest, scale
from wizard.kernel.language import mark, tr
from wizard.kernel.text import width as cell_width
from wizard.kernel.units import duration

GAP = 2
LEAST_BAR, GOOD_BAR = 8, 18
"""Cells of a lane below which there is none, and below which figures make room for it."""
LEAST_WIDTH = 20
ROOM_FOR_UNIT = 50
"""Cells from which on a rate without a title has its whole unit."""
UNITS = (mark("{rate} tokens/s"), mark("{rate}/s"))
"""A rate without a title, and where there is little room."""
MOST_NAME = 24
BLOCKS = "▁▂▃▄▅▆▇"
"""Without a full one, which would touch the lane above."""
FIRST, ANSWER, WAIT = "◆", "◇", "·"
"""Where the first token came, where the answer begins after a thought, and before the first token."""
SIGNS = {
    "complete": ("✓", "$success"),
    "stopped": ("■", "$warning"),
    "failed": ("✗", "$error"),
    "not_asked": ("○", "$text-muted"),
    None: ("◌", "$warning"),
}
"""Outcome → sign and style, at the name and at the end of the lane."""
COLORS = ("$primary", "$secondary")


@dataclass(frozen=True, slots=True)
class _Row:
    """A model: its figures as texts."""

    name: str
    lane: Lane
    ttft: str
    rate: str
    tokens: str
    time: str


def panel(race: Race, now: float, width: int, *, headed: bool, most: int = 100) -> list[Content]:
    """At most ``most`` lines in ``width`` cells, with titles over the columns if ``headed``."""
    width = max(width, LEAST_WIDTH)
    unit = "" if headed else UNITS[width < ROOM_FOR_UNIT]
    rows = [_row(name, lane, now, unit) for name, lane in zip(race.names, race.lanes, strict=True)]
    titles = (tr("TTFT"), tr("tokens/s"), tr("tokens"), tr("time"))
    columns, bar = _columns(rows, titles if headed else (), width)
    end = scale(max(lane.elapsed(now) for lane in race.lanes), live=not race.ended)
    drawn = [cells(_track(lane, now), end, bar - 1) for lane in race.lanes] if bar else [[], []]
    highest = fastest(drawn)
    lines = [_head(columns, bar, width, end)] if headed else []
    for row, lane_cells, color in zip(rows, drawn, COLORS, strict=True):
        name = _name(row, width - bar - sum(size + GAP for _at, size, _title in columns))
        figures = [(" " * GAP + _right(_figures(row)[at], size), "bold $foreground") for at, size, _title in columns]
        lines.append(Content.assemble(*name, *_bar(row.lane, lane_cells, highest, color), *figures))
    lines += _below(race, width)
    if len(lines) > most:
        return [*lines[: most - 1], lines[most - 1].truncate(width - 2) + _muted(" …")]
    return lines


def _row(name: str, lane: Lane, now: float, unit: str) -> _Row:
    """``unit``: the rate with its unit, if the columns have no titles."""
    estimated = lane.tokens is None
    value = lane.pieces if estimated else lane.tokens
    if lane.stats is not None:
        rate = lane.stats.pieces_per_s if estimated else lane.stats.tokens_per_s
    else:
        rate = lane.rate(value, now)
    speed, count = words.rate(rate, estimated=estimated), words.count(lane.tokens, lane.pieces)
    if unit:
        speed = tr(unit, rate=speed) if rate is not None else speed
        count = tr("{count} tokens", count=count) if value is not None else count
    elapsed = lane.elapsed(now)
    time = words.UNKNOWN if not lane.started else words.time(elapsed) if lane.outcome else duration(elapsed)
    return _Row(name, lane, words.time(lane.ttft_s), speed, count, time)


def _figures(row: _Row) -> tuple[str, str, str, str]:
    return row.ttft, row.rate, row.tokens, row.time


def _columns(rows: Sequence[_Row], titles: Sequence[str], width: int) -> tuple[list[tuple[int, int, str]], int]:
    """The figures that there is room for, with their widths and titles, and the cells of the lane."""
    names = min(max(cell_width(row.name) for row in rows), MOST_NAME, width // 4) + 2
    sizes = [max(cell_width(_figures(row)[at]) for row in rows) for at in range(4)]
    sizes = [max(size, cell_width(titles[at]) if titles else 0, LEAST[at]) for at, size in enumerate(sizes)]
    wanted = [0, 1, 2, 3]
    room = width - names - GAP
    for dropped in (2, 0, 3):  # the tokens first; the lane shows the other two
        if room - sum(sizes[at] + GAP for at in wanted) >= GOOD_BAR:
            break
        wanted.remove(dropped)
    bar = room - sum(sizes[at] + GAP for at in wanted)
    return [(at, sizes[at], titles[at] if titles else "") for at in wanted], bar if bar >= LEAST_BAR else 0


LEAST = (6, 5, 3, 5)
"""Cells of each figure, so that the lane does not move while they grow."""


def _name(row: _Row, room: int) -> list[tuple[str, str]]:
    """The sign and the name in ``room`` cells."""
    sign, style = SIGNS[row.lane.outcome]
    if row.lane.outcome is None and not row.lane.started:
        sign, style = SIGNS["not_asked"]
    text = row.name
    while cell_width(text) > room - 4:
        text = text[:-2] + "…" if len(text) > 2 else ""
    return [(f"{sign} ", style), (text + " " * (room - 2 - cell_width(text)), "bold $accent")]


def _right(text: str, size: int) -> str:
    return " " * (size - cell_width(text)) + text


def _head(columns: Sequence[tuple[int, int, str]], bar: int, width: int, end: float) -> Content:
    """The scale and the titles of the figures."""
    titles = "".join(" " * GAP + _right(title, size) for _at, size, title in columns)
    text = tr("0 s")
    last = words.time(end)
    between = bar - cell_width(text) - cell_width(last) - 2
    axis = f"{text} {'─' * between} {last}" if between > 0 else " " * bar
    return _muted(" " * (width - bar - cell_width(titles)) + axis + titles)


def _track(lane: Lane, now: float) -> Track:
    return Track(lane.curve(), lane.elapsed(now), lane.ttft_s, lane.answer_s, lane.thinks)


def _bar(lane: Lane, row: Sequence[Cell], most: float, color: str) -> list[tuple[str, str]]:
    """The lane, and the sign where it ended."""
    parts = [_cell(cell, most, color) for cell in row]
    if parts:
        parts.append((" ", ""))
        if lane.outcome in ("complete", "stopped", "failed") and lane.started:
            at = next((at for at, cell in enumerate(row) if cell.part == "none"), len(row))
            parts[at] = SIGNS[lane.outcome]
    return parts


def _cell(cell: Cell, most: float, color: str) -> tuple[str, str]:
    if cell.part in ("none", "wait"):
        return {"none": " ", "wait": WAIT}[cell.part], "$text-muted"
    if cell.part in ("first", "answer"):
        return {"first": FIRST, "answer": ANSWER}[cell.part], "bold $foreground"
    level = round(cell.rate / most * (len(BLOCKS) - 1)) if most else 0
    return BLOCKS[level], "$text-muted" if cell.part == "thought" else color


def _below(race: Race, width: int) -> list[Content]:
    """Who was ahead, once both have ended; before that, how they run."""
    if not race.ended:
        return _muted(_how(race)).wrap(width)
    result = race.result()
    best, *rest = words.verdict(result)
    notes = " ".join(words.notes(result))
    if result.shared:
        notes = f"{notes} {tr('Shift+F6: take turns.')}"
    line = Content.assemble((best, "bold $accent"), *(f" · {each}" for each in rest))
    if line.cell_length > width:
        line = Content.assemble((best, "bold $accent"), *(f"\n{each}" for each in rest))
    return [piece for text in line.split("\n") for piece in text.wrap(width)] + _muted(notes).wrap(width)


def _muted(text: str) -> Content:
    return Content.assemble((text, "$text-muted"))


def _how(race: Race) -> str:
    if race.order == "turns":
        return tr("They answer one after the other.")
    if race.same_machine:
        return tr("Both answer at once and share the machine.")
    return tr("Both answer at once.")
