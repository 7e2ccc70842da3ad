"""From runs to figures: rates of the steady part, goodput, energy, and warnings."""

from __future__ import annotations

import heapq
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wizard.bench import derive, statistics, steady
from wizard.bench.load import Point, ServiceLevel
from wizard.bench.measured import Interval
from wizard.bench.report import Target
from wizard.bench.run import GpuSample, Request, Run, Sample
from wizard.texts.advise import note

TARGET = Target("demo", "demo", "http://127.0.0.1:9000/v1")
NONE = ServiceLevel()


def closed_loop(streams: int, rounds: int, ttft_s: float = 0.1, tpot_s: float = 0.02, tokens: int = 51) -> Run:
    """A run whose every request takes the same time, each stream a little later than the one before."""
    length = ttft_s + (tokens - 1) * tpot_s
    requests = [
        Request(
            start_s=number * length + stream * length / streams,
            end_s=(number + 1) * length + stream * length / streams,
            ttft_ms=1000 * ttft_s,
            latency_ms=1000 * length,
            input_tokens=8,
            output_tokens=tokens,
        )
        for number in range(rounds)
        for stream in range(streams)
    ]
    return Run(Point(concurrency=streams), 1, 0.0, tuple(requests))


def codes(run: Run, target: Target = TARGET, cores: int = 8) -> list[str]:
    return [warning.code for warning in derive.derived([run], NONE, target, cores).warnings]


def test_the_steady_part_begins_after_the_burst_and_ends_with_the_last_start() -> None:
    part = steady.steady(closed_loop(4, 10))
    assert part is not None
    assert (part.start_s, len(part.requests)) == (pytest.approx(1.1), 36)
    assert part.end_s == pytest.approx(9 * 1.1 + 3 * 1.1 / 4)
    assert steady.in_flight(part) == pytest.approx(4)


def test_a_run_of_few_requests_counts_whole() -> None:
    """Four requests at once that start within milliseconds are no steady part of milliseconds."""
    run = closed_loop(4, 1)
    part = steady.steady(run)
    assert part is not None
    assert (part.start_s, part.end_s, len(part.requests)) == (0, run.requests[-1].end_s, 4)
    assert steady.tokens(part) == pytest.approx(4 * 51)


def test_rates_are_those_of_the_steady_part() -> None:
    measured = derive.derived([closed_loop(4, 20)], NONE, TARGET, 8)
    assert measured.tokens_per_s is not None
    assert measured.requests_per_s is not None
    assert measured.tokens_per_s.value == pytest.approx(4 * 51 / 1.1, rel=0.01)
    assert measured.requests_per_s.value == pytest.approx(4 / 1.1, rel=0.02)
    assert measured.method == "batches"
    assert measured.ttft_ms is not None
    assert measured.tpot_ms is not None
    assert measured.ttft_ms.mean.value == pytest.approx(100)
    assert measured.tpot_ms.p99.value == pytest.approx(20)


@given(st.integers(1, 6), st.integers(1, 8), st.floats(0.001, 1), st.floats(0.0001, 0.1), st.integers(1, 60))
def test_no_token_is_lost_or_counted_twice(
    streams: int, rounds: int, ttft_s: float, tpot_s: float, tokens: int
) -> None:
    run = closed_loop(streams, rounds, ttft_s, tpot_s, tokens)
    last = max(each.end_s for each in run.requests)
    whole = steady.Steady(run.requests, run.requests, -1.0, last + 1)
    assert steady.tokens(whole) == pytest.approx(streams * rounds * tokens)
    pieces = [whole.part(at / 7, (at + 1) / 7) for at in range(7)]
    assert sum(map(steady.tokens, pieces)) == pytest.approx(streams * rounds * tokens)


@given(st.lists(st.builds(Request, st.floats(0, 100), st.floats(0, 100), error=st.sampled_from(("", "HTTP 503")))))
def test_any_requests_are_measured_without_an_error(requests: list[Request]) -> None:
    run = Run(Point(concurrency=2), 1, 0.0, tuple(requests))
    measured = derive.derived([run], ServiceLevel(100, 10), TARGET, 2)
    assert measured.sent == len(requests)
    assert sum(measured.errors.values()) == sum(bool(each.error) for each in requests)


def test_errors_are_counted_by_kind_and_shown() -> None:
    run = closed_loop(4, 25)
    failed = tuple(
        replace(each, error="HTTP 503", latency_ms=None) if at % 33 == 5 else each
        for at, each in enumerate(run.requests)
    )
    measured = derive.derived([replace(run, requests=failed)], NONE, TARGET, 8)
    assert measured.errors == {"HTTP 503": 3}
    assert (
        note(measured.warnings[0]) == "3 of 100 requests failed, first with HTTP 503. The other figures count the rest."
    )


def test_goodput_counts_what_kept_the_level() -> None:
    run = closed_loop(2, 50)
    slow = tuple(replace(each, ttft_ms=500.0) if at % 4 == 0 else each for at, each in enumerate(run.requests))
    measured = derive.derived([replace(run, requests=slow)], ServiceLevel(ttft_ms=200), TARGET, 8)
    assert measured.good is not None
    assert measured.good.value == pytest.approx(0.75, abs=0.01)
    assert measured.good_per_s is not None
    assert measured.requests_per_s is not None
    assert measured.good_per_s.value == pytest.approx(0.75 * measured.requests_per_s.value, rel=0.03)
    assert derive.derived([run], ServiceLevel(tpot_ms=10), TARGET, 8).good == Interval(0.0, 0.0, 0.0)
    assert derive.derived([run], NONE, TARGET, 8).good is None


def test_energy_is_power_over_tokens() -> None:
    run = closed_loop(4, 20)
    samples = tuple(Sample(float(at), gpus=(GpuSample(0, 300.0), GpuSample(1, 100.0))) for at in range(20))
    measured = derive.derived([replace(run, samples=samples)], NONE, TARGET, 8)
    assert measured.tokens_per_s is not None
    assert measured.joules_per_token == pytest.approx(400 / measured.tokens_per_s.value)
    unknown = (Sample(3.0, gpus=(GpuSample(0, 300.0), GpuSample(1))),)
    assert derive.derived([replace(run, samples=unknown)], NONE, TARGET, 8).joules_per_token is None


def test_the_highest_memory_counts_of_all_processes_and_of_the_server() -> None:
    amounts = [(9, None), (20, 5), (18, 7), (19, 6)]
    samples = tuple(
        Sample(2.0 + at, gpus=(GpuSample(0, memory_used_bytes=used, server_memory_bytes=own),))
        for at, (used, own) in enumerate(amounts)
    )
    (gpu,) = derive.derived([replace(closed_loop(4, 20), samples=samples)], NONE, TARGET, 8).gpus
    assert (gpu.memory_used_bytes, gpu.server_memory_bytes) == (20, 7)


def test_counters_of_the_server_become_rates_and_gauges_means() -> None:
    run = closed_loop(4, 20)
    samples = tuple(Sample(2.0 + at, server={"tokens_total": 50.0 * at, "running": 2.0 + at % 2}) for at in range(11))
    measured = derive.derived([replace(run, samples=samples)], NONE, TARGET, 8)
    assert measured.server["tokens_total"] == pytest.approx(50.0)
    assert measured.server["running"] == pytest.approx(2.45, abs=0.01)


def test_full_slots_are_a_warning_only_if_more_is_sent() -> None:
    assert "bench-slots" in codes(closed_loop(8, 10), replace(TARGET, slots=4))
    assert "bench-slots" not in codes(closed_loop(4, 10), replace(TARGET, slots=4))
    assert "bench-slots" not in codes(closed_loop(8, 10))


def test_a_busy_or_late_generator_is_a_warning() -> None:
    run = closed_loop(4, 20)
    used = tuple(Sample(float(at), generator_cores=0.95) for at in range(20))
    assert "bench-generator" in codes(replace(run, samples=used))
    half = tuple(Sample(float(at), generator_cores=0.85) for at in range(20))
    assert "bench-generator" in codes(replace(run, samples=half), cores=2)
    assert "bench-generator" not in codes(replace(run, samples=half), cores=8)
    late = tuple(replace(each, wait_ms=30.0) for each in run.requests)
    assert "bench-late" in codes(replace(run, requests=late))
    assert "bench-late" not in codes(run)


def test_a_throttled_or_shared_gpu_is_a_warning() -> None:
    run = closed_loop(4, 20)
    hot = (
        Sample(2.0, gpus=(GpuSample(0, throttled=("SwThermalSlowdown",), others=2),)),
        Sample(3.0, gpus=(GpuSample(0),)),
    )
    warnings = derive.derived([replace(run, samples=hot)], NONE, TARGET, 8).warnings
    assert [note(each) for each in warnings] == [
        "GPU 0 reduced its clocks in 50% of the samples (SwThermalSlowdown), so it was slower than it can be.",
        "2 other processes used GPU 0 meanwhile.",
    ]


def test_few_requests_and_wide_intervals_are_warnings() -> None:
    assert "bench-few" in codes(closed_loop(1, 10))
    random_ = random.Random(1)
    run = closed_loop(4, 30)
    noisy = tuple(replace(each, ttft_ms=random_.expovariate(0.01)) for each in run.requests)
    assert "bench-wide" in codes(replace(run, requests=noisy))
    assert "bench-wide" not in codes(run)


def test_a_server_that_counts_no_tokens_is_a_warning() -> None:
    run = closed_loop(4, 20)
    pieces = tuple(replace(each, input_tokens=None) for each in run.requests)
    assert codes(replace(run, requests=pieces)) == ["bench-pieces"]
    uncounted = tuple(replace(each, output_tokens=None) for each in pieces)
    assert codes(replace(run, requests=uncounted)) == ["bench-no-tokens"]


def throughput(seed: int, runs: int) -> tuple[Interval, float]:
    """The interval of the throughput of synthetic benchmarks whose requests vary and correlate, and the truth."""
    random_ = random.Random(seed)
    made = []
    for number in range(runs):
        requests, state = [], 0.0
        free = [random_.random() for _ in range(4)]
        for _ in range(160):  # the next request starts where a stream is free first
            heapq.heapify(free)
            now = heapq.heappop(free)
            state = 0.6 * state + 0.8 * random_.gauss(0, 1)
            length = 1.0 * (1 + 0.2 * state)
            requests.append(Request(now, now + length, 100.0, 1000 * length, 8, 50))
            heapq.heappush(free, now + length)
        made.append(Run(Point(concurrency=4), number, 0.0, tuple(requests)))
    measured = derive.derived(made, NONE, TARGET, 8)
    assert measured.tokens_per_s is not None
    return measured.tokens_per_s, 4 * 50 / 1.0


@pytest.mark.parametrize("runs", [1, 4])
def test_the_interval_of_the_throughput_covers_the_truth(runs: int) -> None:
    missed = []
    for seed in range(200):
        interval, truth = throughput(seed, runs)
        assert interval.low is not None
        assert interval.high is not None
        if not interval.low <= truth <= interval.high:
            missed.append(seed)
    print(f"{runs} runs: {200 - len(missed)} of 200 intervals cover the truth; not those of the seeds {missed}")
    assert len(missed) <= 20
    assert statistics.ENOUGH_RUNS == 3
