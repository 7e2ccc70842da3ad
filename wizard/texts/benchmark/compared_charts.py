"""The charts of a comparison. Pure."""

from __future__ import annotations

from wizard.bench.comparison import Comparison, Figure, value_of
from wizard.bench.load import Point
from wizard.bench.measured import Interval
from wizard.kernel.language import mark, tr
from wizard.texts.benchmark import intervals, scale, words
from wizard.texts.benchmark.chart import MOST_SERIES, Axis, Chart, Dot, LeftOut, Limit, Series, axis
from wizard.texts.benchmark.charts import bound, bounds, dot
from wizard.texts.benchmark.compared import levels
from wizard.texts.benchmark.scale import Scale, drawable

BY_LEVEL: dict[Figure, tuple[str, str, str]] = {
    "tokens_per_s": (
        "compared-throughput",
        mark("Throughput by load"),
        mark("Output tokens/s"),
    ),
    "ttft_ms": (
        "compared-first-token",
        mark("Time to first token by load"),
        mark("Time to first token (ms)"),
    ),
    "tpot_ms": (
        "compared-between-tokens",
        mark("Time between tokens by load"),
        mark("Time between tokens (ms)"),
    ),
}
"""Figure → ID and title of its chart, and its axis."""
RATIOS: dict[Figure, tuple[str, str]] = {
    "tokens_per_s": ("ratio-throughput", mark("Ratio of throughput")),
    "ttft_ms": ("ratio-first-token", mark("Ratio of time to first token")),
}


def charts(comparison: Comparison) -> tuple[Chart | LeftOut, ...]:
    """Ratios to the first server; throughput and latency of each."""
    return (
        *(_ratios(comparison, figure) for figure in RATIOS if comparison.ratios),
        *(_by_level(comparison, figure) for figure in BY_LEVEL),
        _against(comparison),
    )


def _ratios(comparison: Comparison, figure: Figure) -> Chart | LeftOut:
    """The ratios of a figure, a row for each level of load."""
    id, title = RATIOS[figure]
    shown = [each for each in comparison.ratios if each.figure == figure and drawable(each.value.value)]
    if not shown:
        return LeftOut(id, tr(title), tr("No level has both values."))
    first = comparison.names[0]
    return intervals.chart(
        id,
        tr(title),
        tr("Value ÷ that of {first}. Bars are 95% intervals.", first=first),
        axis(tr("times {first}", first=first), scale.suited([*intervals.ends([each.value for each in shown]), 1.0])),
        tr("Level of load"),
        [
            intervals.Place(
                words.level(each.point),
                comparison.names[each.server],
                each.value,
                tr(
                    "{level}, {name}: {times} times {first}.",
                    level=words.level(each.point),
                    name=comparison.names[each.server],
                    times=words.interval(each.value),
                    first=first,
                ),
            )
            for each in shown
            if each.server < MOST_SERIES
        ],
        [Limit(1.0, tr("no difference"))],
    )


def _by_level(comparison: Comparison, figure: Figure) -> Chart | LeftOut:
    """A figure of each server by level of load; of times, the median."""
    id, heading, unit = BY_LEVEL[figure]
    drawn: list[tuple[Point, int, Interval]] = [
        (point, at, value)
        for point, at, _, each in levels(comparison)
        if at < MOST_SERIES and (value := value_of(each, figure)) and drawable(value.value)
    ]
    if not drawn:
        return LeftOut(id, tr(heading), tr("No level has this value."))
    points = [*dict.fromkeys(point for point, _, _ in drawn)]
    named = tuple((float(at), words.short_level(point)) for at, point in enumerate(points))
    rate = figure == "tokens_per_s"
    text = mark("{level}, {name}: {value} tokens/s.") if rate else mark("{level}, {name}: {value} ms.")
    return Chart(
        id,
        tr(heading),
        tr("Bars are 95% intervals.") if rate else tr("Medians. Bars are 95% intervals."),
        Axis(tr("Level of load"), Scale(-0.5, len(points) - 0.5), named),
        axis(tr(unit), scale.linear([end for _, _, value in drawn for end in bounds(value)])),
        tuple(
            Series(
                comparison.names[server],
                tuple(
                    Dot(float(points.index(point)), value.value, y_low=bound(value.low), y_high=bound(value.high))
                    for point, at, value in drawn
                    if at == server
                ),
            )
            for server in dict.fromkeys(at for _, at, _ in drawn)
        ),
        (),
        tuple(
            tr(text, level=words.level(point), name=comparison.names[at], value=words.interval(value))
            for point, at, value in drawn
        ),
    )


def _against(comparison: Comparison) -> Chart | LeftOut:
    heading = tr("Throughput and time to first token")
    drawn = [
        (point, at, each.tokens_per_s, each.ttft_ms.p50)
        for point, at, _, each in levels(comparison)
        if at < MOST_SERIES and each.tokens_per_s and each.ttft_ms
    ]
    drawn = [each for each in drawn if drawable(each[2].value) and drawable(each[3].value)]
    if not drawn:
        return LeftOut("compared-ttft", heading, tr("No level has both values."))
    return Chart(
        "compared-ttft",
        heading,
        tr("Each point is a level of load, with its concurrency or rate. Bars are 95% intervals."),
        axis(tr("Time to first token (ms)"), scale.suited([end for *_, wait in drawn for end in bounds(wait)])),
        axis(tr("Output tokens/s"), scale.linear([end for _, _, rate, _ in drawn for end in bounds(rate)])),
        tuple(
            Series(
                comparison.names[server],
                tuple(dot(wait, rate, point) for point, at, rate, wait in drawn if at == server),
            )
            for server in dict.fromkeys(at for _, at, _, _ in drawn)
        ),
        (),
        tuple(
            tr(
                "{level}, {name}: {rate} tokens/s, median {wait} ms.",
                level=words.level(point),
                name=comparison.names[at],
                rate=words.interval(rate),
                wait=words.interval(wait),
            )
            for point, at, rate, wait in drawn
        ),
    )
