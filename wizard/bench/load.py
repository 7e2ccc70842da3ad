"""The load of a benchmark, and the service level that its requests are held against."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    """One level of load: a number of concurrent requests (closed loop), or an arrival rate (open loop)."""

    concurrency: int | None = None
    """A request starts whenever one ends, so that so many are always running."""
    rate: float | None = None
    """Requests per second; they arrive at random (Poisson), whether earlier ones have ended or not."""

    @property
    def id(self) -> str:
        """``c8`` or ``r2.5``: part of a run's file name."""
        return f"c{self.concurrency}" if self.concurrency is not None else f"r{self.rate:g}"


@dataclass(frozen=True, slots=True)
class Load:
    """The levels of load, and how long and how often each is measured.

    Attributes:
        points: The levels, in the order in which they are measured.
        requests: Requests of a run, without the warm-up; None if ``seconds`` limits it.
        seconds: Duration of a run, without the warm-up; None if ``requests`` limits it.
        warmup: Requests before each run that are not measured.
        repeats: Runs of each level.
        seed: Of arrivals and prompts.
    """

    points: tuple[Point, ...]
    requests: int | None = None
    seconds: float | None = None
    warmup: int = 0
    repeats: int = 1
    seed: int = 0


@dataclass(frozen=True, slots=True)
class ServiceLevel:
    """What a request must keep to count as good; the names are those of `advise`. None: no limit."""

    ttft_ms: float | None = None
    """Maximum time to first token."""
    tpot_ms: float | None = None
    """Maximum mean time between tokens."""

    @property
    def given(self) -> bool:
        """Whether there is a limit."""
        return self.ttft_ms is not None or self.tpot_ms is not None
