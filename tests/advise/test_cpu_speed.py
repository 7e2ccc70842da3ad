"""Speed on the CPU: from the measured bandwidth, never without it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.values import CPU_HOST
from wizard.advise import cpu_speed
from wizard.advise.advice import Constraints
from wizard.advise.calibration import Calibration, processor
from wizard.advise.ranking import advise
from wizard.advise.speed import Load
from wizard.catalog.cpu_facts import CpuSpeed
from wizard.kernel.paths import Workspace
from wizard.model.anatomy import Anatomy, Attention, Parts, State
from wizard.model.facts import ModelFacts, WeightFile
from wizard.probe.cpu_rates import CpuRates, read_bandwidth
from wizard.serve.calibration import keep_rates, kept

EXACT = CpuSpeed(decode_weights=1e9, prefill_weights=2e9, layer_us=1000, spread=0.5, source="a test")
RATES = CpuRates("a processor", 2, 10e9, "2026-11-23T00:00:00+00:00")
DENSE = cpu_speed.Work(1e9, 0, 0.0, 2e9, 1.5e9, 1000, 10)


def gguf(parts: Parts, stored: Parts, **more: int) -> ModelFacts:
    anatomy = Anatomy(parts, (Attention(10, 2, 64, 64),), 10, 512, 8, 2048, 1000, **more)
    return ModelFacts(
        *("m.gguf", "gguf", "m.gguf", "m", "llama", parts.total),
        **{"layers": 10, "hidden_size": 512, "heads": 8, "kv_heads": 2, "head_dim": 64, "vocabulary": 1000},
        max_context=4096,
        weight_bytes=stored.total,
        anatomy=anatomy,
        stored=stored,
        weights=(WeightFile("m.gguf", stored.total, "gguf"),),
        local=True,
    )


SMALL = gguf(Parts(embedding=10**8, mlp=10**9), Parts(embedding=10**8, mlp=10**9))


def test_a_token_reads_everything_once_and_many_users_multiply_as_a_prompt_does() -> None:
    single = cpu_speed.token_seconds(DENSE, EXACT, RATES, users=1, context=0)
    assert abs(single - (0.1 + 1.0 + 0.01)) < 1e-12
    both = cpu_speed.token_seconds(DENSE, EXACT, RATES, users=4, context=1000)
    assert abs(both - (4 * 2e9 / (2e9 * 2) + 0.01)) < 1e-12


def test_more_users_read_more_experts_but_never_more_than_all() -> None:
    experts = replace(DENSE, expert_bytes=8e9, share=0.25, weights=0.0)
    times = [cpu_speed.token_seconds(experts, EXACT, RATES, users=users, context=0) for users in (1, 4, 8)]
    assert [round(each, 9) for each in times] == [0.31, 0.91, 0.91]


def test_a_separate_embedding_is_not_read_and_idle_experts_are_not_multiplied() -> None:
    separate = gguf(Parts(embedding=100, head=100, mlp=1000), Parts(embedding=50, head=50, mlp=500))
    todo = cpu_speed.work(separate, 0)
    assert todo
    assert (todo.dense_bytes, todo.weights, todo.prompt_weights) == (550, 1100, 1000)
    mixed = gguf(Parts(embedding=100, experts=800), Parts(embedding=50, experts=400), experts=8, experts_per_token=2)
    todo = cpu_speed.work(mixed, 0)
    assert todo
    assert (todo.dense_bytes, todo.expert_bytes, todo.share, todo.weights) == (50, 400, 0.25, 300)
    assert todo.prompt_weights == 200  # the embedding is the output projection too


def test_without_a_measurement_or_tensors_there_is_no_speed() -> None:
    (choice, *_) = advise(CPU_HOST, SMALL, Constraints()).choices
    assert choice.speed is None
    assert cpu_speed.work(replace(SMALL, stored=None), 0) is None


@pytest.mark.parametrize(
    "attention",
    [
        Attention(10, 2, 64, 64, state=State("convolution", 0, 4096)),
        Attention(10, 2, 64, 64, index_bytes=132),
        Attention(10, 2, 64, 64, tokens_per_row=4),
    ],
)
def test_of_layers_that_were_never_measured_there_is_no_speed(attention: Attention) -> None:
    """Of recurrent states, indexers and rows of several tokens, one is enough."""
    assert SMALL.anatomy
    assert cpu_speed.work(SMALL, 0)
    mixed = replace(SMALL.anatomy, attention=(*SMALL.anatomy.attention, attention))
    assert cpu_speed.work(replace(SMALL, anatomy=mixed), 0) is None


def test_a_measured_processor_gives_a_speed_with_its_range_and_source() -> None:
    rates = CpuRates(processor(CPU_HOST), CPU_HOST.cpu.cores, 30e9, RATES.at)
    (choice, *_) = advise(CPU_HOST, SMALL, Constraints(users=1), Calibration(cpu=rates)).choices
    assert choice.speed
    assert choice.speed.provider == cpu_speed.PROVIDER
    assert choice.speed.confidence == "rough"
    tpot = choice.speed.tpot_ms or 0
    assert (choice.speed.low or 0) < tpot < (choice.speed.high or 0)
    assert tpot > 1.1e9 / 30e9 * 1e3  # never faster than the memory


def test_prompts_of_all_users_are_processed_one_after_another_and_ranges_have_one_ratio() -> None:
    todo = cpu_speed.work(SMALL, 0)
    speed = cpu_speed.estimate(SMALL, EXACT, RATES, Load(4, 100, 50), 0)
    assert todo
    assert speed
    prompt = cpu_speed.prompt_seconds(todo, EXACT, RATES, 100)
    token = cpu_speed.token_seconds(todo, EXACT, RATES, users=4, context=125)
    assert speed.tpot_ms == pytest.approx(1000 * token)
    assert (speed.low, speed.high) == pytest.approx((1000 * token / 1.5, 1000 * token * 1.5))
    assert (speed.ttft_alone_ms, speed.ttft_ms, speed.ttft_last_ms) == pytest.approx(
        (1000 * prompt, 4000 * prompt, 4000 * prompt)
    )
    assert (speed.ttft_low_ms, speed.ttft_high_ms) == pytest.approx((4000 * prompt / 1.5, 6000 * prompt))
    assert speed.throughput_tokens_per_s == pytest.approx(4 * 50 / (4 * prompt + 49 * token))


def test_the_rates_of_another_processor_do_not_count() -> None:
    other = CpuRates("another", CPU_HOST.cpu.cores, 30e9, RATES.at)
    fewer = CpuRates(processor(CPU_HOST), CPU_HOST.cpu.cores + 1, 30e9, RATES.at)
    assert Calibration(cpu=other).rates_of(CPU_HOST) is None
    assert Calibration(cpu=fewer).rates_of(CPU_HOST) is None


def test_the_measurement_is_of_this_machine_and_is_kept(tmp_path: Path) -> None:
    assert 1e8 < read_bandwidth(2, total_bytes=8 << 20, seconds=0.01) < 1e13
    workspace = Workspace.at(tmp_path / "new")
    assert kept(workspace).cpu is None
    keep_rates(workspace, RATES)
    assert kept(workspace).cpu == RATES
    workspace.cpu_rates.write_text("{", encoding="utf-8")
    assert kept(workspace).cpu is None
