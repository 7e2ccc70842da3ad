"""The steps of a build, a line each; keys apply to the selected one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.style import Style
from textual.widget import Widget

from wizard.kernel.language import mark, tr
from wizard.kernel.text import one_line
from wizard.kernel.units import duration
from wizard.tui.views.build import StepView
from wizard.tui.widgets.lines import LEAST_WIDTH, Lines

MARKS = {
    "waiting": ("○", "$text-muted"),
    "running": ("●", "bold $accent"),
    "done": ("✓", "$success"),
    "skipped": ("✓", "$success"),
    "omitted": ("–", "$warning"),
    "failed": ("✗", "bold $error"),
    "cancelled": ("■", "$warning"),
}
WORDS = {
    "running": mark("running"),
    "skipped": mark("already done"),
    "omitted": mark("skipped"),
    "failed": mark("failed"),
    "cancelled": mark("cancelled"),
}
POINTER = "▸"
INDENT = 3
"""Cells before a title."""


class StepList(Lines, can_focus=True):
    """Follows the running step until a key or the mouse selects another."""

    DEFAULT_CSS = """
    StepList { height: auto; }
    StepList:focus { background: $primary 12%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "point(-1)", mark("Choose a step"), key_display="↑↓", id="steps.up"),
        Binding("down", "point(1)", mark("Choose a step"), show=False, id="steps.down"),
    ]

    class Pointed(Message):
        """A key or the mouse selected another step."""

    def __init__(self) -> None:
        super().__init__()
        self.id = "steps"
        self._steps: Sequence[StepView] = ()
        self._chosen: int | None = None

    @property
    def at(self) -> int:
        """The selected step."""
        if self._chosen is not None:
            return self._chosen
        current = [at for at, step in enumerate(self._steps) if step.state in ("running", "failed", "cancelled")]
        done = [at for at, step in enumerate(self._steps) if step.state != "waiting"]
        return current[-1] if current else done[-1] if done else 0

    def show(self, steps: Sequence[StepView]) -> None:
        """Show the state of the steps."""
        if all(step.state == "waiting" for step in steps):
            self._chosen = None  # another run begins
        self._steps = steps
        self.changed()
        self.call_after_refresh(self._into_sight)

    def _into_sight(self) -> None:
        """Scroll a long list in a low terminal to at least the selected step."""
        above = sum(
            len(self._rows(number, step, self.size.width)) for number, step in enumerate(self._steps[: self.at])
        )
        if isinstance(self.parent, Widget) and self.parent.max_scroll_y:
            self.parent.scroll_to_region(Region(0, above, 1, 1), animate=False)

    def action_point(self, by: int) -> None:
        """Select the next or previous step."""
        self._point(self.at + by)

    def on_click(self, event: events.Click) -> None:
        """Select the clicked step."""
        self._point(event.style.meta.get("step", self.at))

    def _point(self, at: int) -> None:
        self._chosen = min(max(at, 0), len(self._steps) - 1)
        self.changed()
        self._into_sight()
        self.screen.refresh_bindings()
        self.post_message(self.Pointed())

    def lines(self, width: int) -> list[Content]:
        """The steps, each wrapped after its mark."""
        return [row for number, step in enumerate(self._steps) for row in self._rows(number, step, width)]

    def _rows(self, number: int, step: StepView, width: int) -> list[Content]:
        sign, style = MARKS[step.state]
        state = duration(step.seconds) if step.state == "done" else tr(WORDS.get(step.state, ""))
        title = Content.assemble((one_line(step.title), "bold" if step.state == "running" else ""))
        whole = Content.assemble(title, (f"  {state}" if state else "", "$text-muted"))
        first, *rest = whole.wrap(max(width, LEAST_WIDTH) - INDENT)
        pointer = POINTER if number == self.at else " "
        lead = Content.assemble((pointer, "bold $accent"), (f"{sign} ", style))
        rows = [lead + first, *(Content(" " * INDENT) + line for line in rest)]
        return [row.stylize(Style.from_meta({"step": number})) for row in rows]
