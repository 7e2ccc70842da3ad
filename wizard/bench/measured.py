"""What a benchmark found at a level of load: values with 95% intervals, derived from its runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from wizard.advise.reasons import Note
from wizard.bench.load import Point

Method: TypeAlias = Literal["runs", "batches", "none"]
"""What an interval's spread comes from: independent runs, consecutive parts of the runs, or too little to have one."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its 95% confidence interval; bounds are None where the data do not give them."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def width(self) -> float | None:
        """Half the interval's width as a share of the value; None if unknown."""
        if self.low is None or self.high is None or not self.value:
            return None
        return (self.high - self.low) / 2 / abs(self.value)


@dataclass(frozen=True, slots=True)
class Spread:
    """How a value is spread over requests.

    Attributes:
        mean: The mean.
        p50: The median.
        p90: 90% of the requests have this or less.
        p99: 99% of the requests have this or less.
        quantiles: At 0%, 5%, … 100%, for a chart.
    """

    mean: Interval
    p50: Interval
    p90: Interval
    p99: Interval
    quantiles: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class GpuUse:
    """A GPU during the runs: means, and the most memory that all processes and the server's used. None: unknown."""

    index: int
    power_watts: float | None = None
    memory_used_bytes: int | None = None
    sm_clock_mhz: float | None = None
    utilization: float | None = None
    server_memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """A level of load, measured. Rates count the steady part of each run, see `wizard.bench.steady`.

    Attributes:
        point: The level of load.
        runs: IDs of the runs that it is derived from.
        method: What the intervals' spread comes from.
        requests: Requests in the steady parts, failed ones included.
        errors: Failed requests of all requests, by what failed.
        sent: All requests of the runs.
        seconds: Length of the steady parts together.
        in_flight: Mean number of requests that were running at once.
        ttft_ms: Time to first token.
        tpot_ms: Mean time between tokens of a request.
        latency_ms: Time to last token.
        tokens_per_s: Output tokens per second, of all requests together.
        requests_per_s: Completed requests per second.
        good_per_s: Requests per second that kept the service level; None if there is none.
        good: Share of requests that kept it, failed ones included; None if there is none.
        input_tokens: Mean tokens of a prompt.
        output_tokens: Mean tokens of an answer.
        joules_per_token: Energy of these GPUs per output token; None if their power is unknown.
        gpus: The server's GPUs meanwhile; all of them if its own are unknown.
        memory_bytes: Most main memory of the server's processes; None if it is unknown.
        server: Means of the server's own metrics.
        generator_cores: Mean processor cores that the load generator used.
        warnings: What makes the figures doubtful.
    """

    point: Point
    runs: tuple[str, ...]
    method: Method
    requests: int
    errors: dict[str, int]
    sent: int
    seconds: float
    in_flight: float | None = None
    ttft_ms: Spread | None = None
    tpot_ms: Spread | None = None
    latency_ms: Spread | None = None
    tokens_per_s: Interval | None = None
    requests_per_s: Interval | None = None
    good_per_s: Interval | None = None
    good: Interval | None = None
    input_tokens: float | None = None
    output_tokens: float | None = None
    joules_per_token: float | None = None
    gpus: tuple[GpuUse, ...] = ()
    memory_bytes: int | None = None
    server: dict[str, float] = field(default_factory=dict)
    generator_cores: float | None = None
    warnings: tuple[Note, ...] = ()
