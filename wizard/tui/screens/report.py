"""A report of any kind: its results, its charts and what ran, one view at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from wizard.bench.opened import Opened
from wizard.catalog.explanations import Part
from wizard.kernel.language import mark, tr
from wizard.kernel.text import one_line
from wizard.texts.benchmark.markup import shown
from wizard.texts.benchmark.views import View, views
from wizard.tui.screens.modal import ReaderScreen
from wizard.tui.screens.stage import StageScreen
from wizard.tui.widgets.chart import ChartView
from wizard.tui.widgets.lines import Lines
from wizard.tui.widgets.pane import Pane


class Text(Lines):
    """The text of a view, made for the available width."""

    def __init__(self) -> None:
        super().__init__()
        self._view = View("")

    def show(self, view: View) -> None:
        """Show this view."""
        self._view = view
        self.changed()

    def lines(self, width: int) -> list[Content]:
        """What the view has."""
        pieces = [Content(line) for line in self._view.text(max(width, 20)).split("\n")]
        return [piece for line in pieces for piece in (line.wrap(max(width, 8)) if line.plain else [line])]


class ReportScreen(StageScreen[None]):
    """Dismissed with nothing.

    Args:
        opened: The report.
        vote: Holds a blind vote on the two servers of a report, and returns the report to show from then on, if that
            has changed; None if it does not compare two.
    """

    STAGE = 6
    HELP = mark(
        "A benchmark's report: the results, charts, and what ran. The same charts are in report.html beside the "
        "report, and every number is in report.json."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "turn(-1)", mark("View"), id="report.before", key_display="←→", priority=True),
        Binding("right", "turn(1)", mark("View"), id="report.after", show=False, priority=True),
        Binding("w", "words", mark("In words"), id="report.words"),
        Binding("v", "vote", mark("Blind vote"), tooltip=mark("Vote on answers of both servers"), id="report.vote"),
    ]

    def __init__(self, opened: Opened, vote: Callable[[Opened], Awaitable[Opened | None]] | None = None) -> None:
        super().__init__()
        self.opened, self._vote, self._at = opened, vote, 0
        self._shown = views(opened.report, opened.runs)

    def compose(self) -> ComposeResult:
        """A heading, and the chart or the text."""
        yield from self.framed(
            Static(classes="heading", markup=False),
            Static(classes="subheading", id="about", markup=False),
            ChartView(),
            Pane(Text(), id="report-text"),
        )

    def on_mount(self) -> None:
        """Show the results."""
        self._fill()

    def relabel(self) -> None:
        """Update all text to the current language."""
        self._fill()
        super().relabel()

    def _fill(self) -> None:
        self._shown = views(self.opened.report, self.opened.runs)
        self._show()

    @property
    def _view(self) -> View:
        return self._shown.views[self._at]

    def _show(self) -> None:
        view = self._view
        place = f"{self._at + 1}/{len(self._shown.views)} {view.title}"
        self.query_one(".heading", Static).update(f"{one_line(shown(self._shown.title))} · {place}")
        about = view.chart.about if view.chart else ""
        partial = self._shown.partial if view.chart else ""
        self.query_one("#about", Static).update(shown(" ".join(filter(None, (partial, about)))))
        self.query_one("#about").set_class(view.chart is None, "-none")
        self.query_one(ChartView).display = view.chart is not None
        self.query_one("#report-text").display = view.chart is None
        if view.chart:
            self.query_one(ChartView).show(view.chart)
        else:
            self.query_one(Text).show(view)
            self.query_one("#report-text", Pane).scroll_home(animate=False)
            self.query_one("#report-text").focus()
        self.explain()
        self.refresh_bindings()

    def explanation(self) -> tuple[Part, ...]:
        """How to read the chart."""
        view = self._view
        return (Part(view.title, shown(view.chart.about) if view.chart else tr(self.HELP)),)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only a chart has words of its own, and only two servers can be voted on."""
        if action == "vote":
            return self._vote is not None
        if action == "words":
            return self._view.chart is not None
        return super().check_action(action, parameters)

    def action_turn(self, by: int) -> None:
        """Go to another view; after the last comes the first."""
        self._at = (self._at + by) % len(self._shown.views)
        self._show()

    def action_words(self) -> None:
        """The chart's points as sentences."""
        if chart := self._view.chart:
            self.app.push_screen(ReaderScreen(chart.title, "\n".join((chart.about, "", *chart.sentences))))

    @work(exclusive=True, group="form")
    async def action_vote(self) -> None:
        """Vote on answers of the two servers, without their names."""
        if self._vote is not None and (opened := await self._vote(self.opened)):
            self.opened, self._at = opened, 0
            self._fill()
