"""A report's results for a plain terminal, in lines that fit; the files beside the report have all figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from wizard.bench.comparison import Comparison
from wizard.bench.report import Report
from wizard.kernel.language import tr
from wizard.kernel.text import one_line, table, width, wrap
from wizard.texts.benchmark import compared, tables, words
from wizard.texts.benchmark.markup import shown
from wizard.texts.benchmark.scale import drawable
from wizard.texts.benchmark.tables import Row, Table

BAR, LEAST_BAR = 30, 6
"""Cells of the longest bar at most, and at least: with less room there are none."""


def text(report: Report, columns: int, *, bars: bool = True, titled: bool = True, listed: bool = False) -> str:
    """The results in lines of at most ``columns`` cells, longer words excepted.

    Args:
        report: The report.
        columns: Width of the terminal.
        bars: Whether throughput is drawn, too; a screen reader would spell it out.
        titled: Whether the first line is the title.
        listed: Whether each figure has its own line with its name, for screen readers, and without bars.
    """
    head = (words.title(report), tables.subject(report), tables.machine(report))
    results, failed = tables.summary(report), tables.errors(report)
    if not listed and max(map(width, _lines((results.head, *results.rows)))) > columns:
        results = tables.summary(report, short=True)
    blocks = [
        "\n".join(wrap(shown(line), columns) for line in head[not titled :]),
        wrap(shown(words.partial(report)), columns),
        "\n".join(wrap(shown(line), columns, first="! ", indent="  ") for line in words.warnings(report)),
        block(_barred(results, report, columns) if bars and not listed else results, columns, listed),
        block(_predictions(report), columns, listed),
        block(failed, columns, listed),
        again(report.command),
    ]
    return "\n\n".join(filter(None, blocks))


def again(command: str) -> str:
    """What measures the same again: a shell line, or a notebook's call."""
    line = one_line(shown(command))
    return f"{tr('Measure again:')}\n  {'' if line.startswith('journey.') else '$ '}{line}"


def comparison_text(comparison: Comparison, columns: int, *, listed: bool = False, titled: bool = True) -> str:
    """A comparison in lines of at most ``columns`` cells; see `text`."""
    head = (compared.title(comparison), compared.how(comparison), tables.machine(comparison.reports[0]))
    blocks = [
        "\n".join(wrap(shown(line), columns) for line in head[not titled :]),
        wrap(shown(compared.partial(comparison)), columns),
        "\n".join(wrap(shown(line), columns, first="! ", indent="  ") for line in compared.warnings(comparison)),
        *(block(table, columns, listed) for table in compared.summary(comparison)),
        "\n".join(wrap(shown(line), columns) for line in compared.verdicts(comparison)),
        again(comparison.command),
    ]
    return "\n\n".join(filter(None, blocks))


def _barred(source: Table, report: Report, columns: int) -> Table:
    """The results, each row with a bar of its throughput as long as there is room for, to one scale.

    Unchanged if a throughput is unknown.
    """
    rates = [point.tokens_per_s.value if point.tokens_per_s else None for point in report.points]
    known = [rate for rate in rates if rate is not None and drawable(rate)]
    if not source.rows:
        return source
    used = max(map(width, _lines((source.head, *source.rows))))
    longest = min(BAR, columns - used - 2)
    if len(known) < len(rates) or not known or not max(known) or longest < LEAST_BAR:
        return source
    bars = ["#" * max(1, round(longest * rate / max(known))) if rate else "" for rate in known]
    rows = tuple((*row, bar) for row, bar in zip(source.rows, bars, strict=True))
    return replace(source, head=(*source.head, ""), rows=rows)


def _predictions(report: Report) -> Table:
    """Without the confidence, which is the same in each row."""
    source = tables.predicted(report, words.brief)
    return replace(source, head=source.head[:-1], rows=tuple(row[:-1] for row in source.rows))


def block(source: Table, columns: int, listed: bool) -> str:
    """The table; a line per cell if it is wider than the terminal, or if it is ``listed``."""
    if not source.rows:
        return ""
    whole = _lines((source.head, *source.rows))
    if listed or any(width(line) > columns for line in whole):
        whole = [*_records([*map(_clean, (source.head, *source.rows))], columns)]
    about = [wrap(shown(source.about), columns)] if source.about else []
    return "\n".join([source.title, *about, *whole])


def _clean(row: Row) -> list[str]:
    return [one_line(shown(cell)) for cell in row]


def _lines(rows: Sequence[Row]) -> list[str]:
    return table(map(_clean, rows), indent="  ").split("\n")


def _records(rows: list[list[str]], columns: int) -> Iterator[str]:
    """Each row as its name, and a line for each other cell."""
    head, *body = rows
    for first, *cells in body:
        yield wrap(first, columns, first=f"  {head[0]}: ", indent="    ")
        for name, cell in zip(head[1:], cells, strict=True):
            yield wrap(cell, columns, first=f"    {name}: ", indent="      ")
