"""The calls of tools before an answer, as lines: one for each when folded, arguments and result when opened."""

from __future__ import annotations

from textual.content import Content

from wizard.chat.tools.called import Called, ended, put
from wizard.chat.tools.text import folded, whole
from wizard.kernel.text import plain
from wizard.tui.widgets.markdown_lines import blocks

INDENT = 2
"""Cells before what is folded."""
STYLES = {"failed": "$error", "denied": "$warning", "stopped": "$warning", "asking": "$warning", "running": "$warning"}


class Calls:
    """The calls; there may be none.

    Attributes:
        all: Their states.
        opened: Whether arguments and results are shown.
    """

    def __init__(self, calls: tuple[Called, ...] = ()) -> None:
        self.all = calls
        self.opened = False

    def take(self, call: Called) -> bool:
        """Add the state of a call; returns whether the call is new."""
        known, self.all = len(self.all), put(self.all, call)
        return len(self.all) > known

    def end(self) -> None:
        """The answer is complete: calls without a result were stopped."""
        self.all = ended(self.all)

    def lines(self, width: int, *, answered: bool) -> list[Content]:
        """Their lines in ``width`` cells, with what the model wrote in between, and an empty one before an answer that
        has begun (``answered``).
        """
        lines: list[Content] = []
        for call in self.all:
            if call.before.strip():
                lines += [Content("")] * bool(lines)
                for at, block in enumerate(blocks(plain(call.before).strip())):
                    lines += [Content("")] * (bool(at) and block.gap) + block.lines(width)
            title = f"{'▾' if self.opened else '▸'} {folded(call)}"
            lines += [piece.stylize(STYLES.get(call.outcome, "$text-muted")) for piece in Content(title).wrap(width)]
            if self.opened:
                lines += [Content(" " * INDENT) + line.stylize("$text-muted") for line in _wrapped(whole(call), width)]
        return [*lines, Content("")] if lines and answered else lines


def _wrapped(text: str, width: int) -> list[Content]:
    lines = Content(text).split("\n", allow_blank=True)
    return [piece for line in lines for piece in line.wrap(max(width - INDENT, 1)) or [Content("")]]
