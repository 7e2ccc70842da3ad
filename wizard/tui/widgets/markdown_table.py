"""A table of an answer as lines: columns that share the room, or one row below the other if there are too many."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Literal, TypeAlias

from textual.content import Content

LEAST_COLUMN = 8
"""Minimum cells of a table's column, unless it needs fewer."""
BETWEEN = 3
"""Cells between two columns."""
Align: TypeAlias = Literal["left", "center", "right"]


def table(
    rows: Sequence[Sequence[Content]], aligns: Sequence[Align], room: int, *, least: Sequence[int] = ()
) -> list[Content]:
    """``rows``, the header first, in ``room`` cells; long cells wrap.

    With ``least``, the minimum width of each column, it continues a table: the header is not shown.
    """
    wanted = natural(rows, least)
    count = len(wanted)
    padded = [[*row, *[Content("")] * (count - len(row))] for row in rows]
    free = room - BETWEEN * (count - 1)
    if sum(min(each, LEAST_COLUMN) for each in wanted) > free and len(rows) > 1:
        return _cards(padded, room)
    widths = _widths(wanted, free)
    sides = [*aligns, *["left"] * (count - len(aligns))]
    bar = Content.styled(" │ ", "$border-blurred")
    lines: list[Content] = []
    for index, row in enumerate(padded):
        if least and index == 0:
            continue
        cells = [wrapped(cell, size) for cell, size in zip(row, widths, strict=True)]
        for at in range(max(map(len, cells))):
            parts = [cell[at] if at < len(cell) else Content("") for cell in cells]
            line = bar.join(_placed(*each) for each in zip(parts, widths, sides, strict=True))
            lines.append(line.stylize("bold") if index == 0 else line)
        if index == 0:
            lines.append(Content.styled("─┼─".join("─" * size for size in widths), "$border-blurred"))
    return lines


def natural(rows: Sequence[Sequence[Content]], least: Sequence[int] = ()) -> tuple[int, ...]:
    """The width that each column needs, at least ``least``."""
    columns = [max(map(_width, column)) for column in zip_longest(*rows, fillvalue=Content(""))]
    return tuple(max(pair) for pair in zip_longest(columns, least, fillvalue=0))


def wrapped(text: Content, width: int) -> list[Content]:
    """``text`` in lines of at most ``width`` cells; line breaks stay."""
    lines = text.split("\n", allow_blank=True)
    return [piece for line in lines for piece in line.wrap(width) or [Content("")]]


def _width(cell: Content) -> int:
    return max((line.cell_length for line in cell.split("\n", allow_blank=True)), default=0)


def _placed(part: Content, width: int, side: str) -> Content:
    part = part.rstrip() if side != "left" else part
    room = max(width - part.cell_length, 0)
    before = {"right": room, "center": room // 2}.get(side, 0)
    return part.pad_left(before).pad_right(room - before)


def _cards(rows: list[list[Content]], room: int) -> list[Content]:
    """Each row below the previous one, its cells labeled by the header."""
    head, *others = rows
    lines: list[Content] = []
    for row in others:
        lines += [Content.styled("─" * room, "$border-blurred")] if lines else []
        for name, cell in zip(head, row, strict=True):
            if cell:
                lines += wrapped(Content.assemble(name.stylize("bold"), ": " if name else "", cell), room)
    return lines


def _widths(wanted: Sequence[int], room: int) -> list[int]:
    """Widths of columns in ``room`` cells: narrow ones keep their width, the others share the rest."""
    widths = [max(each, 1) for each in wanted]
    while sum(widths) > room and max(widths) > 3:
        widths[widths.index(max(widths))] -= 1
    return widths
