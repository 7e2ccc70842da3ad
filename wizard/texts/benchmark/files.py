"""The report's pages as files beside it: ``report.md``, ``report.html``, and the charts as PNG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wizard.bench.environment import unwritable
from wizard.bench.report import Report
from wizard.bench.run import Run
from wizard.texts.benchmark import html, markdown
from wizard.texts.benchmark.chart import Chart
from wizard.texts.benchmark.charts import charts
from wizard.texts.benchmark.png import png


def write(folder: Path, report: Report, runs: Sequence[Run], *, pictures: bool = False) -> tuple[Path, ...]:
    """Write them into ``folder`` in the current language, replacing earlier ones; returns their paths.

    Raises:
        WorkspaceError: TW-C68 if they cannot be written.
        UsageError, HostError: TW-U66, TW-U67 if ``pictures`` cannot be drawn; the pages are there then.
    """
    made = [
        written(folder / "report.html", html.page(report, runs).encode()),
        written(folder / "report.md", markdown.text(report).encode()),
    ]
    for chart in charts(report, runs) if pictures else ():
        if isinstance(chart, Chart):
            made.append(written(folder / f"{chart.id}.png", png(chart)))
    return tuple(made)


def written(path: Path, data: bytes) -> Path:
    """Write a file whole, replacing an earlier one.

    Raises:
        WorkspaceError: TW-C68 if it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.new")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    except OSError as error:
        raise unwritable(path, error) from error
    return path
