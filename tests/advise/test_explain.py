"""Every formula, worked out again from its text alone, gives the number that it explains."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.values import CPU_HOST, GGUF
from wizard.advise.advice import Choice, Constraints
from wizard.advise.ranking import advise
from wizard.catalog import stacks
from wizard.model.anatomy import Parts
from wizard.model.config import describe
from wizard.model.facts import ModelFacts, Quantization
from wizard.probe import hardware
from wizard.probe.host import Host
from wizard.probe.shorthand import host
from wizard.texts.explain import Figure, figures

PUBLIC = json.loads((Path(__file__).parents[1] / "model" / "configs" / "public.json").read_text())
EXACT = ("bytes", "tokens", "parameters")


def model(name: str) -> ModelFacts:
    return describe(ModelFacts(name, "folder", name, name, None, None), PUBLIC[name]["config"])


def worked_out(formula: str) -> float:
    """The value of a formula: its words say what a number is and are left out."""
    code = re.sub(r"(?<=\d),(?=\d{3})", "", formula)
    code = re.sub(r"(?<![a-z])(?!max\b|min\b)[A-Za-z][A-Za-z/ -]*[A-Za-z]|(?<![a-z])[A-Za-z](?![a-z])", " ", code)
    for sign, python in (
        ("×", "*"),
        ("÷", "/"),
        ("−", "-"),
        (";", ","),
        ("⌈", "math.ceil("),
        ("⌉", ")"),
        ("⌊", "math.floor("),
        ("⌋", ")"),
    ):
        code = code.replace(sign, python)
    return float(eval(code, {"math": math, "max": max, "min": min, "__builtins__": {}}))


def explained(machine: Host, facts: ModelFacts, constraints: Constraints) -> list[tuple[Choice, dict[str, Figure]]]:
    choices = advise(machine, facts, constraints).choices
    return [(choice, {figure.name: figure for figure in figures(machine, facts, choice)}) for choice in choices]


def check(choice: Choice, by_title: dict[str, Figure]) -> None:
    assert by_title
    for figure in by_title.values():
        value = worked_out(figure.formula)
        if figure.unit in EXACT:
            # Shares of a rank and bits of a format are rounded to whole bytes, part by part.
            assert value == pytest.approx(figure.value, abs=16, rel=1e-9), figure
        else:
            assert value == pytest.approx(figure.value, rel=2e-3, abs=2e-3), figure
        assert figure.source


NAMES = {
    "weights_bytes": "Weights on the fullest GPU",
    "kv_bytes_per_token": "KV cache per token",
    "kv_capacity_tokens": "KV cache available",
    "activation_bytes": "Activations",
    "overhead_bytes": "Overhead",
    "total_bytes": "Total per GPU",
    "budget_bytes": "Usable memory",
}


@pytest.mark.parametrize(
    ("name", "hardware", "constraints"),
    [
        ("meta-llama/Llama-3.1-8B", "1xA6000", Constraints()),
        ("meta-llama/Llama-3.1-70B", "4xA6000", Constraints()),
        ("meta-llama/Llama-3.1-70B", "8xA6000", Constraints(pp=2, tp=4)),
        ("meta-llama/Llama-3.1-70B", "4xH100", Constraints(kv_dtype="fp8", users=64)),
        ("Qwen/Qwen2.5-7B", "4xH100", Constraints(max_len=5000)),
        ("Qwen/Qwen3-235B-A22B", "8xH100", Constraints()),
        ("Qwen/Qwen3-30B-A3B", "4xH100", Constraints(expert_parallel=True)),
        ("meta-llama/Llama-3.1-8B", "1xH100", Constraints(speculative="ngram", users=300)),
        ("google/gemma-3-27b-it", "2xH100", Constraints(speculative="ngram")),
        ("XiaomiMiMo/MiMo-7B-Base", "1xH100", Constraints(speculative="mtp", runtime="native")),
        ("deepseek-ai/DeepSeek-V3", "8xB200", Constraints(speculative="mtp", runtime="native", expert_parallel=True)),
        ("deepseek-ai/DeepSeek-V3", "8xH200", Constraints()),
        ("deepseek-ai/DeepSeek-V3", "8xB200", Constraints(stack="vllm", tp=2, dp=4)),
        ("openai/gpt-oss-20b", "1xH100", Constraints()),
        ("google/gemma-3-27b-it", "2xH100", Constraints(goal="throughput")),
        ("tiiuae/falcon-7b", "2xA6000", Constraints(users=3)),
        ("Qwen/Qwen2.5-7B", "4xL4", Constraints(users=8, replicas=4, cost_per_hour=9.5)),
        ("mistralai/Mistral-7B-v0.1", "1xL40S", Constraints(gpu_memory_utilization=0.615)),
        ("google/gemma-3-1b-it", "1xT4", Constraints(quantization="none", max_len=2048)),
    ],
)
def test_every_number_of_every_choice_follows_from_its_formula(
    name: str, hardware: str, constraints: Constraints
) -> None:
    explanations = explained(host(hardware), model(name), constraints)
    assert explanations
    for choice, by_title in explanations:
        check(choice, by_title)
        for field, title in NAMES.items():
            assert by_title[title].value == getattr(choice.memory, field)
        assert "measured here" not in by_title["Overhead"].formula
        whole = choice.expert_parallel and choice.dp == 1
        unlike = choice.dtype == "float32" or whole or choice.speculative
        if not stacks.facts(choice.stack).speed or unlike:  # nobody measured it
            assert choice.speed is None
            continue
        assert choice.speed is not None
        assert by_title["Inter-token latency"].value == choice.speed.tpot_ms
        assert by_title["… at best"].value == choice.speed.low
        assert by_title["… at worst"].value == choice.speed.high
        assert by_title["Tokens in total"].value == choice.speed.throughput_tokens_per_s


def test_the_cache_of_a_token_is_written_as_in_the_papers() -> None:
    choice, by_title = explained(host("4xA6000"), model("meta-llama/Llama-3.1-70B"), Constraints(tp=4))[0]
    figure = by_title["KV cache per token"]
    assert figure.formula == "2 × 80 layers × ⌈8 ÷ 4⌉ KV heads × 128 × 2 bytes"
    assert figure.result == "81,920 bytes (80 KiB)"
    assert choice.memory.kv_bytes_per_token == 81_920


def test_weights_that_are_quantised_already_or_known_by_their_headers() -> None:
    facts = model("meta-llama/Llama-3.1-8B")
    awq = replace(facts, quantization=Quantization("awq", 4, format="int4_awq", group_size=64))
    for choice, by_title in explained(host("2xA6000"), awq, Constraints()):
        check(choice, by_title)
        assert "4.3125 bits" in by_title["Weights of the whole model"].formula
    assert facts.anatomy is not None
    stored = Parts(*(2 * getattr(facts.anatomy.parts, name) for name in Parts.__slots__))
    for choice, by_title in explained(host("1xA6000"), replace(facts, stored=stored), Constraints(quantization="none")):
        check(choice, by_title)
        assert "headers" in by_title["Weights of the whole model"].source


def test_on_the_cpu() -> None:
    ((choice, by_title),) = explained(CPU_HOST, GGUF, Constraints())
    check(choice, by_title)
    assert by_title["KV cache per token"].formula == "2 × 4 layers × 2 KV heads × 64 × 2 bytes"
    assert by_title["Total"].value == choice.memory.total_bytes
    assert by_title["Usable memory"].value == choice.memory.budget_bytes


def test_nothing_is_explained_of_another_machine_or_model() -> None:
    facts = model("meta-llama/Llama-3.1-8B")
    choice = advise(host("1xA6000"), facts, Constraints()).choices[0]
    assert figures(CPU_HOST, facts, choice) == ()
    assert figures(host("1xA6000"), GGUF, choice) == ()
    assert figures(CPU_HOST, replace(GGUF, layers=None), replace(choice, devices=(), stack="llamacpp")) == ()


def test_energy_follows_from_the_power_limits_and_the_slow_end() -> None:
    recorded = Path(__file__).parents[1] / "cases" / "hosts" / "host-h200-x8.json"
    machine = hardware.find(str(recorded), recorded.parent)
    for choice, by_title in explained(machine, model("meta-llama/Llama-3.1-8B"), Constraints(cost_per_hour=30.0)):
        check(choice, by_title)
        assert choice.cost
        if choice.speed:
            assert by_title["Energy for a million output tokens, at most"].value == choice.cost.kwh_per_million_tokens
            assert by_title["Cost of a million output tokens"].value == choice.cost.per_million_tokens
