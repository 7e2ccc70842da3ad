"""The roofline against measured servers, and what must hold of it whatever the coefficients are."""

from __future__ import annotations

import csv
import json
import statistics
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worded import text_of
from wizard.advise.advice import Constraints, Speed
from wizard.advise.devices import Device, devices
from wizard.advise.interconnect import all_reduce
from wizard.advise.providers import Roofline
from wizard.advise.ranking import advise
from wizard.advise.setup import Setup
from wizard.advise.speed import Load, Step, estimate, step, work
from wizard.catalog import stacks
from wizard.catalog.speed import fit
from wizard.model import formats
from wizard.model.anatomy import Parts
from wizard.model.config import describe
from wizard.model.facts import ModelFacts, Quantization
from wizard.probe.shorthand import host

HERE = Path(__file__).parent
MODELS = HERE.parent / "cases" / "models"
LLAMA_70B = {"num_hidden_layers": 80, "hidden_size": 8192, "num_attention_heads": 64, "intermediate_size": 28672}
QWEN_7B = describe(
    ModelFacts("Qwen2.5-7B", "folder", "-", "-", None, None),
    json.loads((HERE.parents[1] / "benchmarks" / "advice" / "public.json").read_text())["models"]["Qwen2.5-7B"],
)
QWEN_32B = {
    "num_hidden_layers": 64,
    "hidden_size": 5120,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "intermediate_size": 25600,
    "tie_word_embeddings": False,
}


@cache
def model(name: str) -> ModelFacts:
    """A model of the sample, from a config of the same family."""
    large = {"70B": ("llama-3.1-8b.json", LLAMA_70B), "32B": ("qwen3-0.6b.json", QWEN_32B)}
    file, sizes = next((value for key, value in large.items() if key in name), ("llama-3.1-8b.json", {}))
    config: dict[str, Any] = {**json.loads((MODELS / file).read_text())["config"], **sizes}
    return describe(ModelFacts(name, "folder", name, name, None, None), config)


EXPERTS: dict[str, dict[str, Any]] = json.loads((HERE / "data" / "experts.json").read_text())
EVERYBODY = 10**9
"""Tokens of KV cache: all users of the sample's servers fitted."""


@cache
def experts(name: str, quantization: str) -> ModelFacts:
    """A model of the sample with experts, of which nothing else has 4 bits."""
    facts = describe(ModelFacts(name, "folder", name, name, None, None), EXPERTS[name])
    assert facts.anatomy is not None
    if quantization not in ("nvfp4", "int4_gptq"):
        return facts
    small = formats.weight_bytes(facts, facts.anatomy, quantization).experts
    sizes = {field.name: 2 * getattr(facts.anatomy.parts, field.name) for field in fields(Parts)}
    return replace(
        facts, stored=Parts(**{**sizes, "experts": small}), quantization=Quantization("-", format=quantization)
    )


@cache
def gpu(name: str) -> Device:
    return devices(host(name))[0]


def rows(*, dense: bool = True) -> list[dict[str, str]]:
    with (HERE / "data" / "silicon_heldout.csv").open() as file:
        return [row for row in csv.DictReader(file) if (row["model"] not in EXPERTS) == dense]


def predicted(row: dict[str, str]) -> Speed:
    setup = Setup(row["stack"], "bfloat16", row["quantization"], row["kv_cache_dtype"], int(row["tp"]))
    load = Load(int(row["users"]), int(row["isl"]), int(row["osl"]))
    name = row["model"]
    facts = experts(name, row["quantization"]) if name in EXPERTS else model(name)
    speed = estimate(facts, gpu(f"8x{row['gpu']}"), setup, load, EVERYBODY)
    assert speed is not None
    return speed


def errors(some: list[dict[str, str]]) -> list[float]:
    return [abs((predicted(row).tpot_ms or 0) / float(row["tpot_ms"]) - 1) for row in some]


def test_the_models_are_the_samples() -> None:
    assert model("meta-llama/Llama-3.1-8B-Instruct").parameters == 8_030_261_248
    assert model("meta-llama/Llama-3.1-70B").parameters == 70_553_706_496
    assert model("Qwen/Qwen3-32B").parameters == 32_762_123_264


@pytest.mark.parametrize(("stack", "count"), [("vllm", 162), ("trtllm-llmapi", 296)])
def test_rows_that_were_held_out_are_near(stack: str, count: int) -> None:
    mine = [row for row in rows() if row["stack"] == stack]
    ratios = errors(mine)
    assert len(ratios) == count
    assert statistics.median(ratios) <= 0.08
    assert statistics.mean(ratios) <= 0.12


@pytest.mark.parametrize(
    ("stack", "dense", "count"),
    [("vllm", True, 162), ("vllm", False, 76), ("trtllm-llmapi", True, 296), ("trtllm-llmapi", False, 41)],
)
def test_no_further_off_than_aiconfigurator_where_that_answers(stack: str, dense: bool, count: int) -> None:
    both = [row for row in rows(dense=dense) if row["stack"] == stack and row["aiconfigurator_tpot_ms"]]
    theirs = [abs(float(row["aiconfigurator_tpot_ms"]) / float(row["tpot_ms"]) - 1) for row in both]
    ours = errors(both)
    assert len(both) == count
    assert statistics.mean(ours) <= statistics.mean(theirs)
    assert statistics.median(ours) <= statistics.median(theirs)


@pytest.mark.parametrize(("stack", "confidence"), [("vllm", "fair"), ("trtllm-llmapi", "fair")])
def test_the_range_holds_what_it_promises(stack: str, confidence: str) -> None:
    mine = [row for row in rows() if row["stack"] == stack]
    inside = [row for row in mine if (predicted(row).low or 0) <= float(row["tpot_ms"]) <= (predicted(row).high or 0)]
    assert len(inside) >= 0.85 * len(mine)
    assert {predicted(row).confidence for row in mine} == {confidence}


@pytest.mark.parametrize(("stack", "count", "confidence"), [("vllm", 163, "rough"), ("trtllm-llmapi", 95, "fair")])
def test_the_wider_range_of_experts_holds_what_it_promises(stack: str, count: int, confidence: str) -> None:
    mine = [row for row in rows(dense=False) if row["stack"] == stack]
    inside = [row for row in mine if (predicted(row).low or 0) <= float(row["tpot_ms"]) <= (predicted(row).high or 0)]
    assert len(mine) == count
    assert len(inside) >= 0.85 * len(mine)
    assert {predicted(row).confidence for row in mine} == {confidence}


def only_experts(name: str, stack: str = "vllm", quantization: str = "mxfp4") -> Step:
    """A step of gpt-oss-120b on one GPU that does nothing but what its experts take."""
    known, device = fit(stack), gpu(name)
    facts = experts("openai/gpt-oss-120b", quantization)
    assert known is not None
    assert device.rates is not None
    assert facts.anatomy is not None
    todo = work(facts, facts.anatomy, device.rates, Setup(stack, "bfloat16", quantization))
    todo = replace(todo, dense_bytes=0.0, cache=(), layers=0.0)
    return step(todo, known.coefficients, device, device.rates, 1, users=32, context=1000)


def test_experts_that_are_widened_are_read_as_fast_as_cores_and_memory_allow() -> None:
    assert only_experts("H100").memory == only_experts("H200").memory
    assert only_experts("L40S").memory > 1.5 * only_experts("H100").memory
    assert only_experts("B300").memory < only_experts("H100").memory / 2  # its tensor cores need nothing widened


@pytest.mark.parametrize("stack", ["vllm", "trtllm-llmapi"])
def test_experts_of_four_bits_that_tensor_cores_take_need_fewer_kernels(stack: str) -> None:
    known = fit(stack)
    assert known is not None
    native, widened = only_experts("B200", stack).launch, only_experts("H200", stack).launch
    assert widened - native == pytest.approx(36 * known.coefficients.unfused_us * 1e-6)
    assert only_experts("B200", stack, "fp8").launch == pytest.approx(widened)


def test_times_to_the_first_token_of_few_users_are_near() -> None:
    few = [row for row in rows() if int(row["users"]) <= 16 and "70B" in row["model"]]
    ratios = [abs((predicted(row).ttft_ms or 0) / float(row["ttft_ms"]) - 1) for row in few]
    assert len(ratios) > 50
    assert statistics.median(ratios) <= 0.35
    speeds = [(predicted(row), float(row["ttft_ms"])) for row in few]
    inside = [(each.ttft_low_ms or 0) <= measured <= (each.ttft_high_ms or 0) for each, measured in speeds]
    assert sum(inside) >= 0.85 * len(inside)


@pytest.mark.parametrize(("users", "rate"), [(1, 202), (8, 1549), (32, 5342), (64, 9151)])
def test_an_h200_that_nothing_was_fitted_to(users: int, rate: int) -> None:
    """Tokens per second of vLLM 0.26 with 8 B random bfloat16 weights, 100 tokens in and 128 out, measured for this."""
    speed = estimate(model("8B"), gpu("H200"), Setup("vllm", "bfloat16", "none"), Load(users, 100, 128))
    assert speed is not None
    assert speed.tpot_ms == pytest.approx(users / rate * 1e3, rel=0.10)


def test_transformers_is_bound_by_launching_kernels_and_says_how_little_is_known() -> None:
    single, many = (
        estimate(model("8B"), gpu("H200"), Setup("transformers", "bfloat16", "none"), Load(users, 100, 128))
        for users in (1, 32)
    )
    assert single is not None
    assert many is not None
    for speed, users, measured in ((single, 1, 20.1), (many, 32, 638)):  # a slow Python; others are twice as fast
        assert speed.low
        assert speed.high
        assert speed.low < users / measured * 1e3 < speed.high
    assert (single.bound, single.confidence) == ("launch", "rough")


@pytest.mark.parametrize(("osl", "bound"), [(2048, "memory"), (32, "compute")])
def test_prompts_set_the_limit_where_answers_are_short(osl: int, bound: str) -> None:
    speed = estimate(model("8B"), gpu("H100"), Setup("vllm", "bfloat16", "none"), Load(64, 2048, osl), EVERYBODY)
    assert speed is not None
    assert speed.bound == bound


@pytest.mark.parametrize("stack", ["vllm", "transformers", "trtllm-llmapi"])
def test_ranges_reach_by_the_same_ratio_to_both_sides(stack: str) -> None:
    speed = estimate(model("8B"), gpu("H100"), Setup(stack, "bfloat16", "none"), Load(8, 2048, 256), EVERYBODY)
    known = fit(stack)
    assert speed
    assert known
    for value, low, high in (
        (speed.tpot_ms, speed.low, speed.high),
        (speed.ttft_ms, speed.ttft_low_ms, speed.ttft_high_ms),
    ):
        assert value
        assert low
        assert high
        assert low * high == pytest.approx(value**2)
    assert (speed.ttft_high_ms or 0) == pytest.approx((speed.ttft_ms or 0) * (1 + known.ttft))


def test_nothing_is_invented() -> None:
    known, h100, setup = model("8B"), gpu("H100"), Setup("vllm", "bfloat16", "none")
    assert estimate(replace(known, anatomy=None), h100, setup, Load(1)) is None
    assert estimate(known, replace(h100, rates=None), setup, Load(1)) is None
    assert estimate(known, h100, replace(setup, stack="llamacpp"), Load(1)) is None
    assert estimate(known, replace(h100, total_bytes=10**10), setup, Load(1)) is None
    assert fit("llamacpp") is None


def test_transformers_on_an_a100_is_as_fast_as_qwen_measured() -> None:
    """40.38 tokens/s: Qwen2.5-7B, 1 token in, 2,048 out; `benchmarks/advice/public.json`, qwen2.5-speed."""
    speed = estimate(QWEN_7B, gpu("A100-80GB"), Setup("transformers", "bfloat16", "none"), Load(1, 1, 2048))
    assert speed is not None
    assert speed.throughput_tokens_per_s == pytest.approx(40.38, rel=0.1)


def test_a_prompt_of_a_million_tokens_takes_its_time() -> None:
    """Multiplying 8 billion parameters and attention over the prompt: minutes on one H200, whatever the engine."""
    speed = estimate(model("8B"), gpu("H200"), Setup("vllm", "bfloat16", "none"), Load(1, 900_000, 256), EVERYBODY)
    assert speed is not None
    assert speed.ttft_alone_ms
    assert speed.ttft_alone_ms > 120_000
    assert (speed.users, speed.isl, speed.osl) == (1, 900_000, 256)


def test_users_who_do_not_fit_into_the_cache_wait() -> None:
    crowd = estimate(model("70B"), gpu("8xH100"), Setup("vllm", "bfloat16", "fp8", tp=2), Load(500, 8192, 1024))
    assert crowd is not None
    assert crowd.served is not None
    assert 1 <= crowd.served < 500
    assert crowd.ttft_ms is None
    exact = estimate(
        model("70B"), gpu("8xH100"), Setup("vllm", "bfloat16", "fp8", tp=2), Load(crowd.served, 8192, 1024)
    )
    assert exact is not None
    assert exact.tpot_ms == crowd.tpot_ms


@pytest.mark.parametrize(
    ("hardware", "setup", "confidence"),
    [
        ("H200", Setup("vllm", "bfloat16", "none"), "fair"),
        ("A100", Setup("vllm", "bfloat16", "none"), "fair"),
        ("T4", Setup("vllm", "float16", "none"), "rough"),
        ("A100", Setup("vllm", "bfloat16", "int4_awq"), "rough"),
        ("H100", Setup("sglang", "bfloat16", "none"), "rough"),
        ("2xL40S", Setup("vllm", "bfloat16", "none", tp=2), "rough"),
        ("8xH100", Setup("vllm", "bfloat16", "none", pp=2), "rough"),
    ],
)
def test_confidence_follows_what_was_measured(hardware: str, setup: Setup, confidence: str) -> None:
    speed = estimate(model("8B"), gpu(hardware), setup, Load(4))
    assert speed is not None
    assert speed.confidence == confidence
    assert (speed.low or 0) < (speed.tpot_ms or 0) < (speed.high or 0)


def independent() -> list[tuple[dict[str, Any], Speed]]:
    """Public points of engines that the estimates are for (vLLM from 0.8 on), and their estimates."""
    content = json.loads((HERE.parents[1] / "benchmarks" / "advice" / "independent.json").read_text())
    pairs = []
    for line in content["points"]:
        old = line["stack"] == "vllm" and line["version"].startswith(("0.4", "0.7", "2024"))
        if old or line.get("saturated"):
            continue
        facts = describe(ModelFacts(line["model"], "folder", "-", "-", None, None), content["models"][line["model"]])
        setup = Setup(line["stack"], "bfloat16", line["format"], line["kv"], line["tp"])
        load = Load(line["users"], line["isl"], line["osl"])
        speed = estimate(facts, gpu(f"{line['tp']}x{line['gpu']}"), setup, load, EVERYBODY)
        assert speed is not None
        pairs.append((line, speed))
    return pairs


def off(line: dict[str, Any], speed: Speed) -> float:
    """Estimate / measured of the time per token."""
    if line["metric"] == "tpot_ms":
        return (speed.tpot_ms or 0) / line["value"]
    return line["value"] / (speed.throughput_tokens_per_s or 1)


@pytest.mark.parametrize("stack", ["vllm", "sglang", "trtllm-engine", "transformers"])
def test_public_measurements_of_others_are_in_the_range(stack: str) -> None:
    mine = [(off(line, speed), speed) for line, speed in independent() if line["stack"] == stack]
    spreads = [(speed.high or 0) / (speed.tpot_ms or 1) for _, speed in mine]
    inside = sum(1 / spread <= ratio <= spread for (ratio, _), spread in zip(mine, spreads, strict=True))
    assert statistics.median(abs(ratio - 1) for ratio, _ in mine) <= 0.12
    assert abs(statistics.median(ratio for ratio, _ in mine) - 1) <= 0.15
    assert inside >= 0.8 * len(mine)


def test_good_confidence_is_within_a_quarter() -> None:
    good = [(off(line, speed), speed) for line, speed in independent() if speed.confidence == "good"]
    assert len(good) > 90
    assert all((speed.high or 0) <= 1.25 * (speed.tpot_ms or 0) for _, speed in good)
    assert sum(0.8 <= ratio <= 1.25 for ratio, _ in good) >= 0.85 * len(good)


def test_a_release_older_than_the_fitted_ones_is_rough() -> None:
    new, old = (
        estimate(model("8B"), gpu("H200"), Setup("vllm", "bfloat16", "none"), Load(1, 2048, 256), EVERYBODY, release)
        for release in ("0.8.0", "0.7.3")
    )
    assert new is not None
    assert old is not None
    assert (new.confidence, old.confidence) == ("fair", "rough")
    assert (old.high or 0) > 1.4 * (new.high or 0)


def test_sglang_lets_first_tokens_wait_for_prompts_instead_of_running_answers() -> None:
    """SGLang processes the prompts of simultaneous requests together; the tokens of all users take as long."""
    load = Load(64, 2048, 256)
    ours, theirs = (
        estimate(model("8B"), gpu("H200"), Setup(stack, "bfloat16", "none"), load, EVERYBODY)
        for stack in ("sglang", "vllm")
    )
    assert ours is not None
    assert theirs is not None
    assert (ours.tpot_ms or 0) < 0.9 * (theirs.tpot_ms or 0)
    assert ours.throughput_tokens_per_s == pytest.approx(theirs.throughput_tokens_per_s, rel=0.15)


def test_pcie_costs_more_with_every_rank() -> None:
    l40s, h100 = gpu("8xL40S"), gpu("8xH100")
    slow = [all_reduce(1e6, ranks, l40s, latency=4.5e-6, share=0.6) for ranks in (2, 4, 8)]
    fast = [all_reduce(1e6, ranks, h100, latency=4.5e-6, share=0.6) for ranks in (2, 4, 8)]
    assert slow == sorted(slow)
    assert fast == sorted(fast)
    assert all(a > 5 * b for a, b in zip(slow, fast, strict=True))
    assert all_reduce(1e6, 1, l40s, latency=4.5e-6, share=0.6) == 0


SETUPS = st.builds(
    Setup,
    st.sampled_from(["vllm", "trtllm-llmapi", "transformers"]),
    st.just("bfloat16"),
    st.sampled_from(["none", "fp8", "int4_awq", "nvfp4"]),
    st.sampled_from(["auto", "fp8"]),
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([1, 2]),
)
LOADS = st.builds(Load, st.integers(1, 64), st.integers(1, 4096), st.integers(1, 2048))
GPUS = st.sampled_from(["8xH100", "8xB200", "8xA100", "8xL40S", "8xT4"])


@given(SETUPS, LOADS, GPUS, st.integers(1, 8))
def test_more_work_never_takes_less_time(setup: Setup, load: Load, name: str, more: int) -> None:
    """With memory for all: more users, longer prompts and a slower GPU never make an answer faster."""
    device = replace(gpu(name), total_bytes=10**15)
    assert device.rates is not None
    slower = replace(device, rates=replace(device.rates, bandwidth=device.rates.bandwidth / 2))

    def tpot(where: Device, load: Load) -> float:
        speed = estimate(model("8B"), where, setup, load)
        assert speed is not None
        assert speed.tpot_ms is not None
        assert speed.served == load.users
        return speed.tpot_ms * (1 + 1e-9)

    base = tpot(device, load) / (1 + 1e-9)
    assert tpot(device, replace(load, users=load.users + more)) >= base
    assert tpot(device, replace(load, isl=load.isl + 100 * more)) >= base
    assert tpot(slower, load) >= base


@given(SETUPS, LOADS, GPUS)
def test_the_figures_agree_with_one_another(setup: Setup, load: Load, name: str) -> None:
    speed = estimate(model("8B"), gpu(name), setup, load)
    assert speed is not None
    assert speed.tpot_ms
    assert speed.served
    assert speed.throughput_tokens_per_s
    answered = speed.throughput_tokens_per_s * (load.osl - 1) * speed.tpot_ms / 1e3
    assert answered <= speed.served * load.osl * (1 + 1e-9)  # the rest of the time is the first token's
    assert (speed.users, speed.isl, speed.osl) == (load.users, load.isl, load.osl)
    if speed.ttft_ms is not None:
        assert speed.ttft_low_ms
        assert speed.ttft_high_ms
        assert speed.ttft_alone_ms
        assert speed.ttft_last_ms
        assert speed.ttft_low_ms <= speed.ttft_ms <= speed.ttft_high_ms
        assert speed.ttft_alone_ms <= speed.ttft_ms * (1 + 1e-9)
        assert speed.ttft_ms <= speed.ttft_last_ms
        assert load.users > 1 or speed.ttft_last_ms == pytest.approx(speed.ttft_ms)


@pytest.mark.parametrize("machine", ["1xL4", "4xA6000"])
def test_of_weights_with_unknown_names_no_speed_is_invented(machine: str) -> None:
    """Their bytes are in no part that a step reads: a step would seem to read next to nothing."""
    known = model("8B")
    facts = replace(known, unknown={"speed": "12 GiB of its 15 GiB of weights have names"})
    advice = advise(host(machine), facts, Constraints())
    assert advice.choices
    assert {choice.speed for choice in advice.choices} == {None}
    for choice in advice.choices:
        assert [text_of(note) for note in choice.warnings if note.code == "speed"] == [
            "Speed unknown: 12 GiB of its 15 GiB of weights have names."
        ]
    reason = Roofline().estimate(facts, devices(host(machine))[0], Setup("vllm", "float16", "none"), Load(1))
    assert reason == "12 GiB of its 15 GiB of weights have names"
    with_speed = advise(host(machine), known, Constraints()).choices
    measured = [choice for choice in with_speed if stacks.facts(choice.stack).speed]
    assert measured
    assert all(choice.speed and "speed" not in {note.code for note in choice.warnings} for choice in measured)
    assert all(choice.speed is None for choice in with_speed if choice not in measured)
