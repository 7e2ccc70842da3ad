"""From runs to what was measured at a level of load. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from wizard.bench import statistics, steady, warnings
from wizard.bench.load import Point, ServiceLevel
from wizard.bench.measured import GpuUse, Interval, Measured, Method
from wizard.bench.report import Target
from wizard.bench.run import GpuSample, Request, Run, Sample
from wizard.bench.steady import Steady


def derived(runs: Sequence[Run], level: ServiceLevel, target: Target, cores: int) -> Measured:
    """What the ``runs`` of a level of load say.

    Args:
        runs: At least one, all at the same level.
        level: What a request must keep to count as good.
        target: What was measured.
        cores: Processor cores of this machine, for the warnings.
    """
    parts = [part for run in runs if (part := steady.steady(run))]
    timed, method = _timed(parts)
    measured = _rates(runs[0].point, runs, parts, timed, method)
    measured = _latencies(measured, parts)
    if level.given:
        measured = _goodput(measured, parts, timed, level)
    measured = _beside(measured, runs, parts)
    return replace(measured, warnings=tuple(warnings.of(measured, runs, target, cores)))


def _timed(parts: Sequence[Steady]) -> tuple[list[Steady], Method]:
    """The steady parts, or parts of them, that are compared with one another; see `wizard.bench.statistics`."""
    if len(parts) >= statistics.ENOUGH_RUNS:
        return list(parts), "runs"
    if not parts:
        return [], "none"
    each = min(statistics.BATCHES // len(parts), *(len(part.requests) for part in parts))
    pieces = [part.part(at / each, (at + 1) / each) for part in parts for at in range(each)] if each else []
    return pieces, "batches" if len(pieces) >= statistics.FEWEST else "none"


def _rates(
    point: Point, runs: Sequence[Run], parts: Sequence[Steady], timed: Sequence[Steady], method: Method
) -> Measured:
    everything = [request for run in runs for request in run.requests]
    seconds = sum(part.seconds for part in parts)
    measured = Measured(
        point=point,
        runs=tuple(run.id for run in runs),
        method=method,
        requests=sum(len(part.requests) for part in parts),
        errors=dict(Counter(each.error for each in everything if each.error).most_common()),
        sent=len(everything),
        seconds=seconds,
    )
    if not seconds:
        return measured
    return replace(
        measured,
        in_flight=sum(steady.in_flight(part) * part.seconds for part in parts) / seconds,
        tokens_per_s=_rate(parts, timed, steady.tokens) if any(each.output_tokens for each in everything) else None,
        requests_per_s=_rate(parts, timed, lambda part: len(steady.ended(part))),
    )


def _rate(parts: Sequence[Steady], timed: Sequence[Steady], count: Callable[[Steady], float]) -> Interval:
    """Of what ``count`` counts, per second."""
    whole = sum(count(part) for part in parts) / sum(part.seconds for part in parts)
    return statistics.of_means([count(part) / part.seconds for part in timed], whole)


def _latencies(measured: Measured, parts: Sequence[Steady]) -> Measured:
    good = [[each for each in part.requests if not each.error] for part in parts]

    def values(value: Callable[[Request], float | None]) -> list[list[float]]:
        return [[number for each in part if (number := value(each)) is not None] for part in good]

    return replace(
        measured,
        ttft_ms=statistics.spread(values(lambda each: each.ttft_ms)),
        tpot_ms=statistics.spread(values(lambda each: each.tpot_ms)),
        latency_ms=statistics.spread(values(lambda each: each.latency_ms)),
        input_tokens=_mean(values(lambda each: each.input_tokens)),
        output_tokens=_mean(values(lambda each: each.output_tokens)),
    )


def _mean(values: Iterable[Iterable[float]]) -> float | None:
    flat = [value for part in values for value in part]
    return statistics.mean(flat) if flat else None


def is_good(request: Request, level: ServiceLevel) -> bool:
    """Whether ``request`` kept ``level``; a request of one token has no time between tokens to keep."""
    if request.error or request.ttft_ms is None:
        return False
    tpot = request.tpot_ms
    return (level.ttft_ms is None or request.ttft_ms <= level.ttft_ms) and (
        level.tpot_ms is None or tpot is None or tpot <= level.tpot_ms
    )


def _goodput(measured: Measured, parts: Sequence[Steady], timed: Sequence[Steady], level: ServiceLevel) -> Measured:
    groups = statistics.groups([[float(is_good(each, level)) for each in part.requests] for part in parts])
    if not groups.values or not measured.seconds:
        return measured
    shares = [statistics.mean(group) for group in groups.values]
    everything = statistics.mean([value for group in groups.values for value in group])
    share = statistics.of_means(shares, everything)
    kept = replace(share, high=None if share.high is None else min(1.0, share.high))
    rate = _rate(parts, timed, lambda part: sum(is_good(each, level) for each in steady.ended(part)))
    return replace(measured, good=kept, good_per_s=rate)


def _beside(measured: Measured, runs: Sequence[Run], parts: Sequence[Steady]) -> Measured:
    """With what was sampled during the steady parts."""
    samples = [
        sample
        for run, part in zip((run for run in runs if steady.steady(run)), parts, strict=True)
        for sample in run.samples
        if part.start_s <= sample.at_s <= part.end_s
    ]
    gpus = tuple(_use(index, samples) for index in sorted({gpu.index for each in samples for gpu in each.gpus}))
    power = [gpu.power_watts for gpu in gpus]
    rate = measured.tokens_per_s.value if measured.tokens_per_s else 0.0
    known = [watts for watts in power if watts is not None]
    return replace(
        measured,
        gpus=gpus,
        memory_bytes=max((each.server_memory_bytes for each in samples if each.server_memory_bytes), default=None),
        joules_per_token=sum(known) / rate if rate and known and len(known) == len(power) else None,
        server=_server(samples),
        generator_cores=_mean([[each.generator_cores for each in samples if each.generator_cores is not None]]),
    )


def _use(index: int, samples: Sequence[Sample]) -> GpuUse:
    seen = [gpu for each in samples for gpu in each.gpus if gpu.index == index]

    def average(value: Callable[[GpuSample], float | None]) -> float | None:
        return _mean([[number for gpu in seen if (number := value(gpu)) is not None]])

    return GpuUse(
        index,
        average(lambda gpu: gpu.power_watts),
        max((gpu.memory_used_bytes for gpu in seen if gpu.memory_used_bytes is not None), default=None),
        average(lambda gpu: gpu.sm_clock_mhz),
        average(lambda gpu: gpu.utilization),
        max((gpu.server_memory_bytes for gpu in seen if gpu.server_memory_bytes is not None), default=None),
    )


def _server(samples: Sequence[Sample]) -> dict[str, float]:
    """Means of the server's gauges, and the increase per second of its counters (named ``…_total``)."""
    values: dict[str, float] = {}
    for name in sorted({name for each in samples for name in each.server}):
        there = [(each.at_s, each.server[name]) for each in samples if name in each.server]
        if not name.split("{")[0].endswith("_total"):
            values[name] = statistics.mean([value for _, value in there])
        elif len(there) > 1:
            pairs = [(later[0] - sooner[0], later[1] - sooner[1]) for sooner, later in pairwise(there)]
            ahead = [(time, more) for time, more in pairs if time > 0 and more >= 0]  # not across two runs
            total = sum(time for time, _ in ahead)
            if total:
                values[name] = sum(more for _, more in ahead) / total
    return values
