"""A report as a single HTML page: no script, no reference to another file, light and dark, printable.

All text of users and servers is escaped; if that ever failed, the page's own policy forbids scripts and requests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from wizard.bench.comparison import Comparison
from wizard.bench.report import Report
from wizard.bench.run import Run
from wizard.kernel.language import tr, used
from wizard.kernel.values import to_json
from wizard.texts.benchmark import charts, compared, compared_charts, tables, words
from wizard.texts.benchmark.chart import Chart, LeftOut
from wizard.texts.benchmark.colors import ANY, DARK, LIGHT, STYLED, Colors, variables
from wizard.texts.benchmark.markup import html
from wizard.texts.benchmark.svg import svg
from wizard.texts.benchmark.tables import Table

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def page(report: Report, runs: Sequence[Run] = ()) -> str:
    """The page."""
    return document(words.title(report), _lead(report), (*_parts(report, runs, STYLED, "chart"), data(report)))


def comparison_page(comparison: Comparison) -> str:
    """The page of a comparison."""
    about = f"{tables.machine(comparison.reports[0])} · {comparison.made}"
    parts = (
        *map(table, compared.tables(comparison)),
        figures(compared_charts.charts(comparison)),
        what_ran(compared.facts(comparison), comparison.command),
        data(comparison),
    )
    top = lead(about, compared.partial(comparison), compared.warnings(comparison))
    return document(compared.title(comparison), top, parts)


def document(title: str, lead: str, parts: Iterable[str]) -> str:
    """A page with a ``title``; ``lead`` and ``parts`` are HTML."""
    style = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    light, dark = variables(LIGHT), variables(DARK)
    return "\n".join(
        [
            "<!DOCTYPE html>",
            f'<html lang="{html(used())}">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{html(POLICY)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{html(title)}</title>",
            f"<style>\n:root{{{light}}}",
            f"@media screen and (prefers-color-scheme: dark){{:root{{{dark}}}}}",
            f"{style}</style>",
            "</head>",
            "<body>",
            f"<header><h1>{html(title)}</h1>{lead}</header>",
            f"<main>{''.join(parts)}</main>",
            "</body>",
            "</html>",
            "",
        ]
    )


def fragment(report: Report, runs: Sequence[Run] = ()) -> str:
    """The report for a notebook, whose page has its own style, in colors for any theme."""
    prefix = "".join(character for character in report.made if character.isalnum())
    first, charts_, rest = _parts(report, runs, ANY, f"bench-{prefix}")
    more = f"<details><summary>{html(tr('All tables'))}</summary>{rest}</details>"
    return f"<div><b>{html(words.title(report))}</b>{_lead(report)}{first}{charts_}{more}</div>"


def _lead(report: Report) -> str:
    """The machine; that the report is partial; and the warnings."""
    return lead(f"{tables.machine(report)} · {report.made}", words.partial(report), words.warnings(report))


def lead(about: str, partial: str, warned: Sequence[str]) -> str:
    """What the report is about; that it is partial, if so; and the warnings."""
    shown = f"<p>{html(about)}</p>"
    if partial:
        shown += f'<p class="partial" role="note"><strong>{html(partial)}</strong></p>'
    if warned:
        shown += f'<section class="warnings"><h2>{html(tr("Warnings"))}</h2>{listed(warned)}</section>'
    return shown


def _parts(report: Report, runs: Sequence[Run], colors: Colors, prefix: str) -> tuple[str, str, str]:
    """The first table, the charts, and everything else."""
    first, *rest = tables.tables(report) or (None,)
    return (
        table(first) if first else f"<p>{html(tr('No level was measured.'))}</p>",
        figures(charts.charts(report, runs), colors, prefix),
        "".join([*map(table, filter(None, rest)), what_ran(tables.facts(report), report.command)]),
    )


def what_ran(facts: Iterable[Sequence[str]], command: str) -> str:
    """Facts, name and value, and the command that measures again."""
    rows = "".join(map(_row, facts))
    return (
        f'<section><h2>{html(tr("What ran"))}</h2><table class="facts">{rows}</table></section>'
        f"<section><h2>{html(tr('Measure again'))}</h2><pre>{html(command)}</pre></section>"
    )


def figures(drawn: Iterable[Chart | LeftOut], colors: Colors = STYLED, prefix: str = "chart") -> str:
    """Charts; ``prefix`` begins the IDs of their elements."""
    return f'<div class="charts">{"".join(_chart(each, colors, prefix) for each in drawn)}</div>'


def _chart(chart: Chart | LeftOut, colors: Colors, prefix: str) -> str:
    if isinstance(chart, LeftOut):
        return f"<figure><h3>{html(chart.title)}</h3><p>{html(chart.why)}</p></figure>"
    return (
        f'<figure><h3>{html(chart.title)}</h3><div class="wide">{svg(chart, colors, prefix=prefix)}</div>'
        f"<figcaption>{html(chart.about)}</figcaption></figure>"
    )


def table(source: Table) -> str:
    """A table with its title."""
    head = "".join(f"<th scope=col>{html(cell)}</th>" for cell in source.head)
    about = f"<p>{html(source.about)}</p>" if source.about else ""
    return (
        f'<section><h2>{html(source.title)}</h2>{about}<div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(map(_row, source.rows))}</tbody></table></div></section>"
    )


def _row(cells: Sequence[str]) -> str:
    first, *rest = cells
    return f"<tr><th scope=row>{html(first)}</th>{''.join(f'<td>{html(cell)}</td>' for cell in rest)}</tr>"


def listed(lines: Iterable[str]) -> str:
    """A list."""
    return f"<ul>{''.join(f'<li>{html(line)}</li>' for line in lines)}</ul>"


def data(report: object) -> str:
    """The report itself, from which everything above was made."""
    summary = html(tr("All data (report.json)"))
    return f"<details><summary>{summary}</summary><pre>{html(to_json(report, indent=2))}</pre></details>"
