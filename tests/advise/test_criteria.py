"""Each criterion of the ranking by two choices that differ in one figure, and where the next step of it begins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.advise.worlds import LLAMA_8B, facts_of
from tests.plan.stack_values import VLLM
from wizard.advise import comparison, criteria, fit, rules
from wizard.advise.advice import Checkpoint, Choice, Constraints, Memory, Offload, Share, Speed
from wizard.advise.reasons import Note, because, load
from wizard.model.facts import ModelFacts

FACTS = facts_of(LLAMA_8B)
SPEED = Speed(20.0, 100.0, 500.0, 15.0, 30.0, "roofline", "good", "memory", users=4, isl=1024, osl=256)
BILL = Memory(16 * 10**9, 131072, 100_000, 10**9, 10**9, 31 * 10**9, 32 * 10**9)
BASE = replace(VLLM, speed=SPEED, memory=BILL, max_batch_size=4, max_seq_len=32_768, quantization="none", warnings=())


def choice(**changes: Any) -> Choice:
    speed = {name: changes.pop(name) for name in ("tpot_ms", "ttft_ms", "throughput_tokens_per_s") if name in changes}
    return replace(BASE, **{"speed": replace(SPEED, **speed), **changes})


def better(first: Choice, second: Choice, facts: ModelFacts = FACTS, **constraints: Any) -> bool:
    key = criteria.key_of(facts, Constraints(**constraints))
    return key(first) < key(second)


PCIE = (Note(rules.PCIE, {"tp": 8, "pp": 1}),)


@pytest.mark.parametrize(
    ("goal", "worse"),
    [
        ("chat", {"max_seq_len": 1024}),
        ("chat", {"max_batch_size": 1}),
        ("chat", {"ttft_ms": 1301.0}),
        ("chat", {"tpot_ms": 51.0}),
        ("chat", {"tpot_ms": 25.1}),
        ("chat", {"quantization": "int8_wo"}),
        ("chat", {"quantization": "fp8"}),
        ("chat", {"stack": "trtllm-engine"}),
        ("chat", {"tp": 2}),
        ("chat", {"tp": 8, "warnings": PCIE}),
        ("chat", {"speed": None}),
        ("throughput", {"throughput_tokens_per_s": 99.4}),
        ("throughput", {"speed": None}),
        ("throughput", {"tp": 2}),
        ("throughput", {"max_seq_len": 1024}),
        ("throughput", {"stack": "trtllm-engine"}),
        ("quality", {"quantization": "fp8"}),
        ("quality", {"max_batch_size": 1}),
        ("quality", {"ttft_ms": 1301.0}),
        ("smallest", {"tp": 2}),
        ("smallest", {"replicas": 2}),
        ("smallest", {"memory": replace(BILL, weights_bytes=16 * 10**9 + 1)}),
        ("smallest", {"tpot_ms": 20.1}),
    ],
)
def test_this_alone_makes_a_choice_worse(goal: str, worse: dict[str, Any]) -> None:
    assert better(choice(), choice(**worse), goal=goal)
    assert not better(choice(**worse), choice(), goal=goal)


@pytest.mark.parametrize(
    ("goal", "better_one", "other"),
    [
        ("chat", {"replicas": 4}, {"replicas": 2}),  # on a GPU each: those that would be idle
        ("chat", {"tp": 2, "replicas": 1}, {"tp": 2, "replicas": 2}),
        ("chat", {"tpot_ms": 10.0, "tp": 1}, {"tpot_ms": 9.0, "tp": 2}),  # nobody notices
        ("chat", {"tpot_ms": 15.0, "tp": 2}, {"tpot_ms": 21.0, "tp": 1}),
        ("chat", {"max_seq_len": 65_536, "tp": 1}, {"max_seq_len": 32_768, "tp": 1, "tpot_ms": 20.1}),
        ("throughput", {"throughput_tokens_per_s": 100.4, "tp": 1}, {"throughput_tokens_per_s": 99.6, "tp": 2}),
        ("throughput", {"throughput_tokens_per_s": 101.0, "tp": 8}, {"throughput_tokens_per_s": 100.0, "tp": 1}),
        ("quality", {"tpot_ms": 49.0}, {"tpot_ms": 1.0, "quantization": "fp8"}),
        ("smallest", {"tp": 1, "quantization": "none"}, {"tp": 2, "quantization": "fp8"}),
        ("smallest", {"speed": None}, {"tpot_ms": 1000.5}),  # an unknown pace counts as a second
        ("smallest", {"tpot_ms": 999.5}, {"speed": None}),
    ],
)
def test_what_goes_before_what(goal: str, better_one: dict[str, Any], other: dict[str, Any]) -> None:
    assert better(choice(**better_one), choice(**other), goal=goal)


@pytest.mark.parametrize(("parameters", "first"), [(19_999_999_999, "none"), (20_000_000_000, "fp8")])
def test_large_models_are_better_in_formats_that_tensor_cores_multiply(parameters: int, first: str) -> None:
    facts = replace(FACTS, parameters=parameters)
    fp8, none = choice(quantization="fp8"), choice()
    assert better(fp8, none, facts) is (first == "fp8")
    unpacked = choice(quantization="fp8", warnings=(Note(rules.WEIGHT_ONLY),))
    assert better(none, unpacked, facts)
    assert better(none, choice(quantization="int8_wo"), facts)


@pytest.mark.parametrize(
    ("tpot_ms", "steps"), [(1.0, 0), (10.0, 0), (12.4, 0), (12.6, 1), (15.6, 1), (15.7, 2), (None, 20), (1000.0, 20)]
)
def test_paces_differ_by_a_quarter(tpot_ms: float | None, steps: int) -> None:
    assert criteria._pace(choice(tpot_ms=tpot_ms)) == steps


@pytest.mark.parametrize(
    ("quantization", "rank"),
    [
        *((None, 0), ("none", 0), ("fp8", 1), ("fp8_block", 1), ("int8_sq", 2), ("int8_wo", 2), ("gguf_q8_0", 2)),
        *(("nvfp4", 3), ("mxfp4", 3), ("gguf_q6_k", 3), ("w4a8_awq", 4), ("gguf_q5_k_m", 4), ("int4_awq", 5)),
        ("gguf_q4_k_m", 5),
    ],
)
def test_what_formats_lose(quantization: str | None, rank: int) -> None:
    assert criteria.quality(choice(quantization=quantization)) == rank


@pytest.mark.parametrize(("parameters", "first"), [(1_999_999_999, "gguf_q8_0"), (2_000_000_000, "gguf_q4_k_m")])
def test_large_files_on_an_unmeasured_cpu_are_better_with_fewer_bits(parameters: int, first: str) -> None:
    facts = replace(FACTS, anatomy=None, parameters=parameters)
    cpu = {"devices": (), "stack": "llamacpp", "speed": None}
    eight, four = (choice(quantization=name, **cpu) for name in ("gguf_q8_0", "gguf_q4_k_m"))
    assert better(eight, four, facts) is (first == "gguf_q8_0")
    measured = {**cpu, "speed": SPEED}
    assert better(*(choice(quantization=name, **measured) for name in ("gguf_q8_0", "gguf_q4_k_m")), facts)


@pytest.mark.parametrize(
    ("changes", "constraints", "missing"),
    [
        ({"max_seq_len": 32_768}, {}, 0),
        ({"max_seq_len": 2048}, {}, 0),
        ({"max_seq_len": 2047}, {}, 1),
        ({"max_seq_len": 1024}, {}, 1),
        ({"max_seq_len": 512}, {}, 2),
        ({"max_seq_len": 512, "max_batch_size": 1}, {}, 3),
        ({"max_batch_size": fit.FEW}, {}, 0),
        ({"max_batch_size": fit.FEW - 1}, {}, 1),
        ({"max_batch_size": 7}, {"users": 8}, 1),
        ({"max_batch_size": 8}, {"users": 8}, 0),
        ({"max_seq_len": 512}, {"max_len": 512}, 0),
        ({"max_seq_len": 511}, {"max_len": 512}, 1),
        ({"max_seq_len": fit.COMFORTABLE - 1, "quantization": "fp8"}, {}, 1),
        ({"max_seq_len": fit.COMFORTABLE, "quantization": "fp8"}, {}, 0),
        ({"max_seq_len": 2048, "quantization": "fp8"}, {"isl": 1024}, 0),
        ({"max_seq_len": 2048, "quantization": "fp8"}, {"goal": "throughput"}, 0),
        ({"max_seq_len": 29_695}, {"goal": "documents"}, 1),
        ({"max_seq_len": 29_696}, {"goal": "documents"}, 0),
    ],
)
def test_doublings_of_the_context_that_are_missing(
    changes: dict[str, Any], constraints: dict[str, Any], missing: int
) -> None:
    assert fit.cramped(choice(**changes), FACTS, Constraints(**constraints)) == missing
    short = replace(FACTS, max_context=512)
    if not constraints:
        assert fit.cramped(choice(max_seq_len=512), short, Constraints()) == 0


# -- what is said of them ----------------------------------------------------------------------------------------------


def limit(**changes: Any) -> str:
    why = comparison.limit(choice(**changes), FACTS).params["why"]
    return why.code  # type: ignore[union-attr]


def test_the_limit_of_a_choice() -> None:
    """FACTS has 131,072 tokens of context: up to 32,768 for each user count."""
    room = 4 * 32_768
    assert limit(memory=replace(BILL, kv_capacity_tokens=room - 1)) == "limit-room"
    for bound in ("memory", "compute", "launch", "interconnect"):
        speed = replace(SPEED, bound=bound)
        assert limit(memory=replace(BILL, kv_capacity_tokens=room), speed=speed) == f"limit-{bound}"
    roomy = {"memory": replace(BILL, kv_capacity_tokens=room), "speed": None}
    assert limit(**roomy) == "no-limit"
    assert limit(**roomy, max_seq_len=131_071) == "no-limit"
    assert limit(**roomy, max_seq_len=131_072) == "limit-model"


@pytest.mark.parametrize(("left", "code"), [(131072 * 7, "no-limit"), (131072 * 7 - 1, "limit-room")])
def test_a_cache_on_the_host_could_use_the_rest(left: int, code: str) -> None:
    memory = replace(BILL, kv_capacity_tokens=4 * 32_768 - 7, budget_bytes=BILL.total_bytes + left)
    assert limit(memory=memory, devices=(), speed=None) == code
    assert limit(memory=memory, speed=None) == "limit-room"
    whole = Offload(33, 33, 0, BILL)
    assert limit(memory=memory, speed=None, offload=whole) == code
    tight = replace(memory, budget_bytes=memory.total_bytes)
    shares = (Share(16, memory), Share(17, tight))
    assert limit(memory=memory, speed=None, offload=replace(whole, shares=shares)) == "limit-room"
    assert limit(memory=memory, speed=None, offload=replace(whole, gpu_layers=32)) == "limit-offload"


@pytest.mark.parametrize(
    ("criterion", "changes", "advantage"),
    [
        ("room", {"tpot_ms": 19.0}, "faster"),
        ("room", {"tpot_ms": 19.1}, None),
        ("pace", {"tpot_ms": 10.0}, None),
        ("speed", {"tpot_ms": 10.0}, None),
        ("idle", {"tpot_ms": 10.0}, None),
        ("room", {"devices": ()}, "fewer-gpus"),
        ("gpus", {"devices": ()}, None),
        ("pace", {"max_seq_len": 32_769}, "more-room"),
        ("room", {"max_seq_len": 32_769}, None),
        ("pace", {}, None),
        ("room", {"speed": None}, None),
    ],
)
def test_what_a_choice_has_although_it_comes_later(
    criterion: str, changes: dict[str, Any], advantage: str | None
) -> None:
    though = comparison.behind("chat", criterion, choice(**changes), choice()).params["though"]
    assert (though and though.code) == advantage  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("criterion", "changes", "why"),
    [
        ("idle", {}, because("gpu-idle")),
        ("offload", {}, because("more-on-host")),
        ("measured", {}, because("pace-rough")),
        ("measured", {"speed": None}, because("pace-unknown")),
        ("measured", {"warnings": (Note("untried"),)}, because("not-tested")),
        ("room", {"max_seq_len": 99}, because("less-room", users=4, tokens=99)),
        ("plain", {}, because("slower-plain")),
        ("simplicity", {"stack": "sglang"}, because("less-simple", stack="vllm")),
        ("gpus", {"tp": 2, "replicas": 3}, because("more-gpus", mine=2, theirs=1)),
        ("replicas", {"replicas": 3}, because("replica-count", mine=3, theirs=1)),
        ("links", {}, because("over-pcie")),
        (None, {}, because("equal")),
        ("size", {"tp": 2, "pp": 3}, because("more-bytes", mine_bytes=96 * 10**9, theirs_bytes=16 * 10**9)),
    ],
)
def test_why_a_choice_comes_later(criterion: str | None, changes: dict[str, Any], why: object) -> None:
    assert comparison.behind("chat", criterion, choice(**changes), choice()).params["why"] == why


def test_the_bytes_of_a_choice_are_those_on_all_gpus_and_the_host() -> None:
    split = Offload(16, 33, 0, replace(BILL, weights_bytes=5), (Share(8, BILL), Share(8, BILL)))
    assert comparison._stored(choice(offload=split)) == 32 * 10**9 + 5
    assert comparison._stored(choice(offload=replace(split, shares=()))) == 16 * 10**9 + 5
    assert comparison._stored(choice(tp=2, pp=2)) == 64 * 10**9


def test_weights_that_are_downloaded_whole_come_after_those_that_are_ready() -> None:
    ready, loading = (choice(checkpoint=Checkpoint("o/r", 1, how)) for how in ("ready", "loading"))
    assert better(ready, loading)


def test_a_load_is_known_if_all_of_it_is() -> None:
    assert load(4, 1024, 256) == because("load", users=4, isl=1024, osl=256)
    assert [load(None, 1024, 256), load(4, None, 256), load(4, 1024, None)] == [None] * 3
