"""Speeds that `triton-wizard bench` measured on this machine, and how they replace later estimates. Pure.

A measurement counts for the same model, setup, engine and machine. Under the same load, it replaces the estimate. Under
another one, the estimate is multiplied by what measurement ÷ estimate was under the measured load: most of a
roofline's error is a factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log

from wizard.advise.advice import Choice, Speed
from wizard.advise.reasons import Note
from wizard.advise.setup import Setup
from wizard.advise.speed import Load

PROVIDER = "measured"
SETUP = (
    *("stack", "dtype", "quantization", "kv_cache_dtype"),
    *("tp", "pp", "dp", "replicas", "expert_parallel", "speculative"),
)
"""Fields in which the measured and the estimated setup must be equal."""
SAME = 0.1
"""Relative difference of tokens up to which loads are the same."""
FAR = 2.0
"""Ratio of users up to which a measurement corrects the estimate."""


@dataclass(frozen=True, slots=True)
class Benchmarked:
    """A level of load of a benchmark.

    Attributes:
        at: Date and time, ISO 8601.
        machine: As `wizard.advise.calibration.machine` names it.
        engine: As `wizard.advise.calibration.engine` names it.
        model: The model's reference.
        choice: The setup, without speed, reasons and warnings.
        speed: What was measured, and under which load.
        estimate: The estimate for this load without measurements; None: there is none.
    """

    at: str
    machine: str
    engine: str
    model: str
    choice: Choice
    speed: Speed
    estimate: Speed | None = None


def corrected(
    estimate: Speed | None,
    speeds: Sequence[Benchmarked],
    setup: Setup | Choice,
    load: Load,
    *,
    machine: str,
    engine: str,
    model: str,
) -> tuple[Speed | None, tuple[Note, ...]]:
    """The speed of ``setup`` under ``load``, from the nearest of the measured ``speeds`` if any fits, and a note."""
    known = [
        each
        for each in speeds
        if (each.machine, each.engine, each.model) == (machine, engine, model)
        and all(getattr(each.choice, name) == getattr(setup, name) for name in SETUP)
        and _complete(each.speed)
    ]
    if not known:
        return estimate, ()
    nearest = min(reversed(known), key=lambda each: _distance(each.speed, load))
    if same_load(nearest.speed, load):
        return nearest.speed, (_note(nearest, "benchmarked"),)
    if estimate is None or nearest.estimate is None or not 1 / FAR <= load.users / (nearest.speed.users or 1) <= FAR:
        return estimate, ()
    return _scaled(estimate, nearest.speed, nearest.estimate), (_note(nearest, "benchmarked-near"),)


def _complete(speed: Speed) -> bool:
    return bool(speed.users and speed.isl and speed.osl and speed.tpot_ms and speed.ttft_ms)


def same_load(speed: Speed, load: Load) -> bool:
    """Whether ``speed`` is of this load."""
    lengths = ((speed.isl, load.isl), (speed.osl, load.osl))
    return speed.users == load.users and all(abs((own or 0) / other - 1) <= SAME for own, other in lengths if other)


def _distance(speed: Speed, load: Load) -> float:
    pairs = ((speed.users, load.users), (speed.isl, load.isl), (speed.osl, load.osl))
    return sum(abs(log((own or 1) / max(1, other))) for own, other in pairs)


def _scaled(estimate: Speed, measured: Speed, before: Speed) -> Speed:
    """``estimate`` with the error that the estimate ``before`` had; its range stays as wide as it was."""
    pace = _times(measured.tpot_ms, before.tpot_ms)
    wait = _times(measured.ttft_ms, before.ttft_ms)
    total = _times(measured.throughput_tokens_per_s, before.throughput_tokens_per_s)

    def times(value: float | None, factor: float) -> float | None:
        return None if value is None else value * factor

    return replace(
        estimate,
        provider=PROVIDER,
        confidence="fair",
        tpot_ms=times(estimate.tpot_ms, pace),
        low=times(estimate.low, pace),
        high=times(estimate.high, pace),
        ttft_ms=times(estimate.ttft_ms, wait),
        ttft_low_ms=times(estimate.ttft_low_ms, wait),
        ttft_high_ms=times(estimate.ttft_high_ms, wait),
        ttft_alone_ms=times(estimate.ttft_alone_ms, wait),
        ttft_last_ms=times(estimate.ttft_last_ms, wait),
        throughput_tokens_per_s=times(estimate.throughput_tokens_per_s, total),
    )


def _times(measured: float | None, before: float | None) -> float:
    return measured / before if measured and before else 1.0


def _note(measured: Benchmarked, code: str) -> Note:
    speed = measured.speed
    load = {"users": speed.users or 0, "isl": speed.isl or 0, "osl": speed.osl or 0}
    return Note(code, {"date": measured.at[:10], **load}, f"speeds.jsonl, {measured.engine}")
