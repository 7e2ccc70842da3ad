"""The steady part of a run: what is counted. Pure.

A closed loop begins with a ramp, or with all its requests at the same moment, a burst that no later moment has, and
ends with fewer and fewer. With `LONG` times as many requests as run at once, the steady part begins when the first
`Point.concurrency` requests have started and nearly as many run as ever (`FULL`), and ends when the last request
starts; with fewer requests, all of the run counts. An open loop's steady part begins with the first request. Tokens of
requests that are running at either end count by the share of their time inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from wizard.bench.run import Request, Run

LONG = 4
"""Times the concurrency: the number of requests from which on the burst and the end are left out."""

FULL = 0.95
"""Share of the most requests that ever ran at once that counts as full."""


@dataclass(frozen=True, slots=True)
class Steady:
    """The steady part of a run.

    Attributes:
        requests: Those that started in it, by start, failed ones included.
        overlapping: Those that were running at some moment of it.
        start_s: Its begin.
        end_s: Its end.
    """

    requests: tuple[Request, ...]
    overlapping: tuple[Request, ...]
    start_s: float
    end_s: float

    @property
    def seconds(self) -> float:
        """Its length."""
        return self.end_s - self.start_s

    def part(self, first: float, last: float) -> Steady:
        """Its part from ``first`` to ``last``, shares of its length."""
        start, end = self.start_s + first * self.seconds, self.start_s + last * self.seconds
        inside = tuple(each for each in self.requests if start <= each.start_s < end)
        return Steady(inside, _overlapping(self.overlapping, start, end), start, end)


def steady(run: Run) -> Steady | None:
    """The steady part of ``run``; None if it has no requests, or if they took no time."""
    ordered = sorted(run.requests, key=lambda each: each.start_s)
    if not ordered:
        return None
    burst = run.point.concurrency or 0
    counted = ordered
    if burst and len(ordered) >= LONG * burst:
        full = max(_full(ordered), ordered[burst].start_s)
        counted = [each for each in ordered if each.start_s >= full] or ordered
    start, end = counted[0].start_s, counted[-1].start_s
    if (counted is ordered and burst) or end <= start:
        counted, start, end = ordered, ordered[0].start_s, max(each.end_s for each in ordered)
    if end <= start:
        return None
    return Steady(tuple(counted), _overlapping(run.requests, start, end), start, end)


def _full(requests: Sequence[Request]) -> float:
    """When nearly as many requests as ever ran at once for the first time."""
    edges = sorted((time, step) for each in requests for time, step in ((each.start_s, 1), (each.end_s, -1)))
    running = list(accumulate(step for _, step in edges))
    most = FULL * max(running)
    return next(time for (time, _), count in zip(edges, running, strict=True) if count >= most)


def _overlapping(requests: Sequence[Request], start: float, end: float) -> tuple[Request, ...]:
    return tuple(each for each in requests if each.start_s < end and each.end_s >= start)


def tokens(part: Steady) -> float:
    """Output tokens that arrived in it: the first at its time, the others evenly until the last."""
    return sum(_tokens(each, part.start_s, part.end_s) for each in part.overlapping)


def _tokens(request: Request, start: float, end: float) -> float:
    if request.error or request.ttft_ms is None or not request.output_tokens:
        return 0.0
    first = request.start_s + request.ttft_ms / 1000
    last = request.start_s + (request.latency_ms or request.ttft_ms) / 1000
    alone = float(start <= first < end)
    if last <= first:
        return alone * request.output_tokens
    inside = max(0.0, min(last, end) - max(first, start))
    return alone + (request.output_tokens - 1) * inside / (last - first)


def ended(part: Steady) -> list[Request]:
    """Requests that succeeded and ended in it."""
    return [each for each in part.overlapping if not each.error and part.start_s < each.end_s <= part.end_s]


def in_flight(part: Steady) -> float:
    """Mean number of requests that were running."""
    busy = sum(min(each.end_s, part.end_s) - max(each.start_s, part.start_s) for each in part.overlapping)
    return busy / part.seconds
