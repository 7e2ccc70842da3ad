"""A chart in characters; each series has a mark, so that the colors add nothing but ease."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

from wizard.texts.benchmark import canvas
from wizard.texts.benchmark.chart import Chart

STYLES = ("$secondary", "$warning", "$primary", "$error", "$foreground", "$text-muted")
"""Style of a series by its number."""


class ChartView(Widget):
    """The chart, as large as there is room; if there is too little, its points as sentences."""

    DEFAULT_CSS = "ChartView { height: 1fr; width: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self._chart: Chart | None = None

    def show(self, chart: Chart) -> None:
        """Show this chart."""
        self._chart = chart
        self.refresh()

    def render(self) -> Content:
        """The chart for the current size."""
        if self._chart is None:
            return Content("")
        lines = canvas.drawn(self._chart, *self.size)
        if not lines:
            return Content("\n".join(self._chart.sentences))
        return Content("\n").join(Content.assemble(*((text, _style(role)) for text, role in line)) for line in lines)


def _style(role: int) -> str:
    if role == canvas.LIMIT:
        return "bold $error"
    return "$foreground" if role == canvas.TEXT else f"bold {STYLES[role % len(STYLES)]}"
