"""The speed of a file on a GPU and the host, computed by hand: both read their layers, one after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.advise.test_cpu_speed import EXACT, RATES, SMALL
from wizard.advise import cpu, offload_speed
from wizard.advise.advice import Constraints, Speed
from wizard.advise.devices import Device
from wizard.advise.devices import Rates as GpuRates
from wizard.advise.reasons import Reason
from wizard.advise.speed import Load
from wizard.catalog.cpu_facts import OffloadSpeed
from wizard.model.anatomy import Parts

OFFLOAD = cpu.on_cpu("llamacpp").offload
assert OFFLOAD
KNOWN = OffloadSpeed(share=0.5, hbm_share=0.25, layer_us=100, spread=0.2, source="a test")
ENGINE = replace(cpu.on_cpu("llamacpp"), speed=EXACT, offload=replace(OFFLOAD, speed=KNOWN))
GPU = Device("a GPU", (0,), (8, 9), 10**10, 10**10, GpuRates(1e12, 1e11, "gddr", "a test"))
HBM = replace(GPU, rates=GpuRates(1e12, 1e11, "hbm", "a test"))
LAYER = (11e8 + 150 * 1000) / 10 / 0.5e11 + 100e-6
"""Seconds of one of ten layers on the GPU: 1.1 GB of weights, 1,000 bytes for each of 100 + 50 tokens."""


def ask(placed: list[tuple[Device, int]], **changes: Any) -> Speed | Reason | str:
    fields: dict[str, Any] = {"facts": SMALL, "engine": ENGINE, "rates": RATES, "constraints": Constraints()}
    return offload_speed.estimate(**{**fields, **changes}, placed=placed, load=Load(1, 100, 100), cache_bytes=1000)


def pace(placed: list[tuple[Device, int]], **changes: Any) -> float:
    speed = ask(placed, **changes)
    assert isinstance(speed, Speed)
    assert speed.tpot_ms
    return speed.tpot_ms / 1e3


def test_seconds_of_a_token() -> None:
    host = pace([])
    assert pace([(GPU, 10)]) == pytest.approx(10 * LAYER)
    assert pace([(GPU, 4), (GPU, 6)]) == pytest.approx(10 * LAYER)
    assert pace([(HBM, 10)]) == pytest.approx(10 * (2 * (LAYER - 100e-6) + 100e-6))
    assert pace([(GPU, 4)]) == pytest.approx(4 * LAYER + 0.6 * host)
    assert pace([(GPU, 9)]) == pytest.approx(9 * LAYER + 0.1 * host)


def test_a_token_on_the_host_alone_is_that_of_the_cpu() -> None:
    """1.1 GB and 150 kB at 10 GB/s, 1.1 billion weights by a billion for each core, 10 layers of 1 ms."""
    computing = RATES.computing
    assert pace([]) == pytest.approx(0.11 + 15e-6 + 1.1e9 / (1e9 * computing) + 0.01)


def test_the_range_is_the_wider_one_of_the_parts_that_compute() -> None:
    for placed, spread in (([(GPU, 10)], 0.2), ([(GPU, 9)], 0.5)):
        speed = ask(placed)
        assert isinstance(speed, Speed)
        assert speed.tpot_ms
        assert (speed.low, speed.high) == pytest.approx((speed.tpot_ms / (1 + spread), speed.tpot_ms * (1 + spread)))
        assert (speed.users, speed.served, speed.isl, speed.osl) == (1, 1, 100, 100)
        assert (speed.ttft_ms, speed.throughput_tokens_per_s, speed.confidence) == (None, None, "rough")
    narrow = replace(ENGINE, speed=replace(EXACT, spread=0.1))
    speed = ask([(GPU, 9)], engine=narrow)
    assert isinstance(speed, Speed)
    assert (speed.high or 0) == pytest.approx(1.2 * (speed.tpot_ms or 0))


@pytest.mark.parametrize(
    ("layers", "changes", "code"),
    [
        (9, {"rates": None}, "offload-cpu-unmeasured"),
        (9, {"engine": replace(ENGINE, speed=None)}, "offload-cpu-unmeasured"),
        (10, {"rates": None, "engine": replace(ENGINE, speed=None)}, ""),
        (10, {"constraints": Constraints(users=2)}, "offload-users"),
        (10, {"constraints": Constraints(users=1)}, ""),
        (10, {"facts": replace(SMALL, stored=Parts(experts=1))}, "offload-experts"),
        (10, {"facts": replace(SMALL, stored=None)}, "layers-unknown"),
        (10, {"facts": replace(SMALL, anatomy=None)}, "layers-unknown"),
        (10, {"engine": replace(ENGINE, offload=None)}, "offload-attention"),
    ],
)
def test_what_was_not_measured_has_no_speed(layers: int, changes: dict[str, Any], code: str) -> None:
    answer = ask([(GPU, layers)], **changes)
    assert (answer.code if isinstance(answer, Reason) else "") == code
    assert isinstance(answer, Speed) is (not code)


def test_a_reason_of_the_model_and_a_gpu_of_unknown_rates_are_named() -> None:
    assert ask([(GPU, 10)], facts=replace(SMALL, unknown={"speed": "names"})) == "names"
    unknown = ask([(GPU, 5), (replace(GPU, name="another", rates=None), 5)])
    assert isinstance(unknown, Reason)
    assert (unknown.code, unknown.params["gpu"]) == ("rates-unknown", "another")
