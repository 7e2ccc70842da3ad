"""Numbers and names of a report in words; what is unknown is called so, and is never 0."""

from __future__ import annotations

from math import isfinite

from wizard.advise.reasons import Note
from wizard.bench.load import Load, Point, ServiceLevel
from wizard.bench.measured import Interval, Measured, Method
from wizard.bench.report import Report
from wizard.kernel.language import mark, ntr, tr
from wizard.texts import advise

METHODS: dict[Method, str] = {
    "runs": mark("spread of the runs"),
    "batches": mark("spread of parts of the runs"),
    "none": mark("none: too few requests"),
}
"""What the intervals of a level come from."""
APIS = {"openai": mark("OpenAI-compatible, streaming"), "generate_stream": mark("Triton's generate_stream")}
KINDS = {
    "generated": mark("generated words"),
    "cnn": mark("articles from a JSON file"),
    "prompts": mark("prompts from a file"),
}
CHANGED = {
    "empty": mark("{count:,} empty rows skipped"),
    "too-long": mark("{count:,} rows skipped because they are too long"),
    "cut": mark("{count:,} rows shortened"),
}
"""What happened to rows of a file."""


SAME_LENGTH = 0.1
"""Relative difference up to which the length of prompts and answers counts as the estimated one."""


def unknown() -> str:
    """In place of an unknown value."""
    return tr("unknown")


def number(value: float | None) -> str:
    """About three significant digits, or all of those before the point: ``1,234``, ``12.5``, ``0.95``, ``0.0123``."""
    if value is None or not isfinite(value):
        return unknown()
    size = abs(value)
    if size >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 9.995 else f"{value:.2f}" if size >= 0.0995 or not size else f"{value:.3g}"


def share(value: float | None) -> str:
    """``97%``, ``99.5%``."""
    return unknown() if value is None or not isfinite(value) else f"{value * 100:.3g}%"


def interval(estimate: Interval | None) -> str:
    """``12.5 (12.0 to 13.0)``; without bounds, only the value."""
    if estimate is None:
        return unknown()
    return ranged(number(estimate.value), estimate.low, estimate.high)


def brief(estimate: Interval | None) -> str:
    """``775 ±4%``: the value and half the width of its interval."""
    if estimate is None:
        return unknown()
    if estimate.width is None or not isfinite(estimate.width):
        return number(estimate.value)
    percent = estimate.width * 100
    return f"{number(estimate.value)} ±{percent:,.0f}%" if percent >= 1 else f"{number(estimate.value)} ±{percent:.1f}%"


def interval_of_shares(estimate: Interval | None) -> str:
    """The same for shares."""
    if estimate is None:
        return unknown()
    if estimate.low is None or estimate.high is None:
        return share(estimate.value)
    return tr(
        "{value} ({low} to {high})", value=share(estimate.value), low=share(estimate.low), high=share(estimate.high)
    )


def ranged(value: str, low: float | None, high: float | None) -> str:
    """``value`` with its bounds, if both are known."""
    if low is None or high is None:
        return value
    return tr("{value} ({low} to {high})", value=value, low=number(low), high=number(high))


def level(point: Point) -> str:
    """A level of load: ``8 at once``, ``2.5/s``."""
    if point.concurrency is not None:
        return tr("{count:,} at once", count=point.concurrency)
    return unknown() if point.rate is None else tr("{rate:g}/s", rate=point.rate)


def short_level(point: Point) -> str:
    """A level of load for the label of a point: ``8``, ``2.5/s``."""
    if point.concurrency is not None:
        return f"{point.concurrency:,}"
    return "?" if point.rate is None else f"{point.rate:g}/s"


def level_id(point: Point) -> str:
    """The key of `Report.predicted`; empty for a point that is neither."""
    return point.id if point.concurrency is not None or point.rate is not None else ""


def title(report: Report) -> str:
    """The report's heading."""
    return tr("Benchmark of {model}", model=report.target.ref or report.target.model)


def runs(load: Load) -> str:
    """How long and how often each level was measured."""
    parts = []
    if load.requests is not None:
        parts.append(ntr("{count:,} request", "{count:,} requests", load.requests, count=load.requests))
    if load.seconds is not None:
        parts.append(tr("{seconds:g} s", seconds=load.seconds))
    each = tr("{amount} per run", amount=", ".join(parts)) if parts else unknown()
    warmup = ntr("{count:,} request to warm up", "{count:,} requests to warm up", load.warmup, count=load.warmup)
    repeats = ntr("{count} run of each level", "{count} runs of each level", load.repeats, count=load.repeats)
    return f"{each}, {warmup}, {repeats}"


def service_level(level: ServiceLevel) -> str:
    """The limits; that there is none, if so."""
    parts = []
    if level.ttft_ms is not None:
        parts.append(tr("time to first token at most {ms} ms", ms=number(level.ttft_ms)))
    if level.tpot_ms is not None:
        parts.append(tr("time between tokens at most {ms} ms", ms=number(level.tpot_ms)))
    return ", ".join(parts) or tr("none")


def method(point: Measured) -> str:
    """What its intervals come from."""
    return tr(METHODS[point.method])


def other_lengths(report: Report) -> str:
    """That prompts and answers had other lengths than those that were estimated for; empty if they did not."""
    for point in report.points:
        speed = report.predicted.get(level_id(point.point))
        if speed is None or not speed.isl or not speed.osl or not point.input_tokens or not point.output_tokens:
            continue
        pairs = ((point.input_tokens, speed.isl), (point.output_tokens, speed.osl))
        if any(abs(measured / estimated - 1) > SAME_LENGTH for measured, estimated in pairs):
            return tr(
                "The estimate is for {isl:,} tokens in and {osl:,} out; measured were {input} and {output} on average.",
                isl=speed.isl,
                osl=speed.osl,
                input=number(point.input_tokens),
                output=number(point.output_tokens),
            )
    return ""


def missing(report: Report) -> tuple[Point, ...]:
    """Levels that were not reached."""
    reached = [each.point for each in report.points]
    return tuple(point for point in report.load.points if point not in reached)


def partial(report: Report) -> str:
    """Why the report is incomplete, as a sentence; empty if it is complete."""
    if not report.partial:
        return ""
    if report.partial == "stopped":
        why = tr("This report is partial: the benchmark was stopped.")
    else:
        why = tr("This report is partial: the benchmark ended with error {code}.", code=report.partial)
    left = ", ".join(map(level, missing(report)))
    return f"{why} {tr('Not measured: {levels}.', levels=left)}" if left else why


def warnings(report: Report) -> tuple[str, ...]:
    """What makes the figures doubtful: of the report, and of levels, the same sentence only once."""
    where: dict[str, list[str]] = {}
    for point in report.points:
        for each in point.warnings:
            where.setdefault(warning(each), []).append(level(point.point))
    levels = (tr("{levels}: {warning}", levels=", ".join(names), warning=sentence) for sentence, names in where.items())
    return (*map(warning, report.warnings), *levels)


def warning(note: Note) -> str:
    """A warning's sentence, or its code if this version does not know it, or if parameters are missing."""
    try:
        return advise.note(note)
    except (LookupError, ValueError, TypeError, AttributeError):
        return note.code


def task(name: str, filtered: str) -> str:
    """A task of lm_eval, with how the answer was taken from the text if that is not the only way."""
    return name if filtered in ("none", "answer", "") else f"{name}, {filtered}"


def points(value: Interval) -> str:
    """A difference of shares in percentage points."""
    if value.low is None or value.high is None:
        return f"{value.value * 100:+.1f}"
    low, high = f"{value.low * 100:+.1f}", f"{value.high * 100:+.1f}"
    return tr("{value} ({low} to {high})", value=f"{value.value * 100:+.1f}", low=low, high=high)
