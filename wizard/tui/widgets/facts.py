"""Facts as rows: the label on the left, the value on the right, which wraps."""

from __future__ import annotations

from collections.abc import Iterable

from textual.containers import Grid
from textual.content import Content
from textual.widgets import Static


class Facts(Grid):
    """Two columns; the right one wraps."""

    DEFAULT_CSS = """
    Facts { grid-size: 2; grid-columns: 11 1fr; grid-rows: auto; height: auto; }
    Facts > .label { color: $text-muted; }
    """

    async def show(self, rows: Iterable[tuple[str | Content, Content]]) -> None:
        """Show these rows (label and value) instead of the current ones."""
        cells = [
            Static(Content(cell) if isinstance(cell, str) else cell, classes=name)
            for row in rows
            for cell, name in zip(row, ("label", "value"), strict=True)
        ]
        async with self.batch():
            await self.remove_children()
            await self.mount_all(cells)
