"""The charts of a report. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from wizard.advise.advice import Speed
from wizard.bench.load import Point
from wizard.bench.measured import Interval, Measured, Spread
from wizard.bench.report import Report
from wizard.bench.run import Run
from wizard.bench.timeline import tokens_per_s
from wizard.kernel.language import tr
from wizard.texts.benchmark import scale, words
from wizard.texts.benchmark.chart import MOST_SERIES, Axis, Chart, Dot, LeftOut, Limit, Series, axis
from wizard.texts.benchmark.scale import Scale, drawable
from wizard.texts.benchmark.words import number

T = TypeVar("T")
BINS = 60
"""About so many points in time."""
BESIDE = 0.08
"""Distance of a prediction from its measurement, in levels."""


def charts(report: Report, runs: Sequence[Run] = ()) -> tuple[Chart | LeftOut, ...]:
    """All charts of ``report``; ``runs`` are the files beside it, or none."""
    return (
        _against(report, "ttft"),
        _against(report, "tpot"),
        _distribution(report),
        *_predicted(report),
        _over_time(report, runs),
    )


def _spread(point: Measured, metric: str) -> Spread | None:
    return point.ttft_ms if metric == "ttft" else point.tpot_ms


def _metric(metric: str) -> str:
    return tr("Time to first token (ms)") if metric == "ttft" else tr("Time between tokens (ms)")


# -- throughput against latency ----------------------------------------------------------------------------------------


def _against(report: Report, metric: str) -> Chart | LeftOut:
    """Throughput against the median and the 99th percentile of a latency."""
    title = (
        tr("Throughput and time to first token") if metric == "ttft" else tr("Throughput and time between tokens")
    )  # fmt: skip
    entries = [
        (point, point.tokens_per_s, spread)
        for point in report.points
        if point.tokens_per_s and (spread := _spread(point, metric)) and _drawn(point.tokens_per_s, spread)
    ]
    if not entries:
        return LeftOut(f"throughput-{metric}", title, tr("No level has both values."))
    limit = report.level.ttft_ms if metric == "ttft" else report.level.tpot_ms
    limits = _limits(limit)
    across = [end for _, _, spread in entries for each in (spread.p50, spread.p99) for end in bounds(each)]
    across += [limit.x for limit in limits]
    up = [end for _, rate, _ in entries for end in bounds(rate)]
    return Chart(
        f"throughput-{metric}",
        title,
        tr("Each point is a level of load, with its concurrency or rate. Bars are 95% intervals."),
        axis(_metric(metric), scale.suited(across)),
        axis(tr("Output tokens/s"), scale.linear(up)),
        (
            Series(tr("median"), tuple(dot(spread.p50, rate, point.point) for point, rate, spread in entries)),
            Series(tr("99th percentile"), tuple(dot(spread.p99, rate) for _, rate, spread in entries)),
        ),
        limits,
        tuple(
            tr(
                "{level}: {rate} tokens/s, median {p50} ms, 99th percentile {p99} ms.",
                level=words.level(point.point),
                rate=words.interval(rate),
                p50=words.interval(spread.p50),
                p99=words.interval(spread.p99),
            )
            for point, rate, spread in entries
        ),
    )


def _drawn(rate: Interval, spread: Spread) -> bool:
    return drawable(rate.value) and drawable(spread.p50.value) and drawable(spread.p99.value)


def dot(x: Interval, y: Interval, point: Point | None = None) -> Dot:
    """A point with both intervals, named after its level of load."""
    label = words.short_level(point) if point else ""
    return Dot(x.value, y.value, label, bound(x.low), bound(x.high), bound(y.low), bound(y.high))


def bound(value: float | None) -> float | None:
    """A bound that can be placed; below 0 there is nothing."""
    return None if value is None else max(value, 0.0) if drawable(max(value, 0.0)) else None


def bounds(value: Interval) -> list[float]:
    """The value and its bounds, as far as they can be placed: an axis has room for them."""
    return [end for end in (value.value, bound(value.low), bound(value.high)) if end is not None]


def _limits(limit: float | None) -> tuple[Limit, ...]:
    if limit is None or not drawable(limit):
        return ()
    return (Limit(limit, tr("service level: {ms} ms", ms=number(limit))),)


# -- distribution ------------------------------------------------------------------------------------------------------


def _distribution(report: Report) -> Chart | LeftOut:
    """Share of requests by time to first token."""
    title = tr("Distribution of time to first token")
    entries = [
        (point, point.ttft_ms)
        for point in report.points
        if point.ttft_ms and len(point.ttft_ms.quantiles) > 1 and all(map(drawable, point.ttft_ms.quantiles))
    ]
    if not entries:
        return LeftOut("ttft", title, tr("No level has a distribution."))
    drawn, limits = _some(entries), _limits(report.level.ttft_ms)
    about = tr("How many requests had their first token within a time. A steep line means an even wait.")
    values = [value for _, spread in drawn for value in spread.quantiles] + [limit.x for limit in limits]
    return Chart(
        "ttft",
        title,
        f"{about}{_which(len(drawn), len(entries))}",
        axis(tr("Time to first token (ms)"), scale.suited(values)),
        axis(tr("Requests"), Scale(0.0, 100.0), 5, unit="%"),
        tuple(Series(words.level(point.point), _steps(spread.quantiles), marked=False) for point, spread in drawn),
        limits,
        tuple(
            tr(
                "{level}: from {least} to {most} ms; half of the requests within {p50} ms, 90% within {p90} ms.",
                level=words.level(point.point),
                least=number(spread.quantiles[0]),
                most=number(spread.quantiles[-1]),
                p50=number(spread.p50.value),
                p90=number(spread.p90.value),
            )
            for point, spread in drawn
        ),
    )


def _steps(quantiles: Sequence[float]) -> tuple[Dot, ...]:
    last = len(quantiles) - 1
    return tuple(Dot(value, 100 * at / last) for at, value in enumerate(quantiles))


def _some(all_of_them: Sequence[T]) -> list[T]:
    """At most `MOST_SERIES`, the first and the last among them."""
    count = len(all_of_them)
    if count <= MOST_SERIES:
        return [*all_of_them]
    return [all_of_them[round(at * (count - 1) / (MOST_SERIES - 1))] for at in range(MOST_SERIES)]


def _which(drawn: int, levels: int) -> str:
    """That not all levels are drawn, as a further sentence."""
    if drawn == levels:
        return ""
    return " " + tr("{drawn} of {all} levels are drawn; the tables have all.", drawn=drawn, all=levels)


# -- predicted and measured --------------------------------------------------------------------------------------------


def _predicted(report: Report) -> tuple[Chart | LeftOut, ...]:
    """The wizard's estimates and what was measured."""
    throughput = _compared(
        report,
        "predicted-throughput",
        tr("Throughput: predicted and measured"),
        tr("Output tokens/s"),
        lambda speed: _estimate(speed.throughput_tokens_per_s),
        lambda point: point.tokens_per_s,
    )
    pace = _compared(
        report,
        "predicted-tpot",
        tr("Time between tokens: predicted and measured"),
        tr("Time between tokens (ms)"),
        lambda speed: _estimate(speed.tpot_ms, speed.low, speed.high),
        lambda point: point.tpot_ms.mean if point.tpot_ms else None,
    )
    entries = tuple(each for each in (throughput, pace) if each)
    why = tr("The wizard had no estimate for this server under this load.")
    return entries or (LeftOut("predicted", tr("Predicted and measured"), why),)


def _estimate(value: float | None, low: float | None = None, high: float | None = None) -> Interval | None:
    return None if value is None else Interval(value, low, high)


def _compared(
    report: Report,
    name: str,
    title: str,
    unit: str,
    expected: Callable[[Speed], Interval | None],
    measured: Callable[[Measured], Interval | None],
) -> Chart | None:
    """A chart of one of them; None without a level that has both."""
    entries = [
        (point, before, after)
        for point in report.points
        if (speed := report.predicted.get(words.level_id(point.point)))
        and (before := expected(speed))
        and (after := measured(point))
        and drawable(before.value)
        and drawable(after.value)
    ]
    if not entries:
        return None
    values = [end for _, *both in entries for each in both for end in bounds(each)]
    about = tr("Bars at predictions are the estimate's own range; bars at measurements are 95% intervals.")
    levels = tuple((float(at), words.short_level(point.point)) for at, (point, *_) in enumerate(entries))
    return Chart(
        name,
        title,
        " ".join(filter(None, (about, words.other_lengths(report)))),
        Axis(tr("Level of load"), Scale(-0.5, len(entries) - 0.5), levels),
        axis(unit, scale.linear(values)),
        (
            Series(tr("predicted"), tuple(_at(at - BESIDE, before) for at, (_, before, _) in enumerate(entries))),
            Series(tr("measured"), tuple(_at(at + BESIDE, after) for at, (_, _, after) in enumerate(entries))),
        ),
        (),
        tuple(
            tr(
                "{level}: predicted {before}, measured {after}.",
                level=words.level(point.point),
                before=words.interval(before),
                after=words.interval(after),
            )
            for point, before, after in entries
        ),
    )


def _at(x: float, value: Interval) -> Dot:
    return Dot(x, value.value, y_low=bound(value.low), y_high=bound(value.high))


# -- over time ---------------------------------------------------------------------------------------------------------


def _over_time(report: Report, runs: Sequence[Run]) -> Chart | LeftOut:
    """Output tokens per second during the first run of each level."""
    title = tr("Output tokens/s over time")
    if not runs:
        return LeftOut("time", title, tr("The files of the runs are not beside the report."))
    firsts: dict[str, Run] = {}
    for run in sorted(runs, key=lambda run: run.number):
        if all(drawable(request.end_s) for request in run.requests) and run.requests:
            firsts.setdefault(words.level(run.point), run)
    order = [words.level(point) for point in report.load.points]
    named = sorted(firsts.items(), key=lambda item: order.index(item[0]) if item[0] in order else len(order))
    longest = max((request.end_s for _, run in named for request in run.requests), default=0.0)
    wide = scale.round_up(max(longest / BINS, 0.1))
    entries = [(name, rates) for name, run in named if (rates := tokens_per_s(run, wide))]
    if not entries:
        return LeftOut("time", title, tr("The server counted no tokens."))
    drawn = _some(entries)
    about = tr(
        "The first run of each level, in steps of {seconds} s. The tokens of a request are spread evenly between its "
        "first and its last.",
        seconds=number(wide),
    )
    return Chart(
        "time",
        title,
        f"{about}{_which(len(drawn), len(entries))}",
        axis(tr("Seconds since the first request"), scale.linear([len(rates) * wide for _, rates in drawn])),
        axis(tr("Output tokens/s"), scale.linear([rate for _, rates in drawn for rate in rates])),
        tuple(
            Series(name, tuple(Dot((at + 0.5) * wide, rate) for at, rate in enumerate(rates)), marked=False)
            for name, rates in drawn
        ),
        (),
        tuple(
            tr(
                "{level}: from {least} to {most} tokens/s.",
                level=name,
                least=number(min(rates)),
                most=number(max(rates)),
            )
            for name, rates in drawn
        ),
    )
