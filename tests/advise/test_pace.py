"""Loads, limits and replicas at their borders: the last that is met, and the first that is not."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import pytest

from tests.advise.worlds import machine, sliced
from tests.plan.stack_values import FACTS, VLLM
from wizard.advise import service
from wizard.advise.advice import Choice, Constraints, Speed
from wizard.advise.candidates import many
from wizard.advise.devices import Device, devices
from wizard.advise.reasons import Note, Reason
from wizard.advise.release import Resolved
from wizard.advise.setup import Setup
from wizard.advise.speed import Load

SPEED = Speed(
    40.0, 75.0, 900.0, 30.0, 60.0, "roofline", "good", ttft_high_ms=1200.0, ttft_last_ms=1100.0, served=3, users=3
)
RELEASE = Resolved("native", "26.08", Note("release"), engine_version="0.31.0")
EIGHT = devices(machine("8xL4"))[0]
ONE, TWO, EIGHTH = (Setup("vllm", "bfloat16", "none", tp=tp) for tp in (1, 2, 8))


@pytest.mark.parametrize(
    ("length", "isl", "osl"),
    [
        *((8192, 1024, 256), (1280, 1024, 256), (1279, 1023, 256), (513, 257, 256), (512, 384, 128)),
        *((100, 75, 25), (4, 3, 1), (2, 1, 1), (1, 1, 1)),
    ],
)
def test_requests_are_shortened_first_in_the_prompt_then_in_both(length: int, isl: int, osl: int) -> None:
    """A chat's have 1,024 and 256 tokens."""
    assert service.load_of(Constraints(), 7, length) == Load(7, isl, osl)


@pytest.mark.parametrize(
    ("constraints", "given", "least"),
    [
        (Constraints(), None, 0),
        (Constraints(isl=10), 266, 266),
        (Constraints(osl=10), 1034, 1034),
        (Constraints(isl=3000, osl=10), 3010, 3010),
        (Constraints(ttft=1.0), None, 1000),
        (Constraints(tpot=1.0), None, 1000),
        (Constraints(tpot=1.0, isl=10, osl=20), 30, 30),
    ],
)
def test_the_tokens_that_a_request_has(constraints: Constraints, given: int | None, least: int) -> None:
    assert service.request_tokens(constraints) == given
    assert service.least_tokens(constraints, 1000) == least


@pytest.mark.parametrize(
    ("constraints", "code", "changes"),
    [
        ({"max_len": 4096}, None, {}),
        ({"max_len": 4097}, "trained-context", {"max_len": 4096}),
        ({"isl": 4000, "osl": 96}, None, {}),
        ({"isl": 4000, "osl": 97}, "trained-context", {}),
        ({"isl": 400, "osl": 96, "max_len": 496}, None, {}),
        ({"isl": 400, "osl": 97, "max_len": 496}, "context", {"max_len": 497}),
        ({"isl": 4000, "osl": 97, "max_len": 9999}, "trained-context", {}),
    ],
)
def test_requests_may_be_as_long_as_the_context(
    constraints: dict[str, int], code: str | None, changes: dict[str, int]
) -> None:
    obstacle = service.too_long(replace(FACTS, max_context=4096), Constraints(**constraints))
    assert (obstacle and obstacle.code) == code
    assert obstacle is None or obstacle.remedies[0].changes == changes
    unknown = service.too_long(replace(FACTS, max_context=None), Constraints(**constraints))
    assert (unknown and unknown.code) == ("context" if code == "context" else None)


@pytest.mark.parametrize(
    ("goal", "users", "replicas", "each", "all_"),
    [
        *(("chat", None, 1, 4, 4), ("chat", None, 3, 2, 4), ("chat", None, 5, 1, 4), ("chat", 9, 8, 2, 9)),
        *(("chat", 8, 8, 1, 8), ("throughput", None, 3, 64, 192), ("throughput", 9, 3, 3, 9)),
    ],
)
def test_users_are_shared_and_of_a_goal_without_readers_multiplied(
    goal: str, users: int | None, replicas: int, each: int, all_: int
) -> None:
    constraints = Constraints(goal=goal, users=users)
    assert service.default_users(constraints, replicas) == each
    assert service.all_users(constraints, replicas) == all_


def test_replicas_serve_the_users_that_were_asked_for() -> None:
    four = service.together(SPEED, Constraints(users=10), 4)
    assert four
    assert (four.users, four.served, four.throughput_tokens_per_s) == (10, 10, 75.0 * 10 / 3)
    waiting = service.together(replace(SPEED, served=2), Constraints(users=10), 4)
    assert waiting
    assert waiting.served == 8
    assert service.together(SPEED, Constraints(users=10), 1) is SPEED
    unknown = replace(SPEED, throughput_tokens_per_s=None, served=None)
    both = service.together(unknown, Constraints(users=5), 2)
    assert both
    assert (both.users, both.throughput_tokens_per_s, both.served) == (5, None, None)
    assert service.together(None, Constraints(), 2) is None


def chosen(**speed: Any) -> Choice:
    return replace(VLLM, speed=replace(SPEED, **speed))


@pytest.mark.parametrize(
    ("speed", "constraints", "misses"),
    [
        ({}, {}, False),
        ({"tpot_ms": 50.0, "ttft_ms": 1300.0}, {}, False),
        ({"tpot_ms": 50.1}, {}, True),
        ({"ttft_ms": 1300.1}, {}, True),  # three tenths more than the goal's second
        ({"ttft_ms": None}, {}, True),
        ({"tpot_ms": None}, {}, False),
        ({"tpot_ms": 999.0, "ttft_ms": None}, {"goal": "throughput"}, False),
        ({}, {"tpot": 40.0}, False),
        ({}, {"tpot": 39.0}, True),
        ({}, {"ttft": 692.0}, True),
        ({}, {"ttft": 693.0}, False),
        ({"high": 50.0}, {"p99": True}, False),
        ({"high": 50.1}, {"p99": True}, True),
        ({"high": None}, {"p99": True}, False),
        ({"high": 50.0, "ttft_last_ms": 1301.0}, {"p99": True}, True),
        ({"high": 50.0, "ttft_high_ms": 1301.0}, {"p99": True}, True),
        ({"high": 50.0, "ttft_high_ms": None, "ttft_last_ms": None}, {"p99": True}, True),
    ],
)
def test_a_pace_that_people_expect_is_missed_from_here_on(
    speed: dict[str, Any], constraints: dict[str, Any], misses: bool
) -> None:
    assert service.misses(chosen(**speed), Constraints(**constraints)) is misses


@pytest.mark.parametrize(
    ("speed", "constraints", "code", "changes"),
    [
        ({}, {}, None, {}),
        ({}, {"tpot": 40.0, "ttft": 900.0}, None, {}),
        ({}, {"tpot": 39.9}, "slow-tokens", {"tpot": 40.0}),
        ({"tpot_ms": 40.1}, {"tpot": 40.0}, "slow-tokens", {"tpot": 41.0}),
        ({}, {"ttft": 899.5}, "slow-start", {"ttft": 900.0}),
        ({}, {"tpot": 39.9, "ttft": 1.0}, "slow-tokens", {"tpot": 40.0}),
        ({}, {"tpot": 60.0, "p99": True}, None, {}),
        ({}, {"tpot": 59.0, "p99": True}, "slow-tokens-p99", {"tpot": 60.0}),
        ({}, {"ttft": 1200.0, "p99": True}, None, {}),
        ({}, {"ttft": 1199.0, "p99": True}, "slow-start-p99", {"ttft": 1200.0}),
        ({"ttft_ms": None}, {"ttft": 1.0}, "waiting-users", {"users": 3}),
        ({"ttft_ms": None}, {"tpot": 40.0}, None, {}),
        ({"tpot_ms": None}, {"tpot": 40.0}, "limit-unproven", {"tpot": None}),
        ({"tpot_ms": None}, {"tpot": 40.0, "ttft": 1.0}, "limit-unproven", {"ttft": None, "tpot": None}),
        ({"tpot_ms": None}, {}, None, {}),
    ],
)
def test_a_limit_is_missed_from_here_on(
    speed: dict[str, Any], constraints: dict[str, Any], code: str | None, changes: dict[str, Any]
) -> None:
    obstacle = service.too_slow(replace(SPEED, **speed), Constraints(**constraints))
    assert (obstacle and obstacle.reason.code) == code
    if obstacle:
        assert obstacle.code == ("tpot" if "tpot" in constraints else "ttft")
        assert obstacle.remedies[0].changes == changes
        assert obstacle.reason.params.get("users", 3) == 3


def test_a_limit_that_is_met_is_a_whole_number() -> None:
    some = chosen(tpot_ms=39.1, ttft_ms=899.9)
    assert [service.limit_met(name, some, Constraints()) for name in ("tpot", "ttft")] == [40.0, 900.0]
    assert [service.limit_met(name, some, Constraints(p99=True)) for name in ("tpot", "ttft")] == [60.0, 1200.0]
    assert service.limit_met("ttft", chosen(ttft_ms=None), Constraints()) == inf
    assert service.limit_met("tpot", replace(VLLM, speed=None), Constraints()) == inf


@pytest.mark.parametrize(
    ("changes", "speed", "enough"),
    [
        ({}, {"tpot_ms": 10.0}, True),
        ({}, {"tpot_ms": 10.1}, False),
        ({}, {"tpot_ms": 9.0, "ttft_ms": 1301.0}, False),
        ({}, {"tpot_ms": None}, True),
        ({"max_seq_len": 4095}, {"tpot_ms": 10.0}, False),
        ({"max_seq_len": 4096}, {"tpot_ms": 10.0}, True),
        ({"max_batch_size": 2, "replicas": 2}, {"tpot_ms": 10.0}, True),
        ({"max_batch_size": 1, "replicas": 2}, {"tpot_ms": 10.0}, False),
        ({"max_batch_size": 2, "dp": 2}, {"tpot_ms": 10.0}, True),
    ],
)
def test_replicas_are_enough_from_here_on(changes: dict[str, int], speed: dict[str, Any], enough: bool) -> None:
    some = replace(chosen(**speed), **{"max_seq_len": 4096, "max_batch_size": 4, **changes})
    assert service.enough(some, Constraints(), 4096) is enough


SLICES = devices(sliced("1xA100", "1g.10gb", 9856 * 1024**2, 4))[0]
OLD, NINE = (replace(RELEASE, runtime="docker", engine_version=version) for version in ("0.8.5", "0.9"))


@pytest.mark.parametrize(
    ("device", "setup", "constraints", "release", "most", "tried"),
    [
        (EIGHT, ONE, {}, RELEASE, 8, [1, 4]),
        (EIGHT, ONE, {"users": 9}, RELEASE, 8, [1, 8]),
        (EIGHT, ONE, {"users": 1}, RELEASE, 8, [1]),
        (EIGHT, ONE, {"users": 2}, RELEASE, 8, [1, 2]),
        (EIGHT, ONE, {"max_gpus": 3}, RELEASE, 3, [1, 3]),
        (EIGHT, ONE, {"max_gpus": 9}, RELEASE, 8, [1, 4]),
        (EIGHT, ONE, {"replicas": 9}, RELEASE, 8, [9]),
        (EIGHT, ONE, {"goal": "throughput"}, RELEASE, 8, [8]),
        (EIGHT, ONE, {"goal": "throughput", "users": 3}, RELEASE, 8, [3]),
        (EIGHT, TWO, {"users": 9}, RELEASE, 4, [1, 2, 4]),
        (EIGHT, TWO, {"max_gpus": 7, "users": 9}, RELEASE, 3, [1, 2, 3]),
        (EIGHT, EIGHTH, {}, RELEASE, 1, [1]),
        (EIGHT, EIGHTH, {"max_gpus": 7}, RELEASE, 1, [1]),
        (EIGHT, ONE, {}, OLD, 1, [1]),
        (EIGHT, ONE, {}, NINE, 8, [1, 4]),
        (EIGHT, ONE, {}, replace(OLD, runtime="native"), 8, [1, 4]),
        (EIGHT, replace(ONE, stack="sglang"), {}, NINE, 1, [1]),
        (EIGHT, replace(ONE, stack="sglang"), {}, RELEASE, 8, [1, 4]),
        (SLICES, replace(ONE, stack="transformers"), {}, RELEASE, 4, [1, 4]),
        (SLICES, replace(ONE, stack="transformers"), {"max_gpus": 3}, RELEASE, 3, [1, 3]),
        (replace(SLICES, slices=()), replace(ONE, stack="transformers"), {}, RELEASE, 1, [1]),
    ],
)
def test_numbers_of_replicas(
    device: Device, setup: Setup, constraints: dict[str, Any], release: Resolved, most: int, tried: list[int]
) -> None:
    asked = Constraints(**constraints)
    assert service.most_replicas(asked, device, setup, release) == most
    assert [*service.replicas(asked, device, setup, release)] == tried


@pytest.mark.parametrize(
    ("setup", "release", "constraints", "left", "why"),
    [
        (replace(ONE, replicas=8), RELEASE, {}, None, ""),
        (replace(ONE, replicas=7), RELEASE, {}, 1, "idle-enough"),
        (replace(ONE, replicas=7), RELEASE, {"max_gpus": 7}, None, ""),
        (replace(ONE, replicas=7), RELEASE, {"replicas": 7}, None, ""),
        (ONE, OLD, {}, 7, "idle-alone"),
        (replace(ONE, tp=4), OLD, {}, 4, "idle-alone"),
        (replace(ONE, tp=5), RELEASE, {}, 3, "idle-rest"),
    ],
)
def test_gpus_that_stay_free_have_a_reason(
    setup: Setup, release: Resolved, constraints: dict[str, int], left: int | None, why: str
) -> None:
    note = service.idle(Constraints(**constraints), EIGHT, setup, release)
    assert (note and note.params["count"]) == left
    if note:
        assert isinstance(note.params["why"], Reason)
        assert (note.params["why"].code, note.params["gpus"], note.params["gpu"]) == (why, 8, "NVIDIA L4")


@pytest.mark.parametrize(
    ("setup", "constraints", "code", "most"),
    [
        (replace(ONE, replicas=8), {"replicas": 8}, None, 8),
        (replace(ONE, replicas=9), {"replicas": 9}, "few-for-replicas", 8),
        (replace(TWO, replicas=5), {"replicas": 5}, "few-for-replicas", 4),
        (replace(TWO, replicas=4), {"replicas": 4, "max_gpus": 7}, "replicas-over-max-gpus", 3),
        (replace(TWO, replicas=3), {"replicas": 3, "max_gpus": 6}, None, 3),
    ],
)
def test_more_replicas_than_there_are_gpus_for(
    setup: Setup, constraints: dict[str, int], code: str | None, most: int
) -> None:
    obstacle = service.too_many(Constraints(**constraints), EIGHT, setup, RELEASE)
    assert (obstacle and obstacle.reason.code) == code
    if obstacle:
        assert obstacle.remedies[0].changes == {"replicas": most}
        assert obstacle.reason.params["need"] == setup.gpus * setup.replicas
        assert obstacle.reason.params["asked"] == setup.replicas


def test_more_than_the_default_users_are_many() -> None:
    assert [many(Constraints(users=users)) for users in (None, 1, 4, 5)] == [False, False, False, True]
