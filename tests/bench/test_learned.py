"""What a benchmark teaches the advice, and what it does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench import sample
from tests.bench.test_tune import HOST, own_plan
from wizard.advise.benchmarked import Benchmarked
from wizard.advise.calibration import NOTHING, Calibration
from wizard.bench.learned import learned
from wizard.bench.report import Report
from wizard.kernel.paths import Workspace
from wizard.plan.plan import Plan


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """Of a server that runs four requests at once."""
    return own_plan(Workspace(tmp_path))


def report(plan: Plan) -> Report:
    return replace(sample.REPORT, target=replace(sample.REPORT.target, plan=plan.fingerprint))


def lines(plan: Plan, measured: Report, past: Calibration = NOTHING) -> list[Benchmarked]:
    return list(learned(HOST, plan, measured, past))


def test_each_level_up_to_the_slots_is_kept_with_its_own_load(plan: Plan) -> None:
    kept = lines(plan, report(plan))
    assert [each.speed.users for each in kept] == [1, 2, 4]
    assert {(each.speed.isl, each.speed.osl) for each in kept} == {(66, 64)}
    point = sample.measured(4)
    assert point.tpot_ms
    assert kept[-1].speed.tpot_ms == point.tpot_ms.mean.value
    assert kept[-1].choice.stack == "vllm"


def test_the_estimate_is_without_measurements(plan: Plan) -> None:
    """Otherwise a second benchmark would see no error to correct."""
    kept = lines(plan, report(plan))
    assert all(each.estimate for each in kept)
    again = lines(plan, report(plan), Calibration(speeds=tuple(kept)))
    assert [each.estimate for each in again] == [each.estimate for each in kept]


@pytest.mark.parametrize("partial", ["stopped", "TW-C65"])
def test_a_partial_report_teaches_nothing(plan: Plan, partial: str) -> None:
    assert lines(plan, replace(report(plan), partial=partial)) == []


def test_another_plan_failures_and_missing_figures_teach_nothing(plan: Plan) -> None:
    assert lines(plan, sample.REPORT) == []
    broken = tuple(replace(each, errors={"HTTP 500": 1}) for each in sample.REPORT.points)
    assert lines(plan, replace(report(plan), points=broken)) == []
    silent = tuple(replace(each, output_tokens=None) for each in sample.REPORT.points)
    assert lines(plan, replace(report(plan), points=silent)) == []
