"""The places of a text in a conversation."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from wizard.tui.widgets.turn import Turn


class Matches:
    """Where a text is in the turns of a conversation, and the place that was gone to last.

    Attributes:
        text: The text in lower case; empty if there is no search.
        place: Turn and line of the place.
    """

    def __init__(self) -> None:
        self.text = ""
        self.place: tuple[int, int] | None = None

    def go(self, turns: Sequence[Turn], width: int, text: str, by: int) -> tuple[int, int] | None:
        """Go to the next place of ``text``, later (1) or earlier (-1), or to the last (0); None if there is none."""
        self.text = text.lower()
        if by == 0 or self.place is None:
            self.place, by = (len(turns), 0), -1
        here, line = self.place
        ahead = [at for at, count in enumerate(self._counts(turns)) if count and (at - here) * by >= 0]
        for at in sorted(ahead, key=lambda at: abs(at - here)):
            lines = [each for each in self._lines(turns[at], width) if at != here or (each - line) * by > 0]
            if lines:
                self.place = (at, lines[0] if by > 0 else lines[-1])
                return self.place
        return None

    def position(self, turns: Sequence[Turn], width: int) -> tuple[int, int]:
        """The number of the place, counted from 1 (0: none), and of all places."""
        counts = self._counts(turns)
        at, line = self.place or (len(turns), 0)
        if at >= len(turns) or not counts[at]:
            return 0, sum(counts)
        passed = sum(each <= line for each in self._lines(turns[at], width))  # lines may have moved since
        return sum(counts[:at]) + max(passed, 1), sum(counts)

    def marked(self, line: Content, *, here: bool) -> Content:
        """``line`` with the text highlighted, most of all at the place."""
        text, start = line.plain.lower(), 0
        while self.text and (start := text.find(self.text, start)) >= 0:
            end = start + len(self.text)
            line = line.stylize("reverse bold" if here else "reverse", start, end)
            start = end
        return line

    def _counts(self, turns: Sequence[Turn]) -> list[int]:
        return [turn.text.lower().count(self.text) if self.text else 0 for turn in turns]

    def _lines(self, turn: Turn, width: int) -> list[int]:
        """Lines of ``turn`` with the text, one per match; the first line if a match wraps."""
        lines = list(enumerate(turn.lines(width)))[turn.head(width) :]
        return [number for number, line in lines for _ in range(line.plain.lower().count(self.text))] or [1]
