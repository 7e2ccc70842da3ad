"""A report as Markdown: GitHub's tables, no HTML. All text of users and servers is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wizard.bench.comparison import Comparison
from wizard.bench.report import Report
from wizard.kernel.language import tr
from wizard.texts.benchmark import compared, tables, words
from wizard.texts.benchmark.markup import fenced, markdown
from wizard.texts.benchmark.tables import Table


def text(report: Report) -> str:
    """The report."""
    return _document(
        words.title(report),
        words.partial(report),
        words.warnings(report),
        tables.tables(report),
        tables.facts(report),
        report.command,
    )


def comparison_text(comparison: Comparison) -> str:
    """The comparison."""
    return _document(
        compared.title(comparison),
        compared.partial(comparison),
        compared.warnings(comparison),
        compared.tables(comparison),
        compared.facts(comparison),
        comparison.command,
    )


def _document(
    title: str,
    partial: str,
    warnings: Sequence[str],
    shown: Iterable[Table],
    facts: Iterable[tuple[str, str]],
    command: str,
) -> str:
    parts = [
        f"# {markdown(title)}",
        f"**{markdown(partial)}**" if partial else "",
        _list(tr("Warnings"), warnings) if warnings else "",
        *map(_table, shown),
        _list(tr("What ran"), (f"{name}: {value}" for name, value in facts)),
        f"## {tr('Measure again')}\n\n{fenced(command)}",
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _list(title: str, lines: Iterable[str]) -> str:
    return "\n".join([f"## {title}", "", *(f"- {markdown(line)}" for line in lines)])


def _table(table: Table) -> str:
    lines = [_row(table.head), "|" + "---|" * len(table.head), *map(_row, table.rows)]
    about = f"\n\n{markdown(table.about)}" if table.about else ""
    return f"## {table.title}{about}\n\n" + "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(markdown, cells))} |"
