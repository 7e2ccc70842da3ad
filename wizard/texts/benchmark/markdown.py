"""A report as Markdown: GitHub's tables, no HTML. All text of users and servers is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wizard.bench.report import Report
from wizard.kernel.language import tr
from wizard.texts.benchmark import tables, words
from wizard.texts.benchmark.markup import fenced, markdown
from wizard.texts.benchmark.tables import Table


def text(report: Report) -> str:
    """The report."""
    warnings = words.warnings(report)
    parts = [
        f"# {markdown(words.title(report))}",
        f"**{markdown(partial)}**" if (partial := words.partial(report)) else "",
        listed(tr("Warnings"), warnings) if warnings else "",
        *map(table, tables.tables(report)),
        listed(tr("What ran"), (f"{name}: {value}" for name, value in tables.facts(report))),
        f"## {tr('Measure again')}\n\n{fenced(report.command)}",
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def listed(title: str, lines: Iterable[str]) -> str:
    """A section with a list."""
    return "\n".join([f"## {title}", "", *(f"- {markdown(line)}" for line in lines)])


def table(source: Table) -> str:
    """A section with a table."""
    lines = [_row(source.head), "|" + "---|" * len(source.head), *map(_row, source.rows)]
    about = f"\n\n{markdown(source.about)}" if source.about else ""
    return f"## {source.title}{about}\n\n" + "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(markdown, cells))} |"
