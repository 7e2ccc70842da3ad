"""A benchmark's report: its results, its charts and what ran, one view at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from wizard.bench.report import Report
from wizard.bench.run import Run
from wizard.catalog.explanations import Part
from wizard.kernel.language import mark, tr
from wizard.kernel.text import one_line
from wizard.texts.benchmark import tables, terminal, words
from wizard.texts.benchmark.chart import Chart, LeftOut
from wizard.texts.benchmark.charts import charts
from wizard.texts.benchmark.markup import shown
from wizard.tui.screens.modal import ReaderScreen
from wizard.tui.screens.stage import StageScreen
from wizard.tui.widgets.chart import ChartView
from wizard.tui.widgets.lines import Lines
from wizard.tui.widgets.pane import Pane


@dataclass(frozen=True, slots=True)
class View:
    """One of the views: its title, and a chart, or a text that depends on the width."""

    title: str
    chart: Chart | None = None
    text: str = ""


class Text(Lines):
    """The text of a view, made for the available width."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self._report, self._view = report, View("")

    def show(self, view: View) -> None:
        """Show this view."""
        self._view = view
        self.changed()

    def lines(self, width: int) -> list[Content]:
        """The results, or what the view has."""
        text = self._view.text or terminal.text(self._report, max(width, 20), titled=False)
        pieces = [Content(line) for line in text.split("\n")]
        return [piece for line in pieces for piece in (line.wrap(max(width, 8)) if line.plain else [line])]


class ReportScreen(StageScreen[None]):
    """Dismissed with nothing.

    Args:
        report: The report.
        runs: Its runs, as far as their files are there.
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
    ]

    def __init__(self, report: Report, runs: Sequence[Run] = ()) -> None:
        super().__init__()
        self._report, self._runs, self._at = report, runs, 0
        self._views: tuple[View, ...] = ()

    def compose(self) -> ComposeResult:
        """A heading, and the chart or the text."""
        yield from self.framed(
            Static(classes="heading", markup=False),
            Static(classes="subheading", id="about", markup=False),
            ChartView(),
            Pane(Text(self._report), id="report-text"),
        )

    def on_mount(self) -> None:
        """Show the results."""
        self._fill()

    def relabel(self) -> None:
        """Update all text to the current language."""
        self._fill()
        super().relabel()

    def _fill(self) -> None:
        ran = "\n".join(f"{name}: {shown(value)}" for name, value in tables.facts(self._report))
        command = f"{tr('Measure again:')}\n  {one_line(shown(self._report.command))}"
        self._views = (
            View(tr("Results")),
            *(
                View(each.title, None, each.why) if isinstance(each, LeftOut) else View(each.title, each)
                for each in charts(self._report, self._runs)
            ),
            View(tr("What ran"), None, f"{ran}\n\n{command}"),
        )
        self._show()

    def _show(self) -> None:
        view = self._views[self._at]
        place = f"{self._at + 1}/{len(self._views)} {view.title}"
        self.query_one(".heading", Static).update(f"{one_line(shown(words.title(self._report)))} · {place}")
        about = view.chart.about if view.chart else ""
        partial = one_line(words.partial(self._report))
        self.query_one("#about", Static).update(" ".join(filter(None, (partial if view.chart else "", about))))
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
        view = self._views[self._at] if self._views else View("")
        if view.chart is None:
            return (Part(view.title, tr(self.HELP)),)
        return (Part(view.title, view.chart.about),)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only a chart has words of its own."""
        if action == "words":
            return bool(self._views) and self._views[self._at].chart is not None
        return super().check_action(action, parameters)

    def action_turn(self, by: int) -> None:
        """Go to another view; after the last comes the first."""
        self._at = (self._at + by) % len(self._views)
        self._show()

    def action_words(self) -> None:
        """The chart's points as sentences."""
        chart = self._views[self._at].chart
        if chart:
            self.app.push_screen(ReaderScreen(chart.title, "\n".join((chart.about, "", *chart.sentences))))
