"""The memory breakdown of a choice: a stacked bar, and below it each part with its size."""

from __future__ import annotations

from textual.content import Content

from wizard.advise.advice import Choice, Memory
from wizard.kernel.units import size
from wizard.texts.report import bill, bills, shares
from wizard.tui.widgets.lines import Lines

LEAST_WIDTH = 30
"""Width in cells below which nothing is shown."""
GAP = "  "
NAME_WIDTH = 12
"""Cells for the name of a part."""
MARKS = {
    "weights": ("█", "$primary"),
    "cache": ("▓", "$secondary"),
    "activations": ("▒", "$warning"),
    "overhead": ("░", "$foreground 70%"),
    "left": ("·", "$foreground 40%"),
    "excess": ("!", "$error"),
}
"""Character and style by type of part; the characters are distinguishable without colors."""


def bar(memory: Memory, width: int) -> Content:
    """The parts as a bar of ``width`` cells."""
    parts = bill(memory)
    counts = shares(parts, width)
    return Content.assemble(
        *((MARKS[part.kind][0] * count, MARKS[part.kind][1]) for part, count in zip(parts, counts, strict=True))
    )


class MemoryBill(Lines):
    """The bar, and its five parts below it."""

    def __init__(self) -> None:
        super().__init__()
        self._choice: Choice | None = None

    def show(self, choice: Choice) -> None:
        """Show the memory breakdown of ``choice``."""
        self._choice = choice
        self.changed()

    def lines(self, width: int) -> list[Content]:
        """Title, bar, and a row per part; for a model on a GPU and the host, those of both."""
        if self._choice is None or width < LEAST_WIDTH:
            return [Content("")]
        return [line for title, memory in bills(self._choice) for line in self._bill(title, memory, width)]

    def _bill(self, title: str, memory: Memory, width: int) -> list[Content]:
        lines = [*Content.assemble((title, "bold")).wrap(width), bar(memory, width)]
        for part in bill(memory):
            mark, style = MARKS[part.kind]
            name = Content(part.name).pad_right(NAME_WIDTH - Content(part.name).cell_length)
            lines.append(Content.assemble((f"{mark} ", style), name, (f"{size(part.bytes):>9}", "bold")))
            explained = Content.assemble((part.about, "$text-muted"))
            if lines[-1].cell_length + len(GAP) + explained.cell_length <= width:
                lines[-1] += Content(GAP) + explained
            else:
                lines += [Content(GAP) + line for line in explained.wrap(width - len(GAP))]
        return lines
