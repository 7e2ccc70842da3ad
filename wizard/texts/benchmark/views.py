"""A report of any kind for the interfaces: as a text, or as a title and views, each a chart or a text. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from wizard.bench.comparison import Comparison
from wizard.bench.opened import AnyReport
from wizard.bench.quality.report import Quality
from wizard.bench.run import Run
from wizard.kernel.language import tr
from wizard.kernel.text import one_line
from wizard.texts.benchmark import charts, compared, compared_charts, quality, quality_charts, tables, terminal, words
from wizard.texts.benchmark.chart import Chart, LeftOut
from wizard.texts.benchmark.markup import shown
from wizard.texts.benchmark.tables import Table


@dataclass(frozen=True, slots=True)
class View:
    """A view: its title, and a chart, or a text for a number of columns."""

    title: str
    chart: Chart | None = None
    text: Callable[[int], str] = lambda _: ""


@dataclass(frozen=True, slots=True)
class Views:
    """A report: its title, why it is incomplete, and its views."""

    title: str
    partial: str
    views: tuple[View, ...]


def text(report: AnyReport, columns: int, *, bars: bool = True, titled: bool = True, listed: bool = False) -> str:
    """The results in lines of at most ``columns`` cells; see `wizard.texts.benchmark.terminal.text`."""
    if isinstance(report, Comparison):
        return terminal.comparison_text(report, columns, titled=titled, listed=listed)
    if isinstance(report, Quality):
        return quality.text(report, columns, titled=titled, listed=listed)
    return terminal.text(report, columns, bars=bars, titled=titled, listed=listed)


def views(report: AnyReport, runs: Sequence[Run] = ()) -> Views:
    """Results, charts, what the results leave out, and what ran; ``runs`` are the files beside the report, or none."""
    made = [View(tr("Results"), None, partial(text, report, titled=False))]
    if isinstance(report, Quality):
        made += map(_view, quality_charts.charts(report))
        facts = quality.facts(report)
        return Views(quality.title(report), quality.partial(report), (*made, _what_ran(facts, report.command)))
    if isinstance(report, Comparison):
        made += map(_view, compared_charts.charts(report))
        made += [_table(each) for each in (compared.ratios(report), compared.different(report)) if each.rows]
        facts = compared.facts(report)
        return Views(compared.title(report), compared.partial(report), (*made, _what_ran(facts, report.command)))
    made += map(_view, charts.charts(report, runs))
    facts = tables.facts(report)
    return Views(words.title(report), words.partial(report), (*made, _what_ran(facts, report.command)))


def _view(drawn: Chart | LeftOut) -> View:
    if isinstance(drawn, Chart):
        return View(drawn.title, drawn)
    return View(drawn.title, None, lambda _: drawn.why)


def _table(source: Table) -> View:
    return View(source.title, None, lambda columns: terminal.block(source, columns, listed=False))


def _what_ran(facts: Iterable[tuple[str, str]], command: str) -> View:
    ran = "\n".join(f"{name}: {shown(value)}" for name, value in facts)
    return View(tr("What ran"), None, lambda _: f"{ran}\n\n{tr('Measure again:')}\n  {one_line(shown(command))}")
