"""A step of the roofline, computed by hand: round coefficients, and work of which only one part is not zero."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from wizard.advise.devices import Device, Rates
from wizard.advise.setup import Setup
from wizard.advise.speed import Load, Step, Work, decode, first_token, step
from wizard.catalog.speed import Coefficients

K = Coefficients(
    **{"weights": 0.5, "weights4": 0.25, "experts": 0.4, "experts4": 0.2, "widened_gb": 0.1, "packed": 0.2},
    **{"cache": 0.8, "cache8": 0.1, "compute": 0.5, "expert_compute": 0.25, "attention": 0.125},
    **{"skew": 0.5, "narrow": 0.5, "older": 0.5, "gddr": 0.25, "interrupt": 0.5, "link": 0.5},
    **{"layer_us": 10, "moe_us": 20, "unfused_us": 5, "latent_us": 7, "older_us": 4, "packed_us": 6, "eager_us": 0},
    **{"step_us": 100, "request_us": 3, "link_us": 8, "first_us": 1000},
    **{"first": 1.5, "first_experts": 2.0, "arrival": 0.5, "queue": 0.25},
)
RATES = Rates(1e12, 1e9, "hbm", "a test")
DEVICE = Device("a GPU", (0,), (9, 0), 2**30, 2**30, RATES, link="nvlink", link_bytes_per_second=1e9)
NOTHING = Work(
    **{"dense_bytes": 0, "expert_bytes": 0, "expert_share": 0, "token_ops": 0, "expert_ops": 0, "head_ops": 0},
    **{"attention_ops": 0, "cache": (), "state_bytes": 0, "layers": 0, "moe_layers": 0, "latent_layers": 0},
    **{"four_bit": False, "packed": False, "four_bit_experts": False, "eight_bit_cache": False},
    **{"row_bytes": 0, "gain": 1.0, "dp": 1},
)
FIXED = 112e-6
"""The scheduler's time for a step of four users."""
AMPERE, GEFORCE, BLACKWELL = (
    replace(DEVICE, compute_capability=(8, 0)),
    replace(DEVICE, compute_capability=(8, 9), rates=replace(RATES, memory="gddr")),
    replace(DEVICE, compute_capability=(10, 0)),
)
PCIE = replace(DEVICE, link="pcie")


def toy(device: Device = DEVICE, ranks: int = 1, k: Coefficients = K, **work: Any) -> Step:
    """A step of four users with 1,000 tokens before, a piece of a prompt of 12 with 500, and 8 on other ranks."""
    assert device.rates
    rest = {"users": 4, "context": 1000, "prompt": 12, "before": 500, "others": 8}
    return step(replace(NOTHING, **work), k, device, device.rates, ranks, **rest)


EXPERTS = {"expert_bytes": 1e9, "expert_share": 0.5}
TOUCHED = 1 - 0.5 ** (24**0.5)
"""Share of the experts, half of which a token gets, that 4 + 12 + 8 tokens do: as if they were its root."""


@pytest.mark.parametrize(
    ("device", "work", "seconds"),
    [
        (DEVICE, {"dense_bytes": 1e9}, 2.0),
        (DEVICE, {"dense_bytes": 1e9, "four_bit": True}, 4.0),
        (DEVICE, {"dense_bytes": 1e9, "four_bit": True, "packed": True}, 5.0),
        (AMPERE, {"dense_bytes": 1e9}, 4.0),
        (GEFORCE, {"dense_bytes": 1e9}, 8.0),
        (DEVICE, EXPERTS, TOUCHED / 0.4),
        (DEVICE, {**EXPERTS, "expert_share": 0}, 0.0),
        (DEVICE, {**EXPERTS, "four_bit_experts": True, "gain": 2.0}, TOUCHED / 0.2),
        (DEVICE, {**EXPERTS, "four_bit_experts": True}, TOUCHED / 0.1),  # widened: 0.1 GB/s at most
        (GEFORCE, {**EXPERTS, "four_bit_experts": True}, TOUCHED / 0.05),
        (DEVICE, {**EXPERTS, "dp": 2}, (1 - 0.5 ** (28**0.5)) / 0.4),
        (DEVICE, {**EXPERTS, "dense_bytes": 1e9}, 2.0 + TOUCHED / 0.4),
        (DEVICE, {"cache": ((1000.0, None),)}, 4 * 1e6 / 0.8e9),
        (DEVICE, {"cache": ((1000.0, 100), (10.0, 1001))}, 4 * (1e5 + 1e4) / 0.8e9),
        (DEVICE, {"state_bytes": 5000.0}, 4 * 5000 / 0.8e9),
        (DEVICE, {"state_bytes": 5000.0, "eight_bit_cache": True}, 4 * 5000 / 0.1e9),
        (BLACKWELL, {"state_bytes": 5000.0, "eight_bit_cache": True}, 4 * 5000 / 0.8e9),
        (DEVICE, {"state_bytes": 5000.0, "dense_bytes": 1e9}, 2.0 + 4 * 5000 / 0.8e9),
    ],
)
def test_seconds_of_reading(device: Device, work: dict[str, Any], seconds: float) -> None:
    made = toy(device, **work)
    assert made.memory == pytest.approx(seconds)
    assert (made.compute, made.interconnect) == (0, 0)
    assert made.seconds == pytest.approx(seconds + made.launch)


@pytest.mark.parametrize(
    ("device", "work", "seconds"),
    [
        (DEVICE, {"token_ops": 1e9}, 16e9 / 0.5e12),
        (DEVICE, {"head_ops": 1e9}, 4e9 / 0.5e12),
        (DEVICE, {"token_ops": 1e9, "gain": 4.0}, 16e9 / 1e12),
        (AMPERE, {"token_ops": 1e9}, 16e9 / 0.25e12),
        (GEFORCE, {"token_ops": 1e9}, 16e9 / 0.125e12),
        (DEVICE, {"expert_ops": 1e9}, 24e9 / 0.25e12),
        (DEVICE, {"expert_ops": 1e9, "dp": 2}, 28e9 / 0.25e12),
        (DEVICE, {"expert_ops": 1e9, "gain": 4.0}, 24e9 / 0.5e12),
        (DEVICE, {"attention_ops": 1e6}, 1e6 * 12 * 500 / 0.125e12),
        (DEVICE, {"attention_ops": 1e6, "gain": 4.0}, 1e6 * 12 * 500 / 0.125e12),
        (DEVICE, {"attention_ops": 1e6, "token_ops": 1e9, "expert_ops": 1e9}, 0.048 + 16e9 / 0.5e12 + 24e9 / 0.25e12),
    ],
)
def test_seconds_of_multiplying(device: Device, work: dict[str, Any], seconds: float) -> None:
    made = toy(device, **work)
    assert made.compute == pytest.approx(seconds)
    assert (made.memory, made.interconnect) == (0, 0)
    assert made.seconds == pytest.approx(seconds + made.launch)


@pytest.mark.parametrize(
    ("device", "work", "microseconds"),
    [
        (DEVICE, {}, 0),
        (DEVICE, {"layers": 8}, 8 * 10),
        (AMPERE, {"layers": 8}, 8 * 14),
        (replace(DEVICE, compute_capability=(8, 6)), {"layers": 8}, 8 * 10),
        (DEVICE, {"layers": 8, "packed": True}, 8 * 16),
        (DEVICE, {"moe_layers": 6}, 6 * 25),
        (DEVICE, {"moe_layers": 6, "four_bit_experts": True}, 6 * 25),
        (DEVICE, {"moe_layers": 6, "four_bit_experts": True, "gain": 2.0}, 6 * 20),
        (DEVICE, {"moe_layers": 6, "gain": 2.0}, 6 * 25),
        (DEVICE, {"latent_layers": 5}, 5 * 7),
        (DEVICE, {"layers": 8, "moe_layers": 6, "latent_layers": 5}, 80 + 150 + 35),
    ],
)
def test_seconds_of_launching(device: Device, work: dict[str, Any], microseconds: float) -> None:
    made = toy(device, **work)
    assert made.launch == pytest.approx(FIXED + microseconds * 1e-6)
    assert made.seconds == made.launch


@pytest.mark.parametrize(
    ("packed", "eager_us", "seconds"), [(False, 10, FIXED + 80e-6), (False, 100, 800e-6), (True, 100, 848e-6)]
)
def test_kernels_that_are_launched_one_by_one_take_a_least_time(packed: bool, eager_us: float, seconds: float) -> None:
    made = toy(k=replace(K, eager_us=eager_us), layers=8, packed=packed)
    assert (made.launch, made.seconds) == pytest.approx((seconds, seconds))
    assert toy(k=replace(K, eager_us=0), layers=8, packed=True).launch == pytest.approx(FIXED + 8 * 16e-6)


@pytest.mark.parametrize(
    ("device", "ranks", "work", "seconds"),
    [
        (DEVICE, 1, {}, 0.0),
        (DEVICE, 2, {}, 20 * (8e-6 + 16e3 / 0.5e9)),
        (DEVICE, 4, {}, 20 * (8e-6 * 1.06 + 1.5 * 16e3 / 0.5e9)),
        (replace(DEVICE, link="bridge"), 2, {}, 20 * (8e-6 + 16e3 / 0.5e9)),
        (replace(DEVICE, link="bridge"), 4, {}, 20 * (13.4e-6 + 1.5 * 16e3 / 0.24e9)),
        (PCIE, 2, {}, 20 * (5e-6 + 16e3 / 0.6e9)),
        (PCIE, 3, {}, 20 * (5e-6 + 4 / 3 * 16e3 / 0.6e9)),
        (PCIE, 4, {}, 20 * (13.4e-6 + 1.5 * 16e3 / 0.24e9)),
        (PCIE, 8, {}, 20 * (26e-6 + 1.75 * 16e3 / 0.15e9)),
        (PCIE, 16, {}, 20 * (26e-6 + 1.875 * 16e3 / 0.15e9)),
        # Two ranks of two GPUs: those of a rank sum the attention; all four exchange 28 tokens of the layers' experts.
        (DEVICE, 1, {"dp": 2, "moe_layers": 6}, 6 * (8e-6 + 28e3 / 0.5e9)),
        (
            *(DEVICE, 2, {"dp": 2, "moe_layers": 6}),
            (20 - 6) * (8e-6 + 16e3 / 0.5e9) + 6 * (8e-6 * 1.06 + 1.5 * 28e3 / 0.5e9),
        ),
    ],
)
def test_seconds_of_summing_over_ten_layers(device: Device, ranks: int, work: dict[str, Any], seconds: float) -> None:
    made = toy(device, ranks, layers=10, row_bytes=1000, **work)
    assert made.interconnect == pytest.approx(seconds)
    assert made.seconds == pytest.approx(seconds + made.launch)


def test_the_longer_of_reading_and_multiplying_hides_the_other_but_not_cache_and_attention() -> None:
    rest = {"state_bytes": 5000.0, "attention_ops": 1e6}
    beside = 4 * 5000 / 0.8e9 + 0.048 + FIXED
    assert toy(dense_bytes=1e9, token_ops=1e9, **rest).seconds == pytest.approx(2.0 + beside)
    assert toy(dense_bytes=1e6, token_ops=1e9, **rest).seconds == pytest.approx(0.032 + beside)


@pytest.mark.parametrize(
    ("work", "bound"),
    [
        ({"dense_bytes": 1e9, "token_ops": 1e9}, "memory"),
        ({"dense_bytes": 1e6, "token_ops": 1e9}, "compute"),
        ({"layers": 8}, "launch"),
        ({"layers": 8, "row_bytes": 1e6}, "interconnect"),
    ],
)
def test_a_step_is_bound_by_what_takes_longest(work: dict[str, Any], bound: str) -> None:
    assert toy(ranks=2, **work).bound == bound


# -- users -------------------------------------------------------------------------------------------------------------

TOKEN = 0.5e-3
"""Seconds of a token, with these coefficients and this work."""
ONLY_TOKENS = replace(NOTHING, token_ops=0.25e9)
PLAIN = replace(K, step_us=0, request_us=0, first_us=0)


def decoded(load: Load, k: Coefficients = PLAIN, **split: int) -> tuple[float, Step]:
    setup = Setup("vllm", "bfloat16", "none", **split)
    return decode(replace(ONLY_TOKENS, dp=setup.dp), k, DEVICE, RATES, setup, load)


@pytest.mark.parametrize(
    ("load", "interrupt", "tokens"),
    [
        (Load(1, 64, 32), 1.0, 1),
        # Seven others begin every 32 steps: in 7/32 of the steps there are 64 tokens of a prompt.
        (Load(8, 64, 32), 1.0, 8 + 7 / 32 * 64),
        (Load(8, 64, 32), 0.5, 8 + 7 / 32 * 64 / 2),
        # Prompts of 4,096 tokens have two pieces: in 14/32 of the steps there are 2,048 tokens.
        (Load(8, 4096, 32), 1.0, 8 + 7 / 32 * 4096),
        (Load(129, 64, 32), 1.0, 129 + 4 * 64),  # four prompts in every step
    ],
)
def test_a_token_waits_for_the_prompts_that_begin_meanwhile(load: Load, interrupt: float, tokens: float) -> None:
    seconds, _ = decoded(load, replace(PLAIN, interrupt=interrupt))
    assert seconds == pytest.approx(TOKEN * tokens)


@pytest.mark.parametrize(
    ("split", "seconds"),
    [
        ({"pp": 2}, 2 * TOKEN * (4 + 3.5 / 32 * 64)),  # two stages, each with half of the users at a time
        ({"dp": 2}, TOKEN * (8 + 15 / 32 * 64)),  # a prompt of one rank is waited for by both
        ({"dp": 8}, TOKEN * (8 + 1 * 64)),  # 63 others: in all steps about two ranks have one
    ],
)
def test_stages_take_turns_and_ranks_wait_for_one_another(split: dict[str, int], seconds: float) -> None:
    assert decoded(Load(8, 64, 32), replace(PLAIN, interrupt=1.0), **split)[0] == pytest.approx(seconds)


@pytest.mark.parametrize(("osl", "tokens"), [(69, 72), (71, 8)])
def test_the_step_that_dominates_has_prompts_if_such_steps_take_half_of_the_time(osl: int, tokens: int) -> None:
    """With seven others, 7 of ``osl`` steps have 72 tokens instead of 8: 504 of 8 · osl + 448."""
    _, typical = decoded(Load(8, 64, osl), replace(PLAIN, interrupt=1.0))
    assert typical.seconds == pytest.approx(TOKEN * tokens)


def first(load: Load, k: Coefficients = PLAIN, todo: Work = ONLY_TOKENS, **split: int) -> tuple[float, float, float]:
    setup = Setup("vllm", "bfloat16", "none", **split)
    return first_token(replace(todo, dp=setup.dp), k, DEVICE, RATES, setup, load)


ALONE = TOKEN * (100 + 15) * 1.5
"""A prompt of 100 beside a token of each of 15 others, in this fit's units."""


def test_seconds_to_the_first_token() -> None:
    load = Load(16, 100, 32)
    alone, steady, last = first(load)
    assert alone == pytest.approx(ALONE)
    assert steady == pytest.approx(2 * ALONE)  # the fourth root of 16
    assert last == pytest.approx(TOKEN * (1600 + 15) * 1.5)
    start = replace(PLAIN, first_us=1000)
    assert first(load, start) == pytest.approx((alone + 1e-3, steady + 4e-3, last + 1e-3))
    assert first(load, replace(start, first_us=10**6))[2] == pytest.approx(4 + 2 * ALONE)  # no sooner than steady
    experts = first(load, todo=replace(ONLY_TOKENS, moe_layers=1), k=replace(PLAIN, moe_us=0, unfused_us=0))
    assert experts[0] == pytest.approx(ALONE / 1.5 * 2.0)


@pytest.mark.parametrize(("isl", "steps"), [(2048, 1), (2049, 2049 / 2048), (4096, 2)])
def test_a_prompt_has_a_step_for_every_2048_tokens(isl: int, steps: float) -> None:
    assert first(Load(16, isl, 32))[0] == pytest.approx(TOKEN * (isl + 15 * steps) * 1.5)


def test_first_tokens_wait_for_all_stages_and_ranks() -> None:
    load = Load(16, 100, 32)
    assert first(load, pp=2)[0] == pytest.approx(2 * TOKEN * (100 + 7.5) * 1.5)
    alone, steady, _ = first(load, dp=16)
    assert alone == pytest.approx(ALONE)
    assert steady == pytest.approx(4 * ALONE)
    experts = replace(NOTHING, expert_ops=1e9)
    each = 1e9 / 0.25e12 * 1.5
    assert first(load, todo=experts, dp=2)[0] == pytest.approx(each * (100 + 2 * 15))
    assert first(load, todo=experts, dp=2)[2] == pytest.approx(each * (2 * 1600 + 2 * 15))


def test_attention_counts_half_of_the_prompt_before_each_of_its_tokens() -> None:
    attention, load = replace(NOTHING, attention_ops=1e6), Load(8, 64, 32)
    assert first(load, todo=attention)[0] == pytest.approx(1e6 * 64 * 32 / 0.125e12 * 1.5)
    setup = Setup("vllm", "bfloat16", "none")
    waits, _ = decode(attention, replace(PLAIN, interrupt=1.0), DEVICE, RATES, setup, load)
    assert waits == pytest.approx(7 / 32 * 1e6 * 64 * 32 / 0.125e12)
    cached = replace(NOTHING, cache=((1000.0, None),))
    reads, _ = decode(cached, PLAIN, DEVICE, RATES, setup, replace(load, users=1))
    assert reads == pytest.approx((64 + 16) * 1000 / 0.8e9)
    assert first(load, todo=cached)[0] == pytest.approx(7 * (64 + 16) * 1000 / 0.8e9 * 1.5)
