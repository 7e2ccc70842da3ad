"""What a benchmark teaches the advice: the speed of its setup at each level of load. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from wizard.advise.advice import Speed
from wizard.advise.benchmarked import PROVIDER, Benchmarked
from wizard.advise.calibration import Calibration, engine
from wizard.bench.dataset import Dataset
from wizard.bench.measured import Measured
from wizard.bench.predicted import predicted
from wizard.bench.report import Report
from wizard.plan.plan import Plan
from wizard.probe.host import Host


def learned(host: Host, plan: Plan, report: Report, past: Calibration) -> Iterator[Benchmarked]:
    """Each level that was measured completely, without failures or waiting requests.

    Args:
        host: The machine.
        plan: What the server was started from.
        report: What was measured.
        past: Of this machine, for the estimates.
    """
    if report.partial or report.target.plan != plan.fingerprint or plan.choice.offload:
        return
    raw = replace(past, speeds=())
    for point in report.points:
        speed = _speed(point, plan)
        if speed is None:
            continue
        load = replace(report.load, points=(point.point,))
        dataset = Dataset(isl=speed.isl, osl=speed.osl or 1)
        yield Benchmarked(
            at=report.made,
            machine=plan.machine,
            engine=engine(plan.choice.stack, plan.choice.release),
            model=plan.facts.ref,
            choice=replace(plan.choice, speed=None, reasons=(), warnings=()),
            speed=speed,
            estimate=predicted(host, plan.facts, plan.choice, load, dataset, raw).get(point.point.id),
        )


def _speed(point: Measured, plan: Plan) -> Speed | None:
    users = point.point.concurrency
    if users is None or users > plan.choice.users or point.errors:
        return None
    if not (point.tpot_ms and point.ttft_ms and point.tokens_per_s and point.input_tokens and point.output_tokens):
        return None
    tpot, ttft = point.tpot_ms.mean, point.ttft_ms.mean
    return Speed(
        tpot_ms=tpot.value,
        throughput_tokens_per_s=point.tokens_per_s.value,
        ttft_ms=ttft.value,
        low=tpot.low,
        high=tpot.high,
        provider=PROVIDER,
        confidence="measured",
        ttft_low_ms=ttft.low,
        ttft_high_ms=ttft.high,
        served=users,
        users=users,
        isl=round(point.input_tokens),
        osl=round(point.output_tokens),
    )
