"""The race of two models: updated while they answer, and the result afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable

from textual import events
from textual.content import Content

from wizard.chat.race import Race
from wizard.kernel.language import tr
from wizard.tui import textual_private
from wizard.tui.views.race import panel
from wizard.tui.widgets.lines import LEAST_WIDTH, Lines

LOOK_S = 0.1
"""Seconds between two updates of the lanes."""
HEADED = 20
"""Lines of a terminal from which on the columns have titles."""
SHARE, LOW_SHARE, MOST = 35, 30, 10
"""Percent of the lines of a terminal, and of a low one, that the panel may have; and its lines at most."""


class RacePanel(Lines):
    """Two lanes; only lines that changed are drawn.

    Args:
        clock: Monotonic seconds, as in the lanes.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, id: str) -> None:
        super().__init__()
        self.id = id
        self._clock = clock
        self._race: Race | None = None

    def on_mount(self) -> None:
        """Update the lanes while there is something to update."""
        self.set_interval(LOOK_S, self._look)

    def show(self, race: Race | None) -> None:
        """Show this race; without one, what it will be."""
        self._race = race
        self.changed()

    def _look(self) -> None:
        running = self.display and self._race is not None and not self._race.ended
        if running and not textual_private.pictures_waiting(self.app):  # a slow terminal is not given more
            self.changed()

    def on_resize(self, _event: events.Resize) -> None:
        """The height of the terminal decides about the titles."""
        self.changed()

    def lines(self, width: int) -> list[Content]:
        """The lanes, and the words below them."""
        if self._race is None:
            text = tr("Both models get the same question; their measurements are compared here.")
            return Content.assemble((text, "$text-muted")).wrap(max(width, LEAST_WIDTH))
        height = self.app.size.height
        headed = height >= HEADED
        most = min(height * (SHARE if headed else LOW_SHARE) // 100, MOST)
        return panel(self._race, self._clock(), width, headed=headed, most=most)
