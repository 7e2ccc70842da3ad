"""The memory bill of a choice: one stacked bar, and below it what each part is and how big."""

from __future__ import annotations

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from wizard.advise.advice import Memory
from wizard.kernel.units import size

LEAST_WIDTH = 30
"""Cells; in fewer nothing is shown."""
GAP = "  "


def parts(memory: Memory) -> list[tuple[str, str, str, int, str]]:
    """Character, style, name, bytes and explanation of each part; the characters tell them apart without colours."""
    per_token = f"{size(memory.kv_bytes_per_token)} × {memory.kv_capacity_tokens:,} tokens"
    rest = memory.total_bytes - memory.weights_bytes - memory.activation_bytes - memory.overhead_bytes
    found = [
        ("█", "$primary", "weights", memory.weights_bytes, "the model itself"),
        ("▓", "$secondary", "KV cache", rest, f"{per_token} of conversation"),
        ("▒", "$warning", "activations", memory.activation_bytes, "intermediate results while it thinks"),
        ("░", "$foreground 70%", "overhead", memory.overhead_bytes, "the server and its libraries"),
    ]
    free = memory.budget_bytes - memory.total_bytes
    return [
        *found,
        ("·", "$foreground 40%", "left free", free, "") if free >= 0 else ("!", "$error", "too much", -free, ""),
    ]


def cells(memory: Memory, width: int) -> list[int]:
    """How many of ``width`` cells each of `parts` gets: in proportion, but at least one for what is not nothing."""
    sizes = [part[3] for part in parts(memory)]
    whole = sum(sizes) if memory.total_bytes <= memory.budget_bytes else memory.total_bytes
    used = [max(1, round(count * width / whole)) if count > 0 and whole else 0 for count in sizes]
    if memory.total_bytes > memory.budget_bytes:
        used[-1] = 0  # the excess is part of the others already
    used[used.index(max(used))] += width - sum(used)
    return used


class MemoryBill(Widget):
    """The bar, and its five parts below it."""

    DEFAULT_CSS = "MemoryBill { height: auto; }"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._memory: Memory | None = None

    def show(self, memory: Memory) -> None:
        """Show ``memory``."""
        self._memory = memory
        self.refresh(layout=True)

    def get_content_width(self, container: Size, _viewport: Size) -> int:
        """As wide as there is room."""
        return container.width

    def get_content_height(self, _container: Size, _viewport: Size, width: int) -> int:
        """As high as the lines need at this width."""
        return len(self._lines(width))

    def render(self) -> Content:
        """The bar and its legend."""
        return Content("\n").join(self._lines(self.size.width))

    def _lines(self, width: int) -> list[Content]:
        memory = self._memory
        if memory is None or width < LEAST_WIDTH:
            return [Content("")]
        figures = f"  {size(memory.total_bytes)} of {size(memory.budget_bytes)}"
        found = parts(memory)
        counts = cells(memory, width - len(figures))
        bar = [(part[0] * count, part[1]) for part, count in zip(found, counts, strict=True)]
        lines = [Content.assemble(*bar, (figures, "bold"))]
        for mark, style, name, count, about in found:
            lines.append(Content.assemble((f"{mark} ", style), f"{name:<12}", (f"{size(count):>9}", "bold")))
            explained = Content.assemble((about, "$text-muted"))
            if lines[-1].cell_length + len(GAP) + explained.cell_length <= width:
                lines[-1] += Content(GAP) + explained
            else:
                lines += [Content(GAP) + line for line in explained.wrap(width - len(GAP))]
        return lines
