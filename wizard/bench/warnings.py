"""What makes a benchmark's figures doubtful. Pure; `wizard.texts.bench` has the sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wizard.advise.reasons import Note
from wizard.bench.measured import Measured
from wizard.bench.report import Target
from wizard.bench.run import Run

BUSY = 0.9
"""Processor cores of one process of the load generator that count as one in full use; it is written in Python."""
CROWDED = 0.25
"""Share of all cores from which on the generator takes them away from a server on the same machine."""
LATE_MS = 5.0
"""Milliseconds that requests may wait in the generator."""
LATE_SHARE = 0.1
"""Share of the time to first token that they may wait."""
WIDE = 0.1
"""Half an interval's width, as a share of its value, from which on it is wide."""
FULL = 0.9
"""Share of the server's slots whose use counts as full."""
FEW = 20
"""Requests below which percentiles mean little."""


def of(measured: Measured, runs: Sequence[Run], target: Target, cores: int) -> Iterator[Note]:
    """The warnings about a level of load, the gravest first."""
    failed = sum(measured.errors.values())
    if failed:
        first = next(iter(measured.errors))
        yield Note("bench-errors", {"failed": failed, "sent": measured.sent, "error": first})
    if measured.sent > failed and measured.input_tokens is None:
        yield Note("bench-no-tokens" if measured.tokens_per_s is None else "bench-pieces")
    yield from _slots(measured, target)
    yield from _generator(measured, runs, cores)
    yield from _gpus(runs)
    yield from _precision(measured)


def _slots(measured: Measured, target: Target) -> Iterator[Note]:
    """The server works on fewer requests than are sent: the rest waits."""
    wanted, slots = measured.point.concurrency or measured.in_flight or 0, target.slots
    if slots and wanted > slots and (measured.in_flight or 0) > FULL * slots:
        yield Note("bench-slots", {"slots": slots, "in_flight": round(measured.in_flight or 0, 1)})


def _generator(measured: Measured, runs: Sequence[Run], cores: int) -> Iterator[Note]:
    used = measured.generator_cores or 0.0
    if used >= BUSY or used > CROWDED * cores:
        yield Note("bench-generator", {"used": round(used, 2), "cores": cores})
    waits = sorted(each.wait_ms for run in runs for each in run.requests)
    ttft = measured.ttft_ms.p50.value if measured.ttft_ms else 0.0
    if waits and ttft:
        wait = waits[len(waits) // 2]
        if wait > max(LATE_MS, LATE_SHARE * ttft):
            yield Note("bench-late", {"wait_ms": round(wait, 1), "ttft_ms": round(ttft, 1)})


def _gpus(runs: Sequence[Run]) -> Iterator[Note]:
    gpus = [gpu for run in runs for sample in run.samples for gpu in sample.gpus]
    for index in sorted({gpu.index for gpu in gpus}):
        mine = [gpu for gpu in gpus if gpu.index == index]
        why = sorted({reason for gpu in mine for reason in gpu.throttled})
        if why:
            share = sum(bool(gpu.throttled) for gpu in mine) / len(mine)
            yield Note("bench-throttled", {"gpu": index, "why": tuple(why), "percent": round(100 * share)})
        if others := max(gpu.others for gpu in mine):
            yield Note("bench-shared-gpu", {"gpu": index, "processes": others})


def _precision(measured: Measured) -> Iterator[Note]:
    if measured.requests < FEW:
        yield Note("bench-few", {"requests": measured.requests})
        return
    for name, interval in (
        ("tokens_per_s", measured.tokens_per_s),
        ("ttft_ms", measured.ttft_ms and measured.ttft_ms.mean),
    ):
        if interval and (interval.width or 0) > WIDE:
            yield Note("bench-wide", {"what": name, "percent": round(100 * (interval.width or 0))})
