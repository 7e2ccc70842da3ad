"""Facts as rows: what it is on the left, what was found on the right."""

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

    async def show(self, rows: Iterable[tuple[str, Content]]) -> None:
        """Show these rows instead of the present ones."""
        cells = [
            cell for label, value in rows for cell in (Static(Content(label), classes="label"), Static(value))
        ]
        async with self.batch():
            await self.remove_children()
            await self.mount_all(cells)
