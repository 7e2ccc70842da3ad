"""A plan's model and cost in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.values import GGUF, plan_of, python_step
from wizard.model.facts import ModelFacts, Quantization
from wizard.plan.plan import Estimate, Plan
from wizard.plan.summary import cost, model_line, sums, takes

MB, MIB = 10**6, 1024**2


@pytest.mark.parametrize(
    ("facts", "line"),
    [
        (GGUF, "3 M parameters · 3.3 MiB · Q8_0 · 1,024 tokens of context · license unknown"),
        (
            replace(GGUF, quantization=Quantization("awq", 4), licence="mit\n"),
            "3 M parameters · 3.3 MiB · awq · 1,024 tokens of context · mit",
        ),
        (
            replace(GGUF, quantization=None, dtype="bfloat16", parameters=None, weight_bytes=None, max_context=None),
            "bfloat16 · license unknown",
        ),
        (
            replace(GGUF, quantization=None, dtype=None),
            "3 M parameters · 3.3 MiB · 1,024 tokens of context · license unknown",
        ),
    ],
)
def test_a_model_in_one_line(facts: ModelFacts, line: str) -> None:
    assert model_line(facts) == line


@pytest.mark.parametrize(
    ("estimate", "words"),
    [
        (Estimate(5), "about 5.0 s"),
        (Estimate(0, unknown=True), "time unknown"),
        (Estimate(90, unknown=True), "more than 1 min 30 s"),
        (Estimate(5, 10 * MIB), "about 5.0 s · 10.0 MiB to download"),
        (Estimate(5, 0, 10 * MIB), "about 5.0 s · 10.0 MiB of disk space"),
        (Estimate(5, MIB, 2 * MIB), "about 5.0 s · 1.0 MiB to download · 2.0 MiB of disk space"),
    ],
)
def test_what_a_step_costs(estimate: Estimate, words: str) -> None:
    assert cost(estimate) == words


def plan(*estimates: Estimate) -> Plan:
    """A plan whose steps take these."""
    steps = [replace(python_step(str(at), ""), estimate=estimate) for at, estimate in enumerate(estimates)]
    return plan_of(Path("/w"), *steps)


def test_a_plan_costs_what_its_steps_cost() -> None:
    made = plan(Estimate(1, 2, 3), Estimate(10, 20, 30))
    assert made.estimate == Estimate(11, 22, 33)
    assert plan(Estimate(1), Estimate(2, unknown=True)).estimate == Estimate(3, 0, 0, unknown=True)


def test_the_links_speed_is_named_where_something_is_downloaded() -> None:
    assert sums(plan(Estimate(1))) == "1 step · about 1.0 s"
    downloads = plan(Estimate(1), Estimate(2, 10 * MIB))
    assert sums(downloads) == "2 steps · about 3.0 s · 10.0 MiB to download · downloads estimated at 20 MB/s"


def test_a_plan_for_another_machine_is_marked() -> None:
    here = plan(Estimate(1))
    assert here.is_for_here
    assert takes(here) == ("1 step · about 1.0 s · files in /w",)
    _, away = takes(replace(here, host="2xH100\n"))
    assert away == "This plan is for 2xH100, not this machine: you can view it but not run it."
