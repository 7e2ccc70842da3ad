"""The order of the choices by goal, what is said about those behind, and the nearest constraint where nothing works."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from tests.advise.worlds import AWQ, HOSTS, LLAMA_8B, LLAMA_70B, facts_of, machine
from tests.worded import remedy_of, text_of
from wizard.advise.advice import Advice, Constraints
from wizard.advise.comparison import uncertain, untested
from wizard.advise.criteria import CRITERIA, key_of
from wizard.advise.ranking import advise
from wizard.advise.reasons import Reason
from wizard.catalog import stacks
from wizard.journey import recommended
from wizard.kernel.errors import InfeasibleError


def ask(gpus: str, model: str = LLAMA_8B, config: dict[str, Any] | None = None, **constraints: Any) -> Advice:
    host = HOSTS[gpus] if gpus in HOSTS else machine(gpus)
    facts = facts_of(model, **({"quantization_config": config} if config else {}))
    return advise(host, facts, Constraints(**constraints))


def first(
    gpus: str, model: str = LLAMA_8B, config: dict[str, Any] | None = None, **constraints: Any
) -> tuple[Any, ...]:
    choice = recommended(ask(gpus, model, config, **constraints))
    return (choice.stack, choice.quantization, choice.tp)


@pytest.mark.parametrize(
    ("gpus", "model", "goal", "expected"),
    [
        ("8xH100", LLAMA_8B, "chat", ("vllm", "none", 1)),
        ("8xH100", LLAMA_8B, "quality", ("vllm", "none", 1)),
        ("8xH100", LLAMA_8B, "smallest", ("vllm", "int4_awq", 1)),
        ("8xH100", LLAMA_70B, "quality", ("vllm", "none", 8)),
        ("8xH100", LLAMA_70B, "smallest", ("vllm", "int4_awq", 1)),
        ("8xB200", LLAMA_70B, "chat", ("vllm", "nvfp4", 1)),
        ("1xL4", LLAMA_8B, "quality", ("vllm", "none", 1)),
    ],
)
def test_the_goal_decides(gpus: str, model: str, goal: str, expected: tuple[Any, ...]) -> None:
    assert first(gpus, model, goal=goal) == expected


def test_throughput_counts_all_copies() -> None:
    advice = ask("8xH100", LLAMA_8B, goal="throughput")
    tokens = [
        (choice.speed.throughput_tokens_per_s or 0) * choice.replicas
        for choice in advice.choices
        if choice.speed is not None
    ]
    assert tokens[0] == pytest.approx(max(tokens), rel=0.001)


@pytest.mark.parametrize("goal", sorted(CRITERIA))
def test_every_choice_says_what_limits_it_and_all_but_the_first_why_they_lost(goal: str) -> None:
    best, *others = ask("8xH100", LLAMA_70B, goal=goal).choices
    assert [note.code for note in best.reasons].count("limit") == 1
    assert "behind" not in {note.code for note in best.reasons}
    for other in others:
        assert {"limit", "behind"} <= {note.code for note in other.reasons}


def test_an_engine_is_not_built_for_a_first_answer() -> None:
    for model in (LLAMA_8B, LLAMA_70B):
        choices = ask("8xH100", model).choices
        ranked = [choice.stack for choice in choices]
        assert ranked[0] == "vllm"
        assert ranked.index("trtllm-llmapi") < ranked.index("trtllm-engine")
        measured = [choice.stack for choice in choices if not untested(choice) and not uncertain(choice)]
        assert model == LLAMA_70B or measured[-1] == "transformers"


def test_no_user_waits_for_pcie_without_need() -> None:
    choice = recommended(ask("8xL40S", LLAMA_8B))
    assert (choice.tp, choice.replicas) == (1, 4)  # of four users, each has a GPU


def placed(advice: Advice, tp: int, pp: int) -> int:
    """The place of the first choice of this split."""
    return next(place for place, choice in enumerate(advice.choices) if (choice.tp, choice.pp) == (tp, pp))


def test_without_nvlink_two_gpus_answer_one_user_sooner_with_tp_and_four_serve_many_with_stages() -> None:
    chat = ask("2xL40S", "Qwen/Qwen2.5-32B", stack="vllm", quantization="none", users=1)
    assert placed(chat, 2, 1) == 0
    hall = ask("4xA6000", LLAMA_70B, stack="vllm", quantization="none", goal="throughput")
    assert placed(hall, 2, 2) < placed(hall, 4, 1)


@pytest.mark.parametrize("goal", sorted(CRITERIA))
def test_tp_8_over_pcie_is_behind_stages(goal: str) -> None:
    advice = ask("8xL40S", LLAMA_70B, stack="vllm", quantization="none", goal=goal)
    assert placed(advice, 4, 2) < placed(advice, 8, 1)


def test_what_the_pcie_warning_names_is_offered() -> None:
    for gpus, tp, pp in (("4xA6000", 2, 2), ("8xL40S", 4, 2)):
        constraints: dict[str, Any] = {"stack": "vllm", "quantization": "none"}
        advice = ask(gpus, LLAMA_70B, **constraints, goal="throughput")
        choice = advice.choices[placed(advice, tp * pp, 1)]
        assert placed(advice, tp, pp) < placed(advice, tp * pp, 1)
        text = next(text_of(note) for note in choice.warnings if note.code == "pcie-tp")
        assert f"(--tp {tp} --pp {pp})" in text
        assert ask(gpus, LLAMA_70B, **constraints, tp=tp, pp=pp).feasible


@pytest.mark.parametrize("goal", ["chat", "throughput", "quality", "smallest"])
def test_what_was_measured_comes_first_and_what_was_never_run_last(goal: str) -> None:
    """Without containers the LLM API is served with what was tested with a stand-in only; SGLang's speed is rough."""
    host = replace(machine("2xH100"), source="this machine", engines=())
    newer = replace(
        host, interpreters=tuple(replace(interpreter, version=(3, 12, 3)) for interpreter in host.interpreters)
    )
    advice = advise(newer, facts_of(LLAMA_8B), Constraints(goal=goal))
    ranked = [choice.stack for choice in advice.choices]
    behind = {"sglang": "Its speed is only roughly known", "trtllm-llmapi": "Not tested with the real engine"}
    place = {"sglang": 1, "trtllm-llmapi": 2}
    assert {"vllm", *behind} <= set(ranked)
    assert ranked[0] == "vllm"
    assert ranked == sorted(ranked, key=lambda stack: place.get(stack, 0))
    for choice in advice.choices:
        if text := behind.get(choice.stack):
            assert any(text_of(note).startswith(text) for note in choice.reasons)


NEAREST = {
    "max_len": ("1xL4", LLAMA_8B, {"max_len": 131_072, "quantization": "none"}, "--max-len 32768"),
    "users": ("1xL4", LLAMA_8B, {"users": 500, "max_len": 2048, "quantization": "none"}, r"--users \d+"),
    "tp": ("8xH100", "Qwen/Qwen2.5-7B", {"tp": 8}, "--tp 4"),
    "tp of unlike GPUs": ("A100+T4", LLAMA_8B, {"tp": 2}, "--tp 1"),
    "pp": ("2x4090", LLAMA_8B, {"pp": 16}, "--pp [12]"),
    "quantization": ("3xA100", LLAMA_8B, {"quantization": "w4a8_awq"}, "--quantization none"),
    "kv_dtype": ("3xA100", LLAMA_8B, {"kv_dtype": "fp8", "stack": "vllm"}, "--kv-dtype auto"),
    "gpu_memory_utilization": (
        "busy H100",
        LLAMA_8B,
        {"gpu_memory_utilization": 0.9},
        r"--gpu-memory-utilization 0\.\d+",
    ),
    "max_gpus": ("8xH100", LLAMA_70B, {"max_gpus": 1, "as_published": True}, "--max-gpus 2"),
    "as_published": ("1xL4", "Qwen/Qwen2.5-14B", {"as_published": True}, "--quantization .* without --as-published"),
    "stack": ("1xT4", "Qwen/Qwen3-0.6B", {"stack": "trtllm-llmapi"}, "--stack vllm"),
    "a stack that there is not": ("1xT4", "Qwen/Qwen3-0.6B", {"stack": "magic"}, "--stack vllm"),
}


@pytest.mark.parametrize("name", NEAREST)
def test_the_nearest_constraint_that_works_is_the_remedy(name: str) -> None:
    gpus, model, constraints, remedy = NEAREST[name]
    advice = ask(gpus, model, **constraints)
    assert not advice.feasible
    first = advice.rejections[0]
    flags = remedy_of(replace(first, remedies=first.remedies[:1]))
    assert re.fullmatch(remedy, flags), flags
    if "without" not in flags:  # and it does work
        flag, value = flags.removeprefix("--").replace("-", "_").split()
        kind = type(constraints[flag]) if flag in constraints else str
        assert ask(gpus, model, **{**constraints, flag: kind(value)}).feasible


def test_a_named_stack_replaces_another_stack_among_the_remedies() -> None:
    first = ask("1xH100", LLAMA_70B, stack="transformers", quantization="fp8").rejections[0]
    assert first.remedies[0].changes.get("stack")
    assert "another stack" not in remedy_of(first)


def test_two_constraints_that_are_each_impossible_keep_their_own_remedies() -> None:
    advice = ask("3xA100", LLAMA_8B, quantization="w4a8_awq", tp=16)
    assert not advice.feasible
    assert all(remedy_of(rejection) for rejection in advice.rejections)


def test_an_already_quantized_model_needs_more_memory_or_another_repository() -> None:
    advice = ask("1xT4", LLAMA_70B, AWQ)
    assert {rejection.code for rejection in advice.rejections} >= {"memory"}
    assert "a GPU with at least 47 GB" in remedy_of(advice.rejections[0])


def test_nothing_to_recommend_is_tw_a01_with_reason_and_remedy() -> None:
    advice = ask("8xH100", "Qwen/Qwen2.5-7B", tp=8)
    with pytest.raises(InfeasibleError, match="not divisible by tp 8") as caught:
        recommended(advice)
    assert caught.value.code == "TW-A01"
    assert caught.value.todo == "--tp 4"
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(("split", "expected"), [({}, (1, 1)), ({"tp": 2}, (2, 1)), ({"pp": 3}, (1, 3))])
def test_an_unknown_stack_is_refused_with_the_known_ones_and_the_users_split(
    split: dict[str, Any], expected: tuple[int, int]
) -> None:
    *_, refused = ask("8xH100", stack="magic", **split).rejections
    assert (refused.stack, refused.code, refused.tp, refused.pp) == ("magic", "stack", *expected)
    assert text_of(refused) == "Unknown serving stack: magic."
    assert all(name in remedy_of(refused) for name in stacks.names())


@pytest.mark.parametrize("goal", ["throughput", "smallest"])
@pytest.mark.parametrize("where", ["1xH100", "1xRTX4090"])
def test_an_engine_that_never_ran_does_not_beat_one_that_is_nearly_as_good(where: str, goal: str) -> None:
    """Less than `NOTICED` better is within the estimates' error, and it is unknown whether it starts at all."""
    choices = ask(where, LLAMA_8B, goal=goal).choices
    assert choices[0].stack == "vllm"
    near = next(choice for choice in choices if choice.stack.startswith("trtllm"))
    (behind,) = (note for note in near.reasons if note.code == "behind")
    why = behind.params["why"]
    assert isinstance(why, Reason)
    assert why.code in ("not-tested", "fewer-tokens", "more-bytes")


def test_an_engine_that_never_ran_is_first_if_it_is_clearly_better() -> None:
    choices = ask("1xH100", LLAMA_8B, goal="throughput").choices
    first, other = choices[0], next(choice for choice in choices if choice.stack == "trtllm-llmapi")
    assert first.speed
    assert other.speed
    twice = (first.speed.throughput_tokens_per_s or 0) * 2
    better = replace(other, speed=replace(other.speed, throughput_tokens_per_s=twice))
    key = key_of(facts_of(LLAMA_8B), Constraints(goal="throughput"))
    assert key(better) < key(first) < key(other)
