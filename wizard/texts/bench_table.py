"""A benchmark's report as text: a table with a row for each level of load, and the warnings."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from wizard.bench.load import Point
from wizard.bench.measured import Interval, Measured, Spread
from wizard.bench.report import Report
from wizard.kernel.language import ntr, tr
from wizard.kernel.text import table
from wizard.texts.advise import note

WIDEST = 0.995
"""Half of an interval's width, as a share, from which on it says nothing."""


def title(report: Report) -> str:
    """What was measured, in a line."""
    target = report.target
    server = f"{target.name} ({target.stack})" if target.stack else target.name
    prompts = report.dataset
    source = prompts.path or tr("generated prompts")
    return tr("{server}: {source}, answers of up to {tokens} tokens", server=server, source=source, tokens=prompts.osl)


def text(report: Report, fit: Callable[[str], str] = str) -> str:
    """The table with its explanation, and the warnings below; ``fit`` wraps a sentence."""
    rows = [header(report), *(row(point, report) for point in report.points)]
    parts = [fit(title(report)), "", table(rows), "", *map(fit, (legend(report), *warnings(report)))]
    return "\n".join(parts)


def header(report: Report) -> tuple[str, ...]:
    """The columns' names."""
    good = (tr("good"),) if report.level.given else ()
    return (
        tr("load"),
        tr("tokens/s"),
        tr("req/s"),
        tr("first token"),
        tr("p99"),
        tr("per token"),
        tr("answer"),
        *good,
        tr("failed"),
    )


def row(point: Measured, report: Report) -> tuple[str, ...]:
    """The row of a level of load: medians, times in ms, and half the width of the 95% interval."""
    good = (_share(point.good),) if report.level.given else ()
    failed = sum(point.errors.values())
    return (
        load(point.point),
        interval(point.tokens_per_s),
        number(point.requests_per_s.value if point.requests_per_s else None),
        _median(point.ttft_ms),
        _p99(point.ttft_ms),
        _median(point.tpot_ms),
        number(point.latency_ms.p50.value if point.latency_ms else None),
        *good,
        f"{failed}/{point.sent}" if failed else "0",
    )


def load(point: Point) -> str:
    """``8 at once``, ``2.5/s``."""
    if point.concurrency is None:
        return f"{point.rate:g}/s"
    return tr("{count} at once", count=point.concurrency)


def legend(report: Report) -> str:
    """What the columns mean."""
    methods = {point.method for point in report.points}
    runs = report.load.repeats
    how = (
        ntr("over {count} run", "over {count} runs", runs, count=runs)
        if methods == {"runs"}
        else tr("within the runs; differences between runs are not included")
    )
    text = tr("Medians; times in ms. ± is half of the 95% interval, {how}.", how=how)
    limits = [
        tr("first token ≤ {ms:g} ms", ms=report.level.ttft_ms) if report.level.ttft_ms else "",
        tr("per token ≤ {ms:g} ms", ms=report.level.tpot_ms) if report.level.tpot_ms else "",
    ]
    if report.level.given:
        text += " " + tr("Good: {limits}.", limits=", ".join(filter(None, limits)))
    return text


def warnings(report: Report) -> Iterator[str]:
    """The warnings: those of the report, then those of each level of load; the same one only once."""
    for each in report.warnings:
        yield f"! {note(each)}"
    if report.partial:
        yield "! " + tr("Incomplete ({why}): not all levels or runs were measured.", why=report.partial)
    sentences: dict[str, list[str]] = {}
    for point in report.points:
        for each in point.warnings:
            sentences.setdefault(note(each), []).append(load(point.point))
    for sentence, where in sentences.items():
        yield f"! {', '.join(where)}: {sentence}"


def interval(value: Interval | None) -> str:
    """``226 ±5%``."""
    if value is None:
        return "–"
    width = value.width
    if width is None:
        return number(value.value)
    return f"{number(value.value)} ±{100 * width:.0f}%" if width < WIDEST else f"{number(value.value)} ±>99%"


def number(value: float | None) -> str:
    """Three digits that count."""
    if value is None:
        return "–"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.1 else f"{value:.1g}"


def _median(spread: Spread | None) -> str:
    return interval(spread.p50 if spread else None)


def _p99(spread: Spread | None) -> str:
    return number(spread.p99.value) if spread else "–"


def _share(value: Interval | None) -> str:
    return f"{100 * value.value:.0f}%" if value else "–"
