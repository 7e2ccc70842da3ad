"""The result of a comparison of two models in words, shared by all interfaces."""

from __future__ import annotations

from wizard.chat import report
from wizard.chat.race import LaneResult, RaceResult
from wizard.kernel.language import mark, tr

ABOUT_EQUAL_S = 0.001
"""Seconds between two first tokens up to which neither was first: a clock on the client side tells no more."""
UNKNOWN = "–"
"""What was not measured."""
INCOMPLETE = {
    "stopped": mark("{name} was stopped"),
    "failed": mark("{name} failed ({error})"),
    "not_asked": mark("{name} was not queried"),
}
"""Outcome → why there is nothing to compare."""


def time(seconds: float | None) -> str:
    """``59 ms``, ``2.0 s``."""
    return UNKNOWN if seconds is None else report.short(seconds)


def rate(value: float | None, *, estimated: bool) -> str:
    """``94.0``, ``≈ 42.0``."""
    return UNKNOWN if value is None else f"≈ {value:.1f}" if estimated else f"{value:.1f}"


def count(tokens: int | None, pieces: int | None) -> str:
    """``1,024``, ``≈ 981``."""
    if tokens is None:
        return UNKNOWN if pieces is None else f"≈ {pieces:,}"
    return f"{tokens:,}"


def verdict(result: RaceResult) -> list[str]:
    """Which one is faster, and which one began sooner; the most important first."""
    incomplete = [_incomplete(lane) for lane in result.lanes if lane.outcome != "complete"]
    if incomplete:
        return [tr("No comparison: {reasons}.", reasons=", ".join(incomplete))]
    if result.verdict.ratio is None:
        totals = (tr("{name}: {time} in total", name=lane.name, time=time(lane.total_s)) for lane in result.lanes)
        return [" · ".join(totals), *_sooner(result)]
    return [_faster(result), *_sooner(result)]


def _incomplete(lane: LaneResult) -> str:
    return tr(INCOMPLETE[lane.outcome], name=lane.name, error=lane.error)


def _faster(result: RaceResult) -> str:
    fast, slow = sorted(result.lanes, key=lambda lane: lane.rate or 0.0, reverse=True)
    rates = {"rate": rate(fast.rate, estimated=fast.estimated), "least": rate(slow.rate, estimated=slow.estimated)}
    if result.verdict.faster is None:
        return tr("Both are about equally fast: {rate} and {least} tokens/s", **rates)
    times = f"{'≈ ' if result.verdict.estimated else ''}{result.verdict.ratio:.1f}"
    return tr(
        "{fast} is {times}× as fast as {slow}: {rate} vs. {least} tokens/s",
        fast=fast.name,
        slow=slow.name,
        times=times,
        **rates,
    )


def _sooner(result: RaceResult) -> list[str]:
    by = result.verdict.first_by_s
    if by is None:
        return []
    if by < ABOUT_EQUAL_S:
        return [tr("both began at the same time")]
    return [tr("{name} began {time} sooner", name=result.verdict.first, time=time(by))]


def notes(result: RaceResult) -> list[str]:
    """What the figures do not say by themselves."""
    remarks = [_together(result), _short(result)]
    for lane in result.lanes:
        if lane.outcome == "complete" and lane.ttft_s is None:
            remarks.append(tr("{name} sent no text.", name=lane.name))
        if lane.estimated:
            remarks.append(tr("≈ {name} does not count its tokens: pieces of its stream are counted.", name=lane.name))
        if lane.thought_s is not None and lane.answer_s is not None:
            after = time(lane.answer_s)
            remarks.append(
                tr("{name} thought first and answered after {time}; thinking counts.", name=lane.name, time=after)
            )
        elif lane.thought_only:
            remarks.append(tr("{name} only thought and gave no answer; thinking counts.", name=lane.name))
        if lane.finish == "length":
            remarks.append(tr("{name} was cut off at max_tokens.", name=lane.name))
    return list(filter(None, remarks))


def _short(result: RaceResult) -> str:
    names = [lane.name for lane in result.lanes if lane.outcome == "complete" and lane.ttft_s and not lane.comparable]
    least = time(report.COMPARABLE_S)
    if len(names) == len(result.lanes):
        return tr("Both wrote for less than {time}: too short to compare speeds.", time=least)
    return (
        tr("{name} wrote for less than {time}: too short to compare speeds.", name=names[0], time=least)
        if names
        else ""
    )


def _together(result: RaceResult) -> str:
    if result.shared:
        return tr("Both answered at once and shared the machine.")
    if result.order == "turns":
        return tr("They answered one after the other.")
    return ""


def spoken(result: RaceResult) -> str:
    """Verdict and notes as lines of text."""
    return "\n".join([*verdict(result), *notes(result)])
