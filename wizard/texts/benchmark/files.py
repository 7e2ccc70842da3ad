"""The report's pages as files beside it: ``report.md``, ``report.html``, and the charts as PNG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wizard.bench.comparison import Comparison
from wizard.bench.environment import unwritable
from wizard.bench.report import Report
from wizard.bench.run import Run
from wizard.kernel.files import write_whole
from wizard.texts.benchmark import compared_charts, html, markdown
from wizard.texts.benchmark.chart import Chart, LeftOut
from wizard.texts.benchmark.charts import charts
from wizard.texts.benchmark.png import png


def write(folder: Path, report: Report, runs: Sequence[Run], *, pictures: bool = False) -> tuple[Path, ...]:
    """Write them into ``folder`` in the current language, replacing earlier ones; returns their paths.

    Raises:
        WorkspaceError: TW-C68 if they cannot be written.
        UsageError, HostError: TW-U66, TW-U67 if ``pictures`` cannot be drawn; the pages are there then.
    """
    drawn = charts(report, runs) if pictures else ()
    return write_pages(folder, html.page(report, runs), markdown.text(report), drawn)


def write_comparison(folder: Path, comparison: Comparison, *, pictures: bool = False) -> tuple[Path, ...]:
    """The same for a comparison; raises as `write`."""
    drawn = compared_charts.charts(comparison) if pictures else ()
    return write_pages(folder, html.comparison_page(comparison), markdown.comparison_text(comparison), drawn)


def write_pages(folder: Path, page: str, text: str, drawn: Sequence[Chart | LeftOut] = ()) -> tuple[Path, ...]:
    """Write a page in HTML, its text in Markdown, and the charts that are ``drawn`` as PNG; raises as `write`."""
    made = [_written(folder / "report.html", page.encode()), _written(folder / "report.md", text.encode())]
    made += [_written(folder / f"{chart.id}.png", png(chart)) for chart in drawn if isinstance(chart, Chart)]
    return tuple(made)


def _written(path: Path, data: bytes) -> Path:
    try:
        write_whole(path, data)
    except OSError as error:
        raise unwritable(path, error) from error
    return path
