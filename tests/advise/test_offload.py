"""A GGUF file on a GPU: as many layers as fit, experts on the host first; memory and speed against public figures."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.advise.test_cpu import LARGE
from tests.values import CPU_HOST
from tests.worded import text_of
from wizard.advise import cpu, offload_speed, speed
from wizard.advise.advice import Choice, Constraints, Offload, Speed
from wizard.advise.calibration import Calibration, processor
from wizard.advise.devices import devices
from wizard.advise.placement import Load, dealt, on_gpus, placements
from wizard.advise.ranking import advise
from wizard.advise.reasons import Reason
from wizard.catalog.environments import environment
from wizard.kernel.units import GIB, MIB
from wizard.model.anatomy import Anatomy, Attention, Parts
from wizard.model.facts import GgufFile, ModelFacts
from wizard.model.gguf_files import as_file
from wizard.model.gguf_layers import Layer, Layers
from wizard.model.source import find
from wizard.probe.cpu_rates import CpuRates
from wizard.probe.host import HERE, Gpu, Host
from wizard.probe.shorthand import host as shorthand
from wizard.texts import advise as words
from wizard.texts import report
from wizard.texts.explain import figures

ENGINE = cpu.on_cpu("llamacpp")
Q4_K, Q6_K = 144 / 256, 210 / 256


def dense(
    name: str, size_gib: float, layers: int, hidden: int, wide: int, kv_heads: int, vocabulary: int
) -> ModelFacts:
    """A dense model in Q4_K_M of ``size_gib`` (as llama-bench prints it) with a separate output in Q6_K."""
    embedding, output = int(vocabulary * hidden * Q4_K), int(vocabulary * hidden * Q6_K)
    each = int(size_gib * GIB - embedding - output) // layers
    largest = int(hidden * wide * Q6_K)
    matrices = (hidden * 3 * wide + 2 * hidden * hidden + 2 * hidden * kv_heads * 128) * layers
    parts = Parts(embedding=vocabulary * hidden, head=vocabulary * hidden, mlp=matrices)
    anatomy = Anatomy(parts, (Attention(layers, kv_heads, 128, 128),), layers, hidden, hidden // 128, wide, vocabulary)
    return replace(
        LARGE,
        name=name,
        parameters=parts.total,
        weight_bytes=each * layers + embedding + output,
        layers=layers,
        hidden_size=hidden,
        heads=hidden // 128,
        kv_heads=kv_heads,
        head_dim=128,
        intermediate_size=wide,
        vocabulary=vocabulary,
        anatomy=anatomy,
        stored=Parts(embedding=embedding, head=output, mlp=each * layers),
        gguf_layers=Layers((Layer(each, 0, largest),) * layers, output, embedding),
    )


LLAMA_8B = dense("Llama 3.1 8B", 4.58, 32, 4096, 14336, 8, 128256)
QWEN_14B = dense("Qwen2.5 14B", 8.37, 48, 5120, 13824, 8, 152064)


def laptop(name: str = "rtx4060 laptop", memory: int = 14 * GIB) -> Host:
    return replace(shorthand(name), memory_available_bytes=memory)


def first(host: Host, facts: ModelFacts, constraints: Constraints | None = None) -> Choice:
    return advise(host, facts, constraints or Constraints()).choices[0]


def split(choice: Choice) -> tuple[int, int]:
    assert choice.offload
    return choice.offload.gpu_layers, choice.offload.expert_layers


# -- public figures ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("layers", "used"), [(8, 2161), (16, 3509), (24, 4875), (32, 6241), (40, 7593), (49, 9179)])
def test_gpu_memory_is_close_to_what_was_measured(layers: int, used: int) -> None:
    """Qwen2.5-Coder 14B in Q4_K_M on an RTX 5060 Ti: inventivehq.com/blog/vram-offload-cliff-gpu-layers-benchmark.

    With no layer on the GPU its 265 MiB are the CUDA context.
    """
    assert QWEN_14B.gguf_layers
    placement = next(each for each in placements(QWEN_14B.gguf_layers) if each.gpu_layers == layers)
    load = Load(QWEN_14B, ENGINE, 1, 4096)
    gpu = on_gpus(load, placement, (layers,), (0,), (0,))[0].memory
    assert (gpu.total_bytes - gpu.overhead_bytes) / MIB + 265 == pytest.approx(used, rel=0.07)


@pytest.mark.parametrize(("layers", "used"), [(8, 2161), (16, 3509), (24, 4875), (32, 6241), (40, 7593), (49, 9179)])
def test_layers_of_a_file_that_was_not_read_are_close_to_what_was_measured(layers: int, used: int) -> None:
    """The same measurements, with layers from the bundled configuration of the model that it was made from."""
    file = GgufFile("o/q-GGUF", "q-Q4_K_M.gguf", "Q4_K_M", 8_988_110_464)  # 8.37 GiB, as above
    facts = as_file(find("Qwen/Qwen2.5-14B-Instruct", offline=True), file)
    assert facts.gguf_layers
    assert facts.gguf_layers.estimated
    placement = next(each for each in placements(facts.gguf_layers) if each.gpu_layers == layers)
    share = on_gpus(Load(facts, ENGINE, 1, 4096), placement, (layers,), (0,), (0,))[0]
    assert share.memory.total_bytes / MIB + 265 == pytest.approx(used, rel=0.07)


@pytest.mark.parametrize("repo", ["Qwen/Qwen3-8B", "Qwen/Qwen3-30B-A3B", "deepseek-ai/DeepSeek-V3.2"])
def test_every_byte_of_a_file_that_was_not_read_is_in_a_layer(repo: str) -> None:
    facts = as_file(find(repo, offline=True), GgufFile("o/q-GGUF", "q-Q4_K_M.gguf", "Q4_K_M", 10 * GIB))
    made = facts.gguf_layers
    assert made
    assert facts.anatomy
    copied = 0 if facts.anatomy.parts.head else made.input  # of a tied embedding
    total = sum(layer.dense + layer.experts for layer in made.repeating) + made.output + made.input - copied
    assert total == pytest.approx(10 * GIB, rel=0.01)
    assert sum(bool(layer.experts) for layer in made.repeating) == facts.anatomy.moe_layers


def test_the_memory_besides_buffers_is_the_measured_one_where_there_is_one() -> None:
    """On an H200 llama.cpp held 1,122 to 1,124 MiB besides the buffers in its log (tests/gpu/llamacpp_offload.py)."""
    assert ENGINE.offload
    assert ENGINE.offload.context((9, 0)) == 1124 * MIB
    assert ENGINE.offload.context((8, 9)) == ENGINE.offload.context_bytes
    whole = first(laptop("1xH200"), QWEN_14B, Constraints(users=1))
    assert whole.memory.overhead_bytes == 1124 * MIB


def test_a_laptop_with_8_gb_holds_a_model_of_8_b() -> None:
    """Ollama ran it at the speed of the GPU's memory: github.com/AlexsJones/llmfit/pull/958 (47.2 tokens/s)."""
    choice = first(laptop(), LLAMA_8B, Constraints(users=1))
    assert choice.offload == replace(choice.offload, gpu_layers=33, layers=33, expert_layers=0)
    assert choice.speed
    assert choice.speed.tpot_ms == pytest.approx(1000 / 47.2, rel=0.1)
    assert choice.speed.confidence == "rough"


def test_a_model_of_14_b_is_split_on_8_gb() -> None:
    """The same laptop ran it at 5.3 tokens/s; an RTX 2080 with 8 GB held 32 of 41 layers of Qwen3 14B with one slot
    and 4,096 tokens (github.com/AlexsJones/llmfit/pull/774).
    """
    layers, experts = split(first(laptop(), QWEN_14B, Constraints(users=1)))
    assert 25 <= layers < 40
    assert experts == 0
    qwen3 = dense("Qwen3 14B", 8.38, 40, 5120, 17408, 8, 151936)
    turing = laptop()
    turing = replace(turing, gpus=(replace(turing.gpus[0], name="RTX 2080", compute_capability=(7, 5)),))
    assert 22 <= split(first(turing, qwen3, Constraints(users=1)))[0] <= 32


def moe() -> ModelFacts:
    """Qwen3.6 35B-A3B, 20.81 GiB in 40 layers: nearly all of it in 256 experts of 512 (tests/model/configs)."""
    experts = 40 * 256 * 3 * 2048 * 512
    rest = 34_660_610_688 - experts - 2 * 248320 * 2048
    scale = 20.81 * GIB / 34_660_610_688
    expert, other = int(experts * scale) // 40, int(rest * scale) // 40
    outside = int(248320 * 2048 * scale)
    made = Layers((Layer(other, expert, other // 4, expert // 3),) * 40, outside, outside)
    return replace(
        LLAMA_8B, name="moe", layers=40, hidden_size=2048, intermediate_size=512, kv_heads=2, head_dim=256,
        vocabulary=248320, gguf_layers=made, weight_bytes=40 * (expert + other) + 2 * outside,
        stored=Parts(experts=expert * 40), anatomy=replace(QWEN_14B.anatomy, experts=256, experts_per_token=8),
    )  # fmt: skip


def test_experts_stay_on_the_host_before_layers_do() -> None:
    """llama.cpp b11469 ran it on an RTX 4060 Laptop with ``--n-cpu-moe`` 33 to 35 (n_ubatch 2048, 8,192 tokens)."""
    choice = first(laptop(memory=28 * GIB), moe(), Constraints(users=1, max_len=8192))
    layers, experts = split(choice)
    assert layers == 41
    assert 33 <= experts <= 37
    assert not choice.speed
    assert "no model with experts was measured" in " ".join(map(words.note, choice.warnings))


# -- the choice --------------------------------------------------------------------------------------------------------


def test_everything_fits_and_the_cpu_comes_second() -> None:
    advice = advise(shorthand("4090"), LLAMA_8B, Constraints())
    best, alone = advice.choices
    assert best.offload
    assert best.offload.whole
    assert (best.devices, best.max_batch_size, best.environment) == ((0,), 4, "llamacpp-cuda12")
    assert (alone.devices, alone.offload) == ((), None)
    assert "does not use the GPU" in report.reason(alone, "behind")
    assert report.choice_title(best).endswith("· GPU")
    assert report.choice_title(alone).endswith("· CPU")
    assert len(report.bills(best)) == 2
    assert len(report.bills(alone)) == 1


def test_fewer_users_if_all_layers_then_fit() -> None:
    choice = first(laptop(), LLAMA_8B)
    assert (choice.max_batch_size, split(choice)) == (2, (33, 0))
    assert "Planned for 2 users, not 4" in " ".join(map(words.note, choice.warnings))
    asked = first(laptop(), LLAMA_8B, Constraints(users=4))
    assert asked.max_batch_size == 4
    assert split(asked)[0] < 33


def test_a_model_too_large_for_the_host_alone_fits_with_a_gpu() -> None:
    small = laptop("4090", memory=3 * GIB)
    assert split(first(small, QWEN_14B, Constraints(users=1))) == (49, 0)
    assert not advise(replace(small, gpus=()), QWEN_14B, Constraints(users=1)).feasible


@pytest.mark.parametrize(
    ("change", "words_"),
    [
        ({"driver_version": "535.183.01"}, "NVIDIA driver 570 or newer"),
        ({"driver_version": None}, ""),
    ],
)
def test_a_driver_too_old_is_the_reason_for_the_cpu(change: dict[str, str | None], words_: str) -> None:
    choice = first(replace(laptop(), **change), LLAMA_8B)  # type: ignore[arg-type]
    assert bool(choice.offload) == (not words_)
    assert words_ in " ".join(map(words.note, choice.warnings))


def test_a_file_without_known_layers_stays_on_the_cpu() -> None:
    choice = first(laptop(), replace(LLAMA_8B, gguf_layers=None))
    assert choice.offload is None
    assert "bytes of each layer are unknown" in " ".join(map(words.note, choice.warnings))


def test_a_gpu_that_is_full_says_how_much_is_missing() -> None:
    host = laptop()
    full = replace(host, gpus=(replace(host.gpus[0], memory_free_bytes=GIB),))
    choice = first(full, LLAMA_8B)
    assert choice.offload is None
    assert "needs" in " ".join(map(words.note, choice.warnings))


def test_nothing_fits_gives_both_reasons() -> None:
    host = laptop(memory=GIB)
    full = replace(host, gpus=(replace(host.gpus[0], memory_free_bytes=GIB),))
    advice = advise(full, LLAMA_8B, Constraints())
    assert not advice.feasible
    assert [each.code for each in advice.rejections if each.stack == "llamacpp"] == ["memory", "memory"]
    assert "on the GPU" in " ".join(text_of(each) for each in advice.rejections)


def test_a_small_model_and_a_request_without_gpus_stay_on_the_cpu() -> None:
    small = replace(LLAMA_8B, weight_bytes=500_000_000)
    choice = first(shorthand("4090"), small)
    assert choice.offload is None
    assert "a larger download" in " ".join(map(words.note, choice.warnings))
    advice = advise(shorthand("4090"), LLAMA_8B, Constraints(max_gpus=0))
    assert [choice.devices for choice in advice.choices] == [()]
    assert not advise(shorthand("4090"), replace(LLAMA_8B, weights=()), Constraints(max_gpus=0)).feasible


def test_one_of_several_gpus_if_it_holds_all_and_no_mig_slice() -> None:
    two = shorthand("2x4090")
    sliced = replace(two.gpus[0], name="NVIDIA A100 80GB MIG 2g.20gb", memory_total_bytes=20 * GIB)
    choice = first(replace(two, gpus=(sliced,)), LLAMA_8B)
    assert choice.offload is None
    assert "whole GPUs only, not MIG slices" in " ".join(map(words.note, choice.warnings))
    choice = first(two, LLAMA_8B)
    assert choice.devices == (0,)
    assert "1 more GPU stays free" in " ".join(map(words.note, choice.reasons))


# -- several GPUs ------------------------------------------------------------------------------------------------------

LLAMA_70B = dense("Llama 3.3 70B", 39.6, 80, 8192, 28672, 8, 128256)


def test_a_model_too_large_for_one_gpu_is_on_two() -> None:
    choice = first(laptop("2x4090", 60 * GIB), LLAMA_70B, Constraints(users=1))
    assert choice.offload
    assert choice.offload.whole
    assert choice.devices == (0, 1)
    shares = choice.offload.shares
    assert sum(share.layers for share in shares) == 81
    assert abs(shares[0].layers - shares[1].layers) <= 3
    assert choice.memory == shares[0].memory
    assert all(share.memory.total_bytes <= share.memory.budget_bytes for share in shares)
    assert LLAMA_70B.gguf_layers
    weights = LLAMA_70B.gguf_layers.output + sum(layer.dense for layer in LLAMA_70B.gguf_layers.repeating)
    assert sum(share.memory.weights_bytes for share in shares) == weights
    assert report.choice_title(choice).endswith("· 2 GPUs")
    titles = [title for title, _ in report.bills(choice)]
    assert titles[0].startswith(f"GPU 0, {shares[0].layers} layers: ")
    assert titles[1].startswith(f"GPU 1, {shares[1].layers} layers: ")
    assert titles[2].startswith("Host memory")
    assert "on the 2 GPUs (NVIDIA GeForce RTX 4090)" in report.reason(choice, "offload")
    assert "never tested" in " ".join(map(words.note, choice.warnings))


def test_two_gpus_are_as_fast_as_one_with_the_memory_of_both() -> None:
    two = first(laptop("2x4090", 60 * GIB), LLAMA_70B, Constraints(users=1))
    assert two.speed
    assert two.speed.tpot_ms == pytest.approx(1000 * 39.6 * GIB / (0.96 * 1008e9) + 80 * 0.09, rel=0.05)


def test_unequal_gpus_have_layers_in_the_ratio_of_their_room() -> None:
    host = laptop("2x4090", 60 * GIB)
    smaller = {"name": "NVIDIA GeForce RTX 3060", "memory_total_bytes": 12 * GIB, "memory_free_bytes": 12 * GIB}
    small = replace(host.gpus[0], **smaller, compute_capability=(8, 6))  # type: ignore[arg-type]
    mixed = replace(host, gpus=(small, host.gpus[1]))
    choice = first(mixed, dense("32B", 26.0, 64, 5120, 25600, 8, 151936), Constraints(users=1))
    assert choice.offload
    assert choice.devices == (0, 1)
    less, more = choice.offload.shares
    assert 1.5 < more.layers / less.layers < 3.5
    assert "NVIDIA GeForce RTX 3060 + NVIDIA GeForce RTX 4090" in report.reason(choice, "offload")
    assert first(mixed, QWEN_14B, Constraints(users=1)).devices == (1,)  # the larger one holds it
    assert first(mixed, LLAMA_70B, Constraints(users=1, max_gpus=1)).devices == (1,)


def test_several_gpus_and_the_host_share_what_is_larger_than_all() -> None:
    choice = first(laptop("2xrtx4060", 60 * GIB), LLAMA_70B, Constraints(users=1))
    assert choice.offload
    assert not choice.offload.whole
    assert len(choice.offload.shares) == 2
    alone = first(laptop("2xrtx4060", 60 * GIB), LLAMA_70B, Constraints(users=1, max_gpus=1))
    assert alone.offload
    assert choice.offload.gpu_layers > alone.offload.gpu_layers
    assert "layers on 2 GPUs" in report.choice_title(choice)


def test_the_explanation_of_several_gpus_adds_up() -> None:
    host = laptop("2x4090", 60 * GIB)
    choice = first(host, LLAMA_70B, Constraints(users=1))
    shown = {figure.name: figure for figure in figures(host, LLAMA_70B, choice)}
    assert choice.offload
    for index, share in enumerate(choice.offload.shares):
        total = shown[f"Total on the GPU (GPU {index})"]
        assert total.value == share.memory.total_bytes
        assert eval(total.formula.replace(",", "").replace("×", "*")) == share.memory.total_bytes


def test_the_share_of_gpu_memory_is_a_limit() -> None:
    whole = first(shorthand("4090"), QWEN_14B, Constraints(users=1))
    part = first(shorthand("4090"), QWEN_14B, Constraints(users=1, gpu_memory_utilization=0.3))
    assert split(whole) == (49, 0)
    assert split(part)[0] < 40
    assert whole.gpus == part.gpus == 1
    assert part.memory.total_bytes <= 0.3 * 24564 * MIB


# -- speed -------------------------------------------------------------------------------------------------------------


def test_a_split_is_estimated_where_the_processor_was_measured() -> None:
    host = replace(laptop(), source=HERE)
    past = Calibration(cpu=CpuRates(processor(host), host.cpu.cores, 60e9, "2026-11-23"))
    asked = Constraints(users=1)
    known = advise(host, QWEN_14B, asked, past).choices[0]
    assert known.speed
    assert known.speed.tpot_ms
    alone = advise(host, QWEN_14B, asked, past).choices[1]
    assert alone.speed
    assert alone.speed.tpot_ms
    assert 1000 / (256e9 / (8.3 * GIB)) < known.speed.tpot_ms < alone.speed.tpot_ms
    assert known.speed.low
    assert known.speed.low < known.speed.tpot_ms
    unknown = first(laptop(), QWEN_14B, asked)
    assert unknown.speed is None
    assert "`triton-wizard probe --measure` has not measured this CPU" in " ".join(map(words.note, unknown.warnings))


def test_an_engine_that_was_not_measured_with_gpus_has_no_speed() -> None:
    assert ENGINE.offload
    (device,) = devices(shorthand("4090"))
    asked: dict[str, Any] = {"constraints": Constraints(), "load": speed.Load(1), "cache_bytes": 0}
    assert isinstance(offload_speed.estimate(QWEN_14B, ENGINE, [(device, 48)], None, **asked), Speed)
    for offload in (None, replace(ENGINE.offload, speed=None)):
        unmeasured = replace(ENGINE, offload=offload)
        assert isinstance(offload_speed.estimate(QWEN_14B, unmeasured, [(device, 48)], None, **asked), Reason)


def test_several_users_are_not_promised_a_speed() -> None:
    assert first(shorthand("4090"), LLAMA_8B, Constraints(users=4)).speed is None
    limited = advise(shorthand("4090"), LLAMA_8B, Constraints(users=4, tpot=50))
    assert not any(choice.offload for choice in limited.choices)
    first_token = advise(shorthand("4090"), LLAMA_8B, Constraints(users=1, ttft=1000))
    assert not any(choice.offload for choice in first_token.choices)


def test_a_limit_is_met_at_the_load_that_was_estimated() -> None:
    limited = first(shorthand("4090"), LLAMA_8B, Constraints(tpot=50))
    assert limited.speed
    assert (limited.max_batch_size, limited.speed.users) == (1, 1)
    codes = {note.code for note in limited.warnings}
    assert "offload-users-limit" in codes
    assert "offload-users-cut" not in codes
    assert first(shorthand("4090"), LLAMA_8B).max_batch_size == 4


def test_recurrent_states_are_not_called_unknown_layers() -> None:
    choice = first(shorthand("4090"), find("Qwen/Qwen3.6-27B", offline=True), Constraints(stack="llamacpp", users=1))
    assert choice.offload
    assert choice.offload.layers == 65
    assert "no model with recurrent states or sparse attention was measured" in " ".join(
        map(words.note, choice.warnings)
    )


# -- every split -------------------------------------------------------------------------------------------------------


sizes = st.integers(0, 500 * MIB)
a_layer = st.builds(Layer, sizes, st.just(0) | sizes, st.integers(0, MIB), st.integers(0, MIB))


@given(st.lists(a_layer, min_size=1, max_size=12), sizes, sizes)
def test_every_byte_is_somewhere_and_later_splits_put_less_on_the_gpu(each: list[Layer], out: int, read: int) -> None:
    layers = Layers(tuple(each), out, read)
    made = placements(layers)
    assert (made[0].gpu_layers, made[0].expert_layers, made[0].copied_bytes) == (len(each) + 1, 0, 0)
    total = sum(layer.dense + layer.experts for layer in each) + out + read
    assert all(placement.gpu_bytes + placement.host_bytes == total for placement in made)
    on_gpu = [placement.gpu_bytes for placement in made]
    assert on_gpu == sorted(on_gpu, reverse=True)


@given(st.lists(a_layer, min_size=1, max_size=12), sizes, st.lists(st.integers(1, 8), min_size=1, max_size=4))
def test_layers_are_dealt_out_whole_and_within_every_budget(each: list[Layer], out: int, rooms: list[int]) -> None:
    placement = placements(Layers(tuple(each), out, 0))[0]
    load = Load(LLAMA_8B, ENGINE, 1, 2048)
    budgets, contexts = [room * 512 * MIB for room in rooms], [100 * MIB] * len(rooms)
    counts = dealt(load, placement, contexts, budgets)
    if counts is None:
        return
    assert sum(counts) == len(each) + 1
    assert min(counts) >= 1
    shares = on_gpus(load, placement, counts, contexts, budgets)
    assert all(share.memory.total_bytes <= share.memory.budget_bytes for share in shares)
    assert sum(share.memory.weights_bytes for share in shares) == placement.gpu_bytes
    # llama.cpp's own arithmetic for the ratio that it is given (llama_model_base::load_tensors, in float32)
    ends = [np.float32(sum(counts[: at + 1])) / np.float32(sum(counts)) for at in range(len(counts))]
    gpus = [bisect_right(ends, np.float32(layer) / np.float32(sum(counts))) for layer in range(sum(counts))]
    assert [gpus.count(gpu) for gpu in range(len(counts))] == list(counts)


@given(
    st.integers(1, 40).map(lambda gib: gib * GIB), st.integers(1, 64).map(lambda gib: gib * GIB),
    st.sampled_from([LLAMA_8B, QWEN_14B, moe()]), st.integers(1, 8), st.sampled_from([256, 2048, 16384]),
)  # fmt: skip
def test_no_choice_exceeds_a_budget_and_more_memory_never_puts_less_on_the_gpu(
    free: int, host: int, facts: ModelFacts, users: int, tokens: int
) -> None:
    def best(bytes_: int) -> Offload | None:
        gpu = Gpu(0, "NVIDIA GeForce RTX 4090", bytes_, bytes_, compute_capability=(8, 9))
        machine = replace(CPU_HOST, gpus=(gpu,), driver_version="580.1", memory_available_bytes=host)
        advice = advise(machine, facts, Constraints(users=users, max_len=tokens))
        on_gpu = next((choice for choice in advice.choices if choice.offload), None)
        if on_gpu is None:
            return None
        assert on_gpu.offload
        assert on_gpu.memory.total_bytes <= on_gpu.memory.budget_bytes
        assert on_gpu.offload.host.total_bytes <= on_gpu.offload.host.budget_bytes
        return on_gpu.offload

    less, more = best(free), best(free + GIB)
    if less:
        assert more
        assert (more.gpu_layers, -more.expert_layers) >= (less.gpu_layers, -less.expert_layers)


# -- words -------------------------------------------------------------------------------------------------------------


def test_the_explanation_adds_up() -> None:
    host = laptop()
    choice = first(host, QWEN_14B, Constraints(users=1))
    shown = {figure.name: figure for figure in figures(host, QWEN_14B, choice)}
    assert choice.offload
    assert shown["Total on the GPU"].value == choice.memory.total_bytes
    assert shown["Total on the host"].value == choice.offload.host.total_bytes
    assert eval(shown["Total on the GPU"].formula.replace(",", "").replace("×", "*")) == choice.memory.total_bytes


@pytest.mark.parametrize(("name", "memory"), [("rtx4060 laptop", 14 * GIB), ("cpu", 30 * GIB)])
def test_a_file_of_the_catalog_is_explained_and_not_as_if_it_was_read(name: str, memory: int) -> None:
    host, facts = laptop(name, memory), find("google/gemma-4-E2B-it", offline=True)
    choice = first(host, facts, Constraints(stack="llamacpp"))
    assert choice.checkpoint
    assert choice.checkpoint.file
    shown = {figure.name: figure for figure in figures(host, facts, choice)}
    assert next(figure for name, figure in shown.items() if name.startswith("Total")).value == choice.memory.total_bytes
    assert any(name.startswith("Weights") for name in shown)
    assert any(name.startswith("KV cache per token") for name in shown)
    assert not [figure for figure in shown.values() if "header" in figure.source]


def test_titles_and_reasons_tell_the_split() -> None:
    partial = first(laptop(), QWEN_14B, Constraints(users=1))
    assert "of 49 layers on the GPU" in report.choice_title(partial)
    (why,) = [words.note(note) for note in partial.reasons if note.code == "offload"]
    assert "all that fit" in why
    assert "The CPU runs the others" in why
    assert "GPU memory is the limit" in report.reason(partial, "limit")
    kept = first(laptop(memory=28 * GIB), moe(), Constraints(users=1))
    (why,) = [words.note(note) for note in kept.reasons if note.code == "offload"]
    assert "stay in host memory" in why


def test_the_environment_has_what_the_index_does_not() -> None:
    env = environment("llamacpp-cuda12")
    assert env.index.startswith("https://xorbitsai.github.io/")
    assert env.from_index == (f"xllamacpp=={environment('llamacpp').engine_version}",)
    assert env.engine_version == environment("llamacpp").engine_version
    assert env.oldest_driver((8, 9)) == 570


def test_a_goal_with_long_requests_has_the_context_that_the_cpu_has() -> None:
    host = laptop("1xH200", 128 * GIB)
    with_gpu, alone = advise(host, replace(QWEN_14B, max_context=131072), Constraints(goal="documents")).choices[:2]
    assert with_gpu.offload
    assert with_gpu.max_seq_len == alone.max_seq_len > cpu.DEFAULT_CONTEXT


def test_a_cut_context_and_shorter_requests_are_warnings() -> None:
    facts = replace(QWEN_14B, max_context=131072)
    choice = first(laptop(memory=10 * GIB), facts, Constraints(goal="documents"))
    assert choice.offload
    assert choice.max_seq_len == cpu.DEFAULT_CONTEXT
    assert {"context-cut", "shorter-requests"} <= {note.code for note in choice.warnings}


@pytest.mark.parametrize(
    ("memory", "users", "tokens"), [(2 * GIB, 4, 4096), (3 * GIB, 64, 131072), (8 * GIB, 64, 131072)]
)
def test_less_context_is_offered_only_where_it_then_fits(memory: int, users: int, tokens: int) -> None:
    """Not where the weights alone exceed the memory of the host."""
    host, asked = laptop(memory=memory), Constraints(users=users, max_len=tokens)
    (refused, *_) = [each for each in advise(host, QWEN_14B, asked).rejections if each.reason.code == "offload-no-room"]
    assert refused.remedies
    lengths = [each.changes for each in refused.remedies if each.changes]
    assert bool(lengths) == (memory > 4 * GIB)
    for changes in lengths:
        assert advise(host, QWEN_14B, replace(asked, **changes)).feasible
    if any(each.code == "fewer-users" for each in refused.remedies):
        assert advise(host, QWEN_14B, replace(asked, users=1)).feasible


@pytest.mark.parametrize(
    ("constraints", "code"),
    [
        ({}, None),
        ({"users": 1}, None),
        ({"users": 4}, None),
        ({"tpot": 50.0}, "offload-users-limit"),
        ({"tpot": 50.0, "users": 1}, None),
    ],
)
def test_users_are_only_said_to_be_cut_if_they_were_not_asked_for(
    constraints: dict[str, Any], code: str | None
) -> None:
    warnings = [note.code for note in first(shorthand("4090"), LLAMA_8B, Constraints(**constraints)).warnings]
    assert [each for each in warnings if each.startswith("offload-users")] == ([code] if code else [])


def test_the_output_is_no_layer_that_takes_its_time() -> None:
    host = shorthand("4090")
    choice = first(host, LLAMA_8B, Constraints(users=1))
    assert split(choice) == (33, 0)
    asked: dict[str, Any] = {"constraints": Constraints(users=1), "load": speed.Load(1, 1024, 256)}
    placed = [(devices(host)[0], 32)]
    assert choice.speed == offload_speed.estimate(LLAMA_8B, ENGINE, placed, None, **asked, cache_bytes=131072)


@pytest.mark.parametrize("memory", range(1, 15))
def test_fewer_users_are_a_remedy_where_one_alone_fits_and_free_memory_where_nothing_does(memory: int) -> None:
    host, asked = laptop(memory=memory * GIB), Constraints(users=2, max_len=32_768)
    (refused, *_) = [each for each in advise(host, QWEN_14B, asked).rejections if each.reason.code == "offload-no-room"]
    alone = any(choice.offload for choice in advise(host, QWEN_14B, replace(asked, users=1)).choices)
    codes = [each.code for each in refused.remedies]
    assert ("fewer-users" in codes) is alone is (memory > 10)
    assert ("free-memory" in codes) is (memory < 4)
    missing = refused.reason.params["need_bytes"] - refused.reason.params["budget_bytes"]  # type: ignore[operator]
    assert missing > 0
    assert [each.params["size_bytes"] for each in refused.remedies if each.code == "free-memory"] in ([missing], [])
