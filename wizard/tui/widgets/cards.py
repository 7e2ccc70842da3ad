"""Live cards of the machine. Only changed lines are redrawn."""

from __future__ import annotations

from textual.content import Content

from wizard.probe.host import Host
from wizard.probe.live import Reading
from wizard.tui.views.machine import cards
from wizard.tui.widgets.lines import LEAST_WIDTH, Lines


class LiveCards(Lines):
    """Current readings of GPUs, processor and memory."""

    def __init__(self) -> None:
        super().__init__()
        self._host: Host | None = None
        self._reading: Reading | None = None

    def show(self, host: Host | None, reading: Reading | None) -> None:
        """Show ``reading``; before the first one, the probed values."""
        self._host, self._reading = host, reading
        self.changed()

    def lines(self, width: int) -> list[Content]:
        """The cards."""
        if self._host is None:
            return []
        return cards(self._host, self._reading, max(width, LEAST_WIDTH))
