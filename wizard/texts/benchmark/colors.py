"""Colors of the charts: on a light page, on a dark one, and on a page whose color is not known."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Colors:
    """Colors, as CSS writes them.

    Attributes:
        page: Behind everything; empty if unknown.
        ink: Text.
        muted: Secondary text, and axes.
        grid: Lines behind the data.
        limit: Limits of the service level, and warnings.
        series: In the order of `wizard.texts.benchmark.chart.Chart.series`.
    """

    page: str
    ink: str
    muted: str
    grid: str
    limit: str
    series: tuple[str, ...]


LIGHT = Colors(
    page="#ffffff",
    ink="#18201b",
    muted="#4b574f",
    grid="#d5ddd8",
    limit="#a8201a",
    series=("#0b5a94", "#a64400", "#00694a", "#83348a", "#665700", "#3f4a55"),
)
DARK = Colors(
    page="#101613",
    ink="#e6ece8",
    muted="#a9b5ad",
    grid="#2e3a34",
    limit="#ff9d96",
    series=("#7cc4ff", "#ffb067", "#5fd6a8", "#f0a6ee", "#e6d36a", "#c8d0d8"),
)
ANY = Colors(
    page="",
    ink="currentColor",
    muted="currentColor",
    grid="rgba(127,127,127,.35)",
    limit="#d0504c",
    series=("#3b86c8", "#c4681c", "#1f9070", "#a866ae", "#8f7c10", "#7a8794"),
)
"""For notebooks: text has the page's color, and the rest is readable on light and dark."""


def variables(colors: Colors) -> str:
    """``colors`` as declarations of CSS variables, which `STYLED` uses."""
    named = {field.name: getattr(colors, field.name) for field in fields(colors) if field.name != "series"}
    named |= {f"series-{at}": color for at, color in enumerate(colors.series)}
    return "".join(f"--{name}:{color};" for name, color in named.items())


STYLED = Colors(
    page="var(--page)",
    ink="var(--ink)",
    muted="var(--muted)",
    grid="var(--grid)",
    limit="var(--limit)",
    series=tuple(f"var(--series-{at})" for at in range(6)),
)
"""For a page that declares them."""
