"""Money and energy: from the throughput at the stated load, with its range; the power limit is a bound."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.advise.worlds import LLAMA_8B, facts_of, machine, sliced
from tests.values import CHOICE
from wizard.advise.advice import Constraints, Cost, Speed
from wizard.advise.cost import cost
from wizard.advise.devices import devices
from wizard.advise.ranking import advise
from wizard.probe import hardware
from wizard.texts import report, units

SPEED = Speed(20.0, 1000.0, 100.0, 16.0, 25.0, "roofline", users=32, isl=1024, osl=256)
H200 = Path(__file__).parents[1] / "cases" / "hosts" / "host-h200-x8.json"


def test_a_million_tokens_take_as_long_as_the_throughput_says() -> None:
    made = cost(SPEED, 3.6, 500.0)
    assert made is not None
    assert made.per_million_tokens == pytest.approx(1.0)  # 1,000 s at 3.6 an hour
    assert made.low == pytest.approx(0.8)
    assert made.high == pytest.approx(1.25)
    assert made.kwh_per_million_tokens == pytest.approx(0.5 * 1250 / 3600)  # at the slow end


def test_without_a_speed_there_is_no_figure_but_the_given_ones() -> None:
    for unknown in (None, replace(SPEED, throughput_tokens_per_s=None), replace(SPEED, tpot_ms=None)):
        assert cost(unknown, 2.0, 300.0) == Cost(2.0, watts=300.0)
    assert cost(SPEED, None, None) is None
    assert cost(None, None, None) is None


def test_the_rate_is_of_the_whole_machine() -> None:
    """A setup on a part of the GPUs still pays for all of them."""
    asked = Constraints(cost_per_hour=20.0, max_gpus=1, users=8)
    choice = advise(machine("8xH100"), facts_of(LLAMA_8B), asked).choices[0]
    assert len(choice.devices) == 1
    assert choice.speed
    assert choice.speed.throughput_tokens_per_s
    assert choice.cost
    assert choice.cost.per_million_tokens == pytest.approx(20e6 / 3600 / choice.speed.throughput_tokens_per_s)


def test_a_rate_rules_nothing_out_and_changes_no_choice() -> None:
    plain, priced = (advise(machine("2xL4"), facts_of(LLAMA_8B), Constraints(cost_per_hour=c)) for c in (None, 1.0))
    assert [replace(choice, cost=None) for choice in priced.choices] == list(plain.choices)
    assert not Constraints(cost_per_hour=1.0).restricts
    assert Constraints(users=3).restricts


def test_the_power_limit_is_that_of_the_gpus_in_use() -> None:
    host = hardware.find(str(H200), H200.parent)
    (group,) = devices(host)
    assert group.watts == max(gpu.power_limit_watts or 0 for gpu in host.gpus)
    for choice in advise(host, facts_of(LLAMA_8B), Constraints(users=4)).choices:
        assert choice.cost
        assert choice.cost.watts == group.watts * len(choice.devices)


def test_an_unknown_power_limit_of_one_gpu_leaves_the_sum_unknown() -> None:
    host = hardware.find(str(H200), H200.parent)
    first = replace(host.gpus[0], power_limit_watts=None)
    assert devices(replace(host, gpus=(first, *host.gpus[1:])))[0].watts is None
    assert devices(machine("2xL4"))[0].watts is None
    assert devices(sliced("1xA100", "1g.10gb", 9856 * 1024**2, 4))[0].watts is None


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        *((0.92, "0.920"), (0.878, "0.878"), (0.99949, "0.999"), (0.9996, "1.00"), (1.0, "1.00"), (1234.5, "1,234.50")),
        *((0.0123456, "0.0123"), (0.00000123456, "0.00000123"), (0.0, "0.00")),
    ],
)
def test_amounts_below_one_have_three_digits(amount: float, shown: str) -> None:
    assert units.money(amount) == shown


def test_the_sentences_say_the_load_and_that_power_is_a_bound() -> None:
    choice = replace(CHOICE, devices=(0, 1), speed=SPEED, cost=cost(SPEED, 3.6, 1400.0))
    money, power = report.cost_sentences(choice)
    assert money == (
        "Cost at this load: 1.00 (0.800 to 1.25) per million output tokens, with 3.60 per hour for the whole machine."
    )
    assert power.startswith("Power: at most 1,400 W by the power limit of 2 GPUs; at this load at most 0.49 kWh per")
    assert "not included" in power
    (unknown,) = report.cost_sentences(replace(choice, speed=None, cost=cost(None, 3.6, None)))
    assert unknown.endswith("because the speed is unknown.")
    paced = replace(SPEED, throughput_tokens_per_s=None)
    (unknown,) = report.cost_sentences(replace(choice, speed=paced, cost=cost(paced, 3.6, None)))
    assert unknown.endswith("because the throughput is unknown.")
    assert report.cost_sentences(CHOICE) == ()
