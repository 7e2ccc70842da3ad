"""What a run recorded: every request, and samples of the machine and the server beside them. Nothing derived."""

from __future__ import annotations

from dataclasses import dataclass, field

from wizard.bench.load import Point


@dataclass(frozen=True, slots=True)
class Request:
    """One request, as the load generator saw it.

    Attributes:
        start_s: When it was sent, in seconds since the run's first request.
        end_s: When its last byte arrived, or when it failed.
        ttft_ms: Time to first token; None if none arrived.
        latency_ms: Time to last token; None if it failed.
        input_tokens: Tokens of the prompt, as the server counted them; None if it did not.
        output_tokens: Tokens of the answer, likewise.
        error: What failed: ``HTTP 503``, ``TimeoutError``; empty if it succeeded.
        wait_ms: Time that it waited in the load generator after it was due.
    """

    start_s: float
    end_s: float
    ttft_ms: float | None = None
    latency_ms: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    error: str = ""
    wait_ms: float = 0.0

    @property
    def tpot_ms(self) -> float | None:
        """Mean time between its tokens; None with fewer than two."""
        if self.latency_ms is None or self.ttft_ms is None or (self.output_tokens or 0) < 2:
            return None
        return (self.latency_ms - self.ttft_ms) / ((self.output_tokens or 0) - 1)


@dataclass(frozen=True, slots=True)
class GpuSample:
    """A GPU at a point in time; None: unknown."""

    index: int
    power_watts: float | None = None
    memory_used_bytes: int | None = None
    sm_clock_mhz: int | None = None
    utilization: float | None = None
    temperature_c: int | None = None
    throttled: tuple[str, ...] = ()
    """Why its clocks are reduced, as NVML names the reasons; empty if they are not, or if it is unknown."""
    others: int = 0
    """Processes on it that do not belong to the server."""
    server_memory_bytes: int | None = None
    """Of the memory in use, that of the server's processes; None if NVML does not tell it apart."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The machine and the server at a point in time.

    Attributes:
        at_s: Seconds since the run's first request; negative during the warm-up.
        generator_cores: Processor cores that the load generator used since the sample before; None if unknown.
        cpu: Share of the machine's processor in use, 0 to 1.
        memory_available_bytes: Of the machine.
        gpus: Its GPUs.
        server: Metrics that the server reports, by name.
        server_memory_bytes: Main memory of the server's processes; None if it is unknown.
    """

    at_s: float
    generator_cores: float | None = None
    cpu: float | None = None
    memory_available_bytes: int | None = None
    gpus: tuple[GpuSample, ...] = ()
    server: dict[str, float] = field(default_factory=dict)
    server_memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One run at one level of load; a file of its own in the report's folder.

    Attributes:
        point: The level of load.
        number: Counts the runs of a level from 1.
        began: When its first request was sent, seconds since 1970.
        requests: Every request of the measured phase, by start.
        samples: Once a second.
        command: The load generator's command line.
        partial: Why it ended early: an error's code, or ``stopped``; empty if it is complete.
    """

    point: Point
    number: int
    began: float
    requests: tuple[Request, ...] = ()
    samples: tuple[Sample, ...] = ()
    command: str = ""
    partial: str = ""

    @property
    def id(self) -> str:
        """Unique in a report: ``c8-2``."""
        return f"{self.point.id}-{self.number}"
