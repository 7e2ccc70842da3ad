"""The texts and rows of the advice."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.values import CHOICE, CPU_HOST, GGUF
from tests.worded import behind, limited, noted, remedy_of, text_of
from wizard.advise import comparison
from wizard.advise.advice import Choice, Constraints, Memory, Speed
from wizard.advise.comparison import BEHIND, LIMIT
from wizard.advise.criteria import CRITERIA
from wizard.advise.ranking import advise
from wizard.model.config import describe
from wizard.model.facts import ModelFacts
from wizard.probe.shorthand import host
from wizard.texts import report

PUBLIC = json.loads((Path(__file__).parents[1] / "model" / "configs" / "public.json").read_text())
SIZE = st.integers(0, 2**40)
SPEED = Speed(25.0, 160.0, 200.0, 20.0, 31.25, "roofline", "fair", "memory", 100.0, 400.0, 180.0, 1200.0, 4)
GPU = replace(
    CHOICE, stack="vllm", dtype="bfloat16", quantization="none", kv_cache_dtype="auto", devices=(0,), speed=SPEED
)


def model(name: str) -> ModelFacts:
    return describe(ModelFacts(name, "folder", name, name, None, None), PUBLIC[name]["config"])


@st.composite
def breakdowns(draw: st.DrawFn) -> Memory:
    weights, per_token, tokens = draw(SIZE), draw(st.integers(0, 2**20)), draw(st.integers(0, 2**16))
    activations, overhead = draw(SIZE), draw(SIZE)
    total = weights + per_token * tokens + activations + overhead
    return Memory(weights, per_token, tokens, activations, overhead, total, draw(SIZE))


@given(breakdowns(), st.integers(10, 200))
def test_a_bar_has_its_width_and_shows_whatever_is_taken(memory: Memory, cells: int) -> None:
    parts = report.bill(memory)
    counts = report.shares(parts, cells)
    taken = sum(part.bytes for part in parts if part.kind != "excess")
    assert sum(counts) == (cells if taken else 0)
    for part, count in zip(parts, counts, strict=True):
        assert (count > 0) >= (part.bytes > 0 and part.kind not in ("left", "excess")), part
        assert count >= 0
    assert parts[-1].kind == ("left" if memory.total_bytes <= memory.budget_bytes else "excess")
    assert sum(part.bytes for part in parts[:4]) == memory.total_bytes
    assert abs(memory.budget_bytes - memory.total_bytes) == parts[-1].bytes


def test_titles_for_people() -> None:
    assert report.choice_title(GPU) == "vLLM · bfloat16"
    assert report.choice_title(replace(GPU, quantization="fp8", tp=4)) == "vLLM · FP8 · 4 GPUs"
    assert report.choice_title(replace(GPU, tp=4, pp=2, kv_cache_dtype="fp8")) == (
        "vLLM · bfloat16 · tp 4 × pp 2 · FP8 KV cache"
    )
    assert report.choice_title(replace(CHOICE, quantization="gguf_q4_k_m")) == "llama.cpp · Q4_K_M"
    assert report.choice_title(replace(CHOICE, stack="\x1b[31mnew\n", quantization="x\ny")) == "new · X Y"


def test_whose_memory_it_is() -> None:
    assert report.bill_title(CHOICE).startswith("Memory: 85.8 MiB used of 9.3 GiB")
    assert report.bill_title(GPU).startswith("GPU memory: ")
    assert report.bill_title(replace(GPU, devices=(0, 1))).startswith("Each of 2 GPUs: ")


def test_speed_with_its_range_and_who_says_so() -> None:
    assert report.speed_sentence(SPEED) == (
        "40 tokens/s per user (32 to 50), 160 in total, "
        "TTFT 200 ms (100 ms to 400 ms; 180 ms alone, 1.2 s as the last of all users). "
        "Confidence: medium (close to what was measured); source: the wizard's roofline model."
    )
    same = replace(SPEED, ttft_alone_ms=200.1, ttft_last_ms=200.2)
    assert "TTFT 200 ms (100 ms to 400 ms). Confidence" in report.speed_sentence(same)
    unbounded = replace(SPEED, ttft_low_ms=None, ttft_high_ms=None)
    assert "TTFT 200 ms. Confidence" in report.speed_sentence(unbounded)
    bare = Speed(400.0, None, None, None, None, "somebody", "odd")
    assert report.speed_sentence(bare) == "2.5 tokens/s per user. Confidence: odd; source: somebody."
    assert report.speed_sentence(None) == report.speed_sentence(replace(SPEED, tpot_ms=None)) == ""
    assert report.pace(SPEED) == "40 tokens/s each"
    assert report.pace(None) == ""


@pytest.mark.parametrize(
    ("choice", "phrase"),
    [
        (GPU, "The model is the limit: it was trained for 1,024 tokens"),
        (replace(GPU, memory=replace(GPU.memory, kv_capacity_tokens=4000)), "room for 4,000 tokens"),
        (replace(CHOICE, max_seq_len=512), "Memory is not a limit here"),
        (replace(CHOICE, memory=replace(CHOICE.memory, budget_bytes=90_000_001, kv_capacity_tokens=4092)), "1,023 for"),
    ],
)
def test_what_limits_memory(choice: Choice, phrase: str) -> None:
    assert phrase in text_of(comparison.limit(replace(choice, speed=None), GGUF))


@pytest.mark.parametrize(
    ("bound", "phrase"),
    [
        ("memory", "memory bandwidth"),
        ("compute", "tensor cores"),
        ("launch", "kernel launches"),
        ("interconnect", "the links between the GPUs"),
    ],
)
def test_what_limits_speed(bound: str, phrase: str) -> None:
    limit = text_of(comparison.limit(replace(GPU, speed=replace(SPEED, bound=bound)), GGUF))
    assert limit.startswith(f"Bottleneck: {phrase}. ")
    assert limit.count(".") == 2, "what, and why"


SLOW = replace(GPU, stack="transformers", tp=2, quantization="int4_awq", speed=replace(SPEED, tpot_ms=50.0))


@pytest.mark.parametrize(
    ("criterion", "phrase"),
    [
        ("room", "It has room for only 4 users at a time, 1,024 tokens each"),
        ("pace", "It is slower: 20 vs. 40 tokens/s per user."),
        ("speed", "It is slower: 20 vs. 40"),
        ("simplicity", "It is harder to set up than vLLM"),
        ("precision", "for little more precision than bfloat16"),
        ("gpus", "It uses 2 GPUs instead of 1 GPU"),
        ("links", "over PCIe"),
        ("tokens", "It has lower throughput: 160 tokens/s vs. 160 tokens/s"),
        ("size", "Its weights take 6.7 MiB instead of 3.3 MiB"),
        (None, "It is equal in every comparison."),
    ],
)
def test_why_it_comes_after_the_first(criterion: str | None, phrase: str) -> None:
    assert phrase in text_of(comparison.behind("chat", criterion, SLOW, GPU))


def test_what_speaks_for_it_all_the_same() -> None:
    def why(criterion: str, choice: Choice, first: Choice) -> str:
        return text_of(comparison.behind("chat", criterion, choice, first))

    assert why("simplicity", GPU, SLOW).endswith(", though it is faster: 40 vs. 20 tokens/s per user.")
    assert why("speed", replace(GPU, devices=(0,)), replace(SLOW, devices=(0, 1))).endswith(
        ", though it uses only 1 GPU."
    )
    longer = replace(GPU, max_seq_len=2048)
    assert why("tokens", longer, GPU).endswith(", though it has room for 2,048 tokens per user.")
    smaller = replace(GPU, quantization="fp8", memory=replace(GPU.memory, weights_bytes=1))
    assert why("precision", smaller, GPU).startswith("It is less precise than bfloat16")


@pytest.mark.parametrize("goal", CRITERIA)
def test_the_advice_says_of_every_choice_what_limits_it_and_why_it_is_not_the_first(goal: str) -> None:
    choices = advise(host("4xA6000"), model("meta-llama/Llama-3.1-70B"), Constraints(goal=goal)).choices
    assert len(choices) > 8
    assert all(report.reason(choice, LIMIT) for choice in choices)
    assert [bool(report.reason(choice, BEHIND)) for choice in choices] == [False, *[True] * (len(choices) - 1)]


def test_the_runner_up_lost_for_what_the_ranking_compares() -> None:
    facts = model("meta-llama/Llama-3.1-8B")
    first, second, *_ = advise(host("1xA6000"), facts, Constraints()).choices
    assert (first.quantization, second.quantization) == ("none", "int4_awq")
    assert report.reason(second, BEHIND).startswith("It is less precise than bfloat16, ")
    first, second, *_ = advise(host("2xA6000"), facts, Constraints(stack="vllm", quantization="none")).choices
    assert report.reason(second, BEHIND).startswith("It starts 1 instead of 2 replicas, though it uses only 1 GPU")
    assert report.reason(advise(CPU_HOST, GGUF, Constraints()).choices[0], BEHIND) == ""


def test_the_best_of_each_stack_and_format_comes_first_and_nothing_is_lost() -> None:
    choices = advise(host("8xH100"), model("Qwen/Qwen3-235B-A22B"), Constraints()).choices
    shown = report.ordered(choices)
    heads = {(choice.stack, choice.quantization) for choice in choices}
    assert shown[0] is choices[0]
    assert {(choice.stack, choice.quantization) for choice in shown[: len(heads)]} == heads
    assert sorted(map(id, shown)) == sorted(map(id, choices))


def test_reasons_are_selected_by_their_code() -> None:
    assert report.reason(replace(CHOICE, reasons=(noted("A"), limited("B"))), LIMIT) == "B"
    own = (limited("L"), noted("A"), behind("B"))
    assert report.choice_reasons(replace(CHOICE, reasons=own)) == (noted("A"),)
    assert report.reason(CHOICE, "b") == ""


def test_large_numbers_have_commas_for_people() -> None:
    assert report.choice_room(replace(CHOICE, max_batch_size=100_000)) == "100,000 users at a time, 1,024 tokens each"
    refused = advise(CPU_HOST, GGUF, Constraints(users=90_000, max_len=1024)).rejections[0]
    assert "90,000 users × 1,024 tokens" in text_of(refused)
    refused = advise(CPU_HOST, GGUF, Constraints(max_len=100_000)).rejections[0]
    assert "1,024 tokens of context; you requested 100,000" in text_of(refused)
    assert remedy_of(refused) == "--max-len 1024", "a flag can be pasted"


def test_the_alternative_is_the_second_as_shown_and_says_why() -> None:
    why = behind("It is slower.")
    same, other = replace(GPU, tp=2, reasons=(why,)), replace(GPU, quantization="fp8", reasons=(why,))
    assert report.runner_up((GPU, same, other)) == "Alternative: vLLM · FP8. It is slower."
    assert report.runner_up((GPU, replace(other, reasons=()))) == report.runner_up((GPU,)) == report.runner_up(()) == ""
