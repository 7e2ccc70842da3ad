"""Data parallelism: what its ranks hold, when the advice chooses it, and when it is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.advise.test_gpu import choices, rejections
from tests.advise.worlds import LLAMA_8B, facts_of
from tests.plan.stack_values import FACTS, VLLM, engine, machine, native, planned
from tests.worded import text_of
from wizard.advise import data_parallel, memory, speed
from wizard.advise.advice import Choice, Constraints
from wizard.advise.devices import devices
from wizard.advise.ranking import advise
from wizard.advise.setup import Setup
from wizard.catalog.speed import fit
from wizard.catalog.stacks import facts as stack_facts
from wizard.model.anatomy import Anatomy

MLA, MOE = "deepseek-ai/DeepSeek-V3", "Qwen/Qwen3-30B-A3B"
"""With multi-head latent attention, whose cache tensor parallelism does not divide, and with grouped queries."""
GQA = facts_of(MOE)


def anatomy(name: str) -> Anatomy:
    model = facts_of(name).anatomy
    assert model is not None
    return model


def notes(choice: Choice) -> dict[str, str]:
    return {note.code: text_of(note) for note in (*choice.reasons, *choice.warnings)}


@pytest.mark.parametrize(("tp", "dp"), [(1, 2), (1, 8), (2, 4)])
def test_only_experts_are_divided_among_the_ranks(tp: int, dp: int) -> None:
    model = anatomy(MLA)
    parts = model.parts
    alone = memory.rank_weights(parts, model, tp, 1, True)
    shared = parts.shared - parts.shared / tp  # whole on every GPU then
    several = memory.rank_weights(parts, model, tp, 1, True, dp)
    assert alone - several == pytest.approx(parts.experts / tp * (1 - 1 / dp) - shared, rel=1e-6)


@pytest.mark.parametrize("name", [MLA, MOE])
def test_a_rank_has_the_whole_cache_of_its_users(name: str) -> None:
    alone, split, ranks = (Setup("vllm", "bfloat16", "none", tp=tp, dp=dp) for tp, dp in ((1, 1), (4, 1), (1, 4)))
    whole, part, own = (memory.sequence_bytes(anatomy(name), each, 4096, 8192) for each in (alone, split, ranks))
    assert whole == own
    assert part == (whole if name == MLA else whole / 4)


def test_the_experts_get_the_tokens_of_all_ranks() -> None:
    setup = Setup("vllm", "bfloat16", "none", expert_parallel=True)
    four, eight = (memory.activations(anatomy(MLA), replace(setup, dp=dp), 4, 8192) for dp in (4, 8))
    assert eight == 2 * four


def ranked(**constraints: Any) -> list[Choice]:
    return list(advise(machine("8xH200"), facts_of(MLA), Constraints(stack="vllm", **constraints)).choices)


def test_it_is_chosen_for_the_most_tokens_of_all_users() -> None:
    first, *others = ranked(goal="throughput")
    assert (first.dp, first.tp, first.gpus, first.users, first.expert_parallel) == (8, 1, 8, 512, True)
    split = [each for each in others if each.dp == 1]
    assert first.speed is not None
    assert split
    rates = [each.speed.throughput_tokens_per_s for each in split if each.speed]
    assert (first.speed.throughput_tokens_per_s or 0) > max(rate or 0 for rate in rates)
    assert (first.speed.users, first.speed.served) == (512, 512)
    texts = notes(first)
    assert texts["data-parallel"].endswith(
        "each of 8 ranks has the whole attention and the KV cache of its users, with room for 64 users; the "
        "experts are spread over all GPUs."
    )
    assert "32 of a layer's 256 experts" in texts["experts"]
    assert texts["split"].startswith("tp 1 × dp 8: 8 GPUs")


def test_it_is_offered_where_copies_of_the_cache_leave_too_little_room() -> None:
    few, many = (ranked(users=users, quantization="fp8") for users in (4, 128))
    assert {each.dp for each in few} == {1}
    room = {each.dp: each.max_seq_len for each in many}
    assert room == {1: 4096, 8: 16_384}


@pytest.mark.parametrize("dp", [1, 4])
def test_experts_get_the_tokens_of_all_ranks_and_the_links_carry_them(dp: int) -> None:
    (device, *_), facts = devices(machine("8xH200")), facts_of(MLA)
    known = fit(stack_facts("vllm").speed)
    assert known is not None
    assert facts.anatomy is not None
    assert device.rates is not None
    setup = Setup("vllm", "bfloat16", "fp8", dp=dp, expert_parallel=dp > 1)
    todo = speed.work(facts, facts.anatomy, device.rates, setup)
    whole = speed.work(facts, facts.anatomy, device.rates, replace(setup, dp=1))
    assert (todo.expert_bytes, todo.expert_ops) == pytest.approx((whole.expert_bytes / dp, whole.expert_ops / dp))
    assert (todo.dense_bytes, todo.cache) == (whole.dense_bytes, whole.cache)
    step = speed.step(todo, known.coefficients, device, device.rates, 1, users=8, context=1024)
    assert (step.interconnect > 0) == (dp > 1)
    prompt = speed.step(todo, known.coefficients, device, device.rates, 1, users=8, context=1024, others=8192)
    assert prompt.seconds > step.seconds


@pytest.mark.parametrize(("stack", "confidence"), [("vllm", "near"), ("sglang", "far")])
def test_the_range_says_where_no_server_was_compared(stack: str, confidence: str) -> None:
    device, known = devices(machine("8xH200"))[0], fit(stack_facts(stack).speed)
    assert known is not None
    setup = Setup(stack, "bfloat16", "fp8", dp=8, expert_parallel=True)
    assert speed.likeness(known, anatomy("Qwen/Qwen3-30B-A3B"), device, setup) == confidence


def test_it_is_not_offered_where_nothing_is_gained() -> None:
    assert {each.dp for each in choices("8xH100", MOE, stack="vllm", users=256)} == {1}
    with_it, without = (replace(VLLM, dp=dp, tp=9 - dp, max_batch_size=8 // dp) for dp in (8, 1))
    assert data_parallel.as_needed([with_it, without], Constraints(users=8)) == [without]
    assert data_parallel.as_needed([with_it, without], Constraints(users=8, dp=8)) == [with_it, without]
    short = replace(without, max_seq_len=without.max_seq_len - 1)
    assert data_parallel.as_needed([with_it, short], Constraints(users=8)) == [with_it, short]


@pytest.mark.parametrize("tp", [None, 1, 2])
def test_a_size_that_was_asked_for_is_kept(tp: int | None) -> None:
    made = choices("8xH100", MOE, stack="vllm", dp=4, tp=tp, quantization="none", users=10)
    assert {(each.dp, each.gpus) for each in made} == {(4, 4 * each.tp) for each in made}
    assert {each.tp for each in made} == ({1, 2} if tp is None else {tp})
    for each in made:
        assert (each.max_batch_size, each.users) == (3, 12)
        assert len(each.devices) == each.gpus * each.replicas


@pytest.mark.parametrize(
    ("model", "constraints", "text", "remedies"),
    [
        (
            LLAMA_8B,
            {"stack": "vllm"},
            "no experts, so data-parallel ranks would be replicas",
            [{"dp": None, "replicas": 2}, {"dp": None}],
        ),
        (MOE, {"stack": "transformers"}, "not set up data parallelism with Transformers.", [{"dp": None}]),
        (MOE, {"stack": "vllm", "pp": 2}, "without pipeline stages only", [{"dp": None}]),
        (MOE, {"stack": "trtllm-llmapi", "tp": 2}, "so it needs tp 1", [{"tp": 1}, {"dp": None}]),
        (
            "mistralai/Mixtral-8x7B-v0.1",
            {"stack": "sglang"},
            "does not set up data parallelism with SGLang for",
            [{"dp": None}],
        ),
        (
            "mistralai/Mixtral-8x7B-v0.1",
            {"stack": "vllm", "release": "25.04"},
            "needs vLLM 0.11 or later; found 0.8.1",
            [{"dp": None}],
        ),
    ],
)
def test_what_cannot_be_met_is_refused(
    model: str, constraints: dict[str, Any], text: str, remedies: list[dict[str, Any]]
) -> None:
    refused = rejections("8xH100", model, dp=2, **constraints)
    first = next(each for each in refused if each.code == "data-parallel")
    assert text in text_of(first)
    changes = [remedy.changes for remedy in first.remedies]
    assert [each for each in changes if each in remedies] == remedies


def test_experts_that_the_ranks_cannot_share_evenly_are_refused() -> None:
    facts = facts_of(MOE, num_experts=126)
    refused = rejections("8xH100", facts, stack="sglang", dp=4, tp=1, quantization="none")
    (first, *_) = [each for each in refused if each.code == "experts"]
    assert "126 cannot be divided by 4" in text_of(first)
    assert {"dp": None} in [remedy.changes for remedy in first.remedies]


def test_too_few_gpus_are_named_with_the_ranks() -> None:
    (first, *_) = rejections("2xH100", MOE, stack="vllm", dp=4)
    assert "tp 1 × dp 4 needs 4 identical GPUs; found 2 ×" in text_of(first)
    assert first.remedies[0].changes == {"dp": 2}


def test_the_processor_has_none() -> None:
    advice = advise(machine("cpu"), facts_of(LLAMA_8B), Constraints(dp=2, stack="llamacpp"))
    assert any("--dp" in text_of(each) or "dp" in text_of(each) for each in advice.rejections)


@pytest.mark.parametrize(
    ("choice", "wanted"),
    [
        (VLLM, {"data_parallel_size": 2, "tensor_parallel_size": 2, "max_num_seqs": 3, "max_num_batched_tokens": 512}),
        (
            native("sglang"),
            {
                "dp_size": 2,
                "enable_dp_attention": True,
                "tp_size": 4,
                "ep_size": 4,
                "max_running_requests": 6,
                "chunked_prefill_size": 1024,
            },
        ),
    ],
)
def test_the_engine_gets_it(choice: Choice, wanted: dict[str, Any]) -> None:
    """With the limits of a rank, or of all ranks, as the engine counts them."""
    changes: dict[str, Any] = {"tp": 2, "devices": (0, 1, 2, 3), "max_batch_size": 3, "step_tokens": 512}
    several = replace(choice, **changes, dp=2, expert_parallel=True)
    _, settings, _ = engine(planned(several, FACTS, on=machine("4xH200")))
    assert {name: settings.get(name) for name in wanted} == wanted
    _, settings, _ = engine(planned(replace(choice, **changes, replicas=2), FACTS, on=machine("4xH200")))
    assert not settings.keys() & {"data_parallel_size", "dp_size", "enable_dp_attention"}
