"""The latest lines of a log, wrapped to a width, and search matches in them. Pure except for its own lines.

A line keeps its number when older lines are dropped.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len


class Row(NamedTuple):
    """A row on the screen: characters ``start`` to ``end`` of a line."""

    line: int
    start: int
    end: int


Match: TypeAlias = "tuple[int, int, int]"
"""A match: the line's number, the first character, and the one after the last.
(There may be tens of thousands of them, found again with every typed letter.)
"""


class LogText:
    """At most ``most`` lines; adding another drops the oldest."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.lines: list[str] = []
        self.first = 0
        """Number of the oldest line that is kept."""
        self.longest = 0
        """Cells of the longest line since `clear`."""
        self.width: int | None = None
        """Cells of a row, or None where each line is one row."""
        self._rows: list[Row] = []
        """While rows are wrapped."""
        self.matches: list[Match] = []
        self._sought: re.Pattern[str] | None = None

    def clear(self) -> None:
        """Drop all lines; the search is kept."""
        self.lines.clear()
        self._rows.clear()
        self.matches.clear()
        self.first = self.longest = 0

    def add(self, lines: Iterable[str]) -> int:
        """Add ``lines``; return how many rows were dropped at the top."""
        new = [line.expandtabs() for line in lines][-self._most :]
        begin = self.first + len(self.lines)
        self.lines += new
        if new:
            self.longest = max(self.longest, *(len(line) if line.isascii() else cell_len(line) for line in new))
        if self.width is not None:
            for number, line in enumerate(new, begin):
                self._rows += _wrapped(number, line, self.width)
        self._seek(new, begin)
        return self._drop()

    def _drop(self) -> int:
        surplus = len(self.lines) - self._most
        if surplus <= 0:
            return 0
        del self.lines[:surplus]
        self.first += surplus
        del self.matches[: bisect_left(self.matches, (self.first,))]
        if self.width is None:
            return surplus
        rows = bisect_left(self._rows, (self.first,))
        del self._rows[:rows]
        return rows

    # -- rows ----------------------------------------------------------------------------------------------------------

    def wrap(self, width: int | None) -> None:
        """Wrap lines to ``width`` cells, or with None not at all."""
        if width != self.width:
            self.width = width
            self._rows = [
                row
                for number, line in enumerate(self.lines, self.first)
                for row in (_wrapped(number, line, width) if width is not None else ())
            ]

    @property
    def height(self) -> int:
        """Number of rows."""
        return len(self.lines) if self.width is None else len(self._rows)

    def row(self, at: int) -> Row:
        """Row ``at``, counted from the oldest."""
        if self.width is None:
            return Row(self.first + at, 0, len(self.lines[at]))
        return self._rows[at]

    def text(self, row: Row) -> str:
        """The text of ``row``."""
        return self.lines[row.line - self.first][row.start : row.end]

    def row_of(self, line: int, start: int = 0) -> int:
        """The row of character ``start`` of a line, counted from the oldest."""
        if self.width is None:
            return line - self.first
        return bisect_left(self._rows, (line, start + 1)) - 1

    def joined(self, begin: int, end: int) -> str:
        """Rows ``begin`` to ``end`` (exclusive) as text, without the breaks of wrapping."""
        parts: list[str] = []
        for at in range(max(0, begin), min(end, self.height)):
            row = self.row(at)
            parts += ["\n"] * bool(parts and row.start == 0) + [self.text(row)]
        return "".join(parts)

    # -- search --------------------------------------------------------------------------------------------------------

    def seek(self, sought: str) -> None:
        """Search for ``sought``, ignoring case; an empty text ends the search."""
        self._sought = re.compile(re.escape(sought), re.IGNORECASE) if sought else None
        self.matches = []
        self._seek(self.lines, self.first)

    def _seek(self, lines: list[str], begin: int) -> None:
        if self._sought is not None:
            find = self._sought.finditer
            self.matches += [(at, *match.span()) for at, line in enumerate(lines, begin) for match in find(line)]

    def in_row(self, row: Row) -> list[Match]:
        """The matches visible in ``row``."""
        matches = self.matches[bisect_left(self.matches, (row.line,)) : bisect_left(self.matches, (row.line + 1,))]
        return [match for match in matches if match[1] < row.end and match[2] > row.start]

    def beside(self, line: int, start: int, by: int) -> Match | None:
        """The next match after that position, or with ``by`` < 0 the previous one; wraps around."""
        if not self.matches:
            return None
        at = bisect_left(self.matches, (line, start + 1)) if by > 0 else bisect_left(self.matches, (line, start)) - 1
        return self.matches[at % len(self.matches)]

    def last_with(self, words: str) -> int | None:
        """Number of the last line that contains ``words``."""
        kept = range(len(self.lines) - 1, -1, -1)
        return next((self.first + at for at in kept if words in self.lines[at]), None) if words else None


def _wrapped(number: int, line: str, width: int) -> list[Row]:
    """The rows of a line; a wide character is never split."""
    if line.isascii():
        return [Row(number, at, min(at + width, len(line))) for at in range(0, len(line), width)] or [Row(number, 0, 0)]
    rows: list[Row] = []
    begin = cells = 0
    for at, character in enumerate(line):
        size = cell_len(character)
        if cells + size > width and at > begin:
            rows.append(Row(number, begin, at))
            begin, cells = at, 0
        cells += size
    return [*rows, Row(number, begin, len(line))]
