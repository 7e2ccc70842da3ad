"""A report's results for a plain terminal, in lines that fit; the files beside the report have all figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from wizard.bench.report import Report
from wizard.kernel.language import tr
from wizard.kernel.text import one_line, table, width, wrap
from wizard.texts.benchmark import tables, words
from wizard.texts.benchmark.markup import shown
from wizard.texts.benchmark.scale import drawable
from wizard.texts.benchmark.tables import Table

BAR = 16
"""Cells of the longest bar."""


def text(report: Report, columns: int, *, bars: bool = True) -> str:
    """The results in lines of at most ``columns`` cells, longer words excepted.

    Args:
        report: The report.
        columns: Width of the terminal.
        bars: Whether throughput is drawn, too; a screen reader would spell it out.
    """
    results, failed = tables.summary(report), tables.errors(report)
    blocks = [
        "\n".join(wrap(shown(line), columns) for line in (words.title(report), tables.machine(report))),
        wrap(shown(words.partial(report)), columns),
        "\n".join(wrap(shown(line), columns, first="! ", indent="  ") for line in words.warnings(report)),
        _block(_barred(results, report) if bars else results, columns) if results.rows else "",
        _block(_predictions(report), columns),
        _block(failed, columns),
        f"{tr('Measure again:')}\n  $ {one_line(shown(report.command))}",
    ]
    return "\n\n".join(filter(None, blocks))


def _barred(found: Table, report: Report) -> Table:
    """The results with a bar of throughput in each row, to one scale; unchanged if a throughput is unknown."""
    rates = [point.tokens_per_s.value if point.tokens_per_s else None for point in report.points]
    known = [rate for rate in rates if rate is not None and drawable(rate)]
    if len(known) < len(rates) or not known or not max(known):
        return found
    cells = ["#" * max(1, round(BAR * rate / max(known))) if rate else "" for rate in known]
    rows = tuple((*row[:2], bar, *row[2:]) for row, bar in zip(found.rows, cells, strict=True))
    return replace(found, head=(*found.head[:2], "", *found.head[2:]), rows=rows)


def _predictions(report: Report) -> Table:
    """Without the confidence, which is the same in each row."""
    found = tables.predicted(report, words.brief)
    return replace(found, head=found.head[:-1], rows=tuple(row[:-1] for row in found.rows))


def _block(found: Table, columns: int) -> str:
    """The table; a line per cell if it is wider than the terminal."""
    if not found.rows:
        return ""
    clean = [[one_line(shown(cell)) for cell in row] for row in (found.head, *found.rows)]
    whole = table(clean, indent="  ").split("\n")
    if any(width(line) > columns for line in whole):
        whole = [*_records(clean, columns)]
    about = [wrap(shown(found.about), columns)] if found.about else []
    return "\n".join([found.title, *about, *whole])


def _records(rows: list[list[str]], columns: int) -> Iterator[str]:
    """Each row as its name, and a line for each other cell."""
    head, *body = rows
    for first, *cells in body:
        yield f"  {first}"
        for name, cell in zip(head[1:], cells, strict=True):
            yield wrap(cell, columns, first=f"    {name}: " if name else "    ", indent="      ")
