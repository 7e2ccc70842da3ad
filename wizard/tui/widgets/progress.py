"""Progress of the running step: a bar of the available width, and below it the time and the tool's message."""

from __future__ import annotations

import re

from textual.content import Content

from wizard.kernel.language import tr
from wizard.kernel.text import one_line, plain
from wizard.kernel.units import duration
from wizard.run.events import Progress
from wizard.tui.widgets.lines import LEAST_WIDTH, Lines

_BAR_CHARACTERS = re.compile(r"[|]?[─-▟][─-▟ ]*[|]?|[|]\s+[|]")
"""Bars that tools draw (pip, uv, tqdm): box drawing and block elements; tqdm's is empty at first."""

_ROUNDED_TO_ALL = 0.995
"""From this value on it would be rounded to 100%."""


class ProgressLines(Lines):
    """The bar, if the progress is known, and the text; at least two lines, so that the layout is stable.

    A tool that has completed its downloads does not report how long the rest takes: no bar then.
    """

    def __init__(self) -> None:
        super().__init__()
        self.id = "progress"
        self._progress: Progress | None = None
        self._elapsed = 0.0
        self._stopping = False

    def show(self, progress: Progress | None, elapsed: float, *, stopping: bool) -> None:
        """Show the progress after ``elapsed`` seconds, or that the step is being stopped."""
        self._progress, self._elapsed, self._stopping = progress, elapsed, stopping
        self.changed()

    def lines(self, width: int) -> list[Content]:
        """The bar and the words below it."""
        lines = self._words(max(width, LEAST_WIDTH))
        return [*lines, *[Content("")] * (2 - len(lines))]

    def _words(self, width: int) -> list[Content]:
        if self._stopping:
            return Content.assemble(("◌ ", "$warning"), tr("stopping the running step")).wrap(width)
        progress = self._progress
        words = [duration(float(int(self._elapsed))).replace(".0 s", " s")]
        words += [one_line(progress.activity)] if progress and progress.activity else []
        text = " ".join(_BAR_CHARACTERS.sub(" ", plain(progress.text)).split()) if progress else ""
        if progress is None or progress.fraction is None or progress.fraction >= _ROUNDED_TO_ALL:
            words += [text] if progress and progress.fraction is None and text else []
            return Content.assemble(("◌ ", "$accent"), " · ".join(words)).wrap(width)
        words += (
            [tr("about {time} left", time=duration(progress.eta_s))]
            if progress.eta_s is not None and progress.eta_s >= 1
            else []
        )
        words += [text] if text else []
        share = max(0.0, progress.fraction)
        room = max(0, width - 5)
        full = round(share * room)
        bar = Content.assemble(("━" * full, "$primary"), ("─" * (room - full), "$text-muted"), f" {share:4.0%}")
        return [bar, *Content.assemble((" · ".join(words), "$text-muted")).wrap(width)]
