"""The Pareto front in a window over the advice: a plot, and its points to choose from."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static

from wizard.advise.pareto import Front, Point  # noqa: F401 - ruff does not look into the text of a base's argument
from wizard.kernel.errors import WizardError
from wizard.kernel.language import mark, tr
from wizard.kernel.text import plain, table
from wizard.texts import pareto, report
from wizard.tui import background
from wizard.tui.widgets.chrome import KeyBar
from wizard.tui.widgets.error import ErrorPanel
from wizard.tui.widgets.lines import Lines
from wizard.tui.widgets.picker import BLANK, Picker

LINES = 10
"""Lines of the plot; more would leave no room for the points in a terminal of 24 lines."""
WIDEST = 90
"""Most columns of the plot."""


class Plot(Lines):
    """The points, each as the letter of its setup."""

    def __init__(self) -> None:
        super().__init__()
        self._front: Front | None = None

    def show(self, front: Front) -> None:
        """Show this front."""
        self._front = front
        self.changed()

    def lines(self, width: int) -> list[Content]:
        """The plot in ``width`` cells; nothing if it is too narrow."""
        drawn = pareto.plot(self._front, min(width, WIDEST), LINES) if self._front else []
        return [Content(line) for line in drawn] or [Content("")]


class ParetoScreen(ModalScreen["Point | None"]):
    """Dismissed with the chosen point, or None.

    Args:
        front: Computes the front; takes a fraction of a second.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", mark("Look at this setup"), priority=True, key_display="⏎", id="pareto.accept"),
        Binding("escape,p,q", "close", mark("Close"), key_display="Esc", id="pareto.close"),
    ]

    def __init__(self, front: Callable[[], Front]) -> None:
        super().__init__()
        self._compute = front
        self._front: Front | None = None

    def compose(self) -> ComposeResult:
        """Heading, plot, a row per point, and the selected setup."""
        with Vertical(classes="window") as window:
            window.border_title = Content(tr("Pareto front: speed per user and throughput"))
            yield Static(tr("◌ Computing …"), id="load", markup=False)
            yield ErrorPanel()
            yield Plot()
            yield Static(id="columns", markup=False)
            yield Picker()
            with Vertical(classes="foot"):
                yield Static(id="about", markup=False)
                yield KeyBar()

    def on_mount(self) -> None:
        """Compute the front."""
        self._fill()

    @work(exclusive=True)
    async def _fill(self) -> None:
        try:
            self._front = front = await background.call(self._compute)
        except WizardError as error:
            self.query_one("#load", Static).update("")
            self.query_one(ErrorPanel).show(error)
            return
        head, *rows = table([pareto.head(front), *pareto.rows(front)]).split("\n")
        load = tr("Load of all points: {isl:,} tokens in and {osl:,} out per request", isl=front.isl, osl=front.osl)
        self.query_one("#load", Static).update(load)
        self.query_one(Plot).show(front)
        self.query_one("#columns", Static).update(f"{BLANK}{head}" if rows else "")
        self.query_one(Picker).show([Content(row) for row in rows])
        self._tell(0)
        self.refresh_bindings()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Name the selected setup."""
        self._tell(event.option_index)

    def _tell(self, at: int) -> None:
        if self._front is None:
            return
        points = self._front.points
        lines = [report.choice_title(points[at].choice)] if at < len(points) else []
        self.query_one("#about", Static).update(plain("\n".join([*lines, *pareto.remarks(self._front)])))

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool | None:
        """Enabled if there is a point to choose."""
        return action != "accept" or bool(self._front and self._front.points)

    def on_option_list_option_selected(self) -> None:
        """A click on a point chooses it."""
        self.action_accept()

    def action_accept(self) -> None:
        """Choose the selected point."""
        at = self.query_one(Picker).highlighted
        if self._front is not None and at is not None:
            self.dismiss(self._front.points[at])

    def action_close(self) -> None:
        """Go back to the advice."""
        self.dismiss(None)
