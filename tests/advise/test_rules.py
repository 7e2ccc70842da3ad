"""Each rule by a setup that breaks exactly it, and by one that does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.advise.worlds import AWQ, GPTQ, HOSTS, LLAMA_8B, LLAMA_70B, MXFP4, facts_of, machine
from tests.worded import remedy_of, text_of
from wizard.advise import rules
from wizard.advise.devices import Device, devices
from wizard.advise.reasons import Obstacle
from wizard.advise.setup import Setup
from wizard.model.facts import ModelFacts

PHI, MIXTRAL = "microsoft/Phi-3-mini-4k-instruct", "mistralai/Mixtral-8x7B-v0.1"
QWEN_7B, QWEN_72B, PHI_MEDIUM = "Qwen/Qwen2.5-7B", "Qwen/Qwen2.5-72B", "microsoft/Phi-3-medium-4k-instruct"


def group(name: str) -> Device:
    if name == "P100":
        return replace(group("1xT4"), name="Tesla P100-PCIE-16GB", compute_capability=(6, 0))
    return devices(HOSTS[name] if name in HOSTS else machine(name))[0]


def setup(
    stack: str, quantization: str = "none", dtype: str = "bfloat16", kv: str = "auto", tp: int = 1, pp: int = 1
) -> Setup:
    return Setup(stack, dtype, quantization, kv, tp, pp)


def broken(facts: ModelFacts, gpus: str, made: Setup) -> list[Obstacle]:
    assert facts.anatomy is not None
    return list(rules.obstacles(facts, facts.anatomy, group(gpus), made))


HALF = "float16"
BREAKS: dict[str, tuple[str, str, Setup, str, str]] = {
    "no splitting over MIG slices": (LLAMA_8B, "MIG", setup("vllm", tp=2), "mig", "--tp 1"),
    "no more GPUs than there are": (LLAMA_8B, "1xL4", setup("vllm", tp=2), "gpus", "--tp 1"),
    "of three GPUs two can split heads": (LLAMA_8B, "3xA100", setup("vllm", tp=4), "gpus", "--tp 2"),
    "bfloat16 begins at 8.0": (LLAMA_8B, "1xT4", setup("vllm"), "dtype", "float16"),
    "FP8 is unpacked from 7.5 on": (LLAMA_8B, "V100", setup("vllm", "fp8", HALF), "format", "7.5"),
    "FP8 in TensorRT-LLM begins at 8.9": (LLAMA_8B, "3xA100", setup("trtllm-llmapi", "fp8"), "format", "8.9"),
    "AWQ begins at 7.5": (LLAMA_8B, "V100", setup("vllm", "int4_awq", HALF), "format", "7.5"),
    "NVFP4 is unpacked from 7.5 on": (LLAMA_8B, "V100", setup("vllm", "nvfp4", HALF), "format", "7.5"),
    "NVFP4 in TensorRT-LLM begins at 10.0": (LLAMA_8B, "8xH100", setup("trtllm-llmapi", "nvfp4"), "format", "10.0"),
    "MXFP4 in TensorRT-LLM begins at 9.0": (
        "openai/gpt-oss-20b",
        "3xA100",
        setup("trtllm-llmapi", "mxfp4"),
        "format",
        "9.0",
    ),
    "tiles of the kernels that unpack": (QWEN_72B, "4xA10", setup("vllm", "fp8", tp=4), "group", "--tp 2"),
    "MXFP4 begins at 8.0": ("openai/gpt-oss-20b", "1xT4", setup("vllm", "mxfp4", HALF), "format", "8.0"),
    "vLLM has no W4A8": (LLAMA_8B, "8xH100", setup("vllm", "w4a8_awq"), "format", "another checkpoint"),
    "no AWQ in TensorRT-LLM on consumer Blackwell": (
        LLAMA_8B,
        "1xRTX5090",
        setup("trtllm-llmapi", "int4_awq"),
        "format",
        "another",
    ),
    "no FP8 blocks in TensorRT-LLM on Ada": (LLAMA_8B, "1xL4", setup("trtllm-llmapi", "fp8_block"), "format", "9.0"),
    "no INT8 in the LLM API": (LLAMA_8B, "3xA100", setup("trtllm-llmapi", "int8_sq"), "format", "another"),
    "Transformers runs 16 bits": (LLAMA_8B, "8xH100", setup("transformers", "fp8"), "format", "16-bit"),
    "Transformers has no FP8 KV cache": (LLAMA_8B, "8xH100", setup("transformers", kv="fp8"), "kv-dtype", "auto"),
    "stages count too": (LLAMA_8B, "8xH100", setup("vllm", tp=4, pp=4), "gpus", "--tp 2"),
    "Transformers runs on one GPU": (LLAMA_8B, "8xH100", setup("transformers", tp=2), "split", "--tp 1"),
    "FP8 KV cache in vLLM begins at 8.9": (LLAMA_8B, "3xA100", setup("vllm", kv="fp8"), "kv-dtype", "auto"),
    "no AWQ of Mixtral in TensorRT-LLM": (MIXTRAL, "3xA100", setup("trtllm-llmapi", "int4_awq"), "model", "vllm"),
    "Phi is 16 bits in TensorRT-LLM": (PHI, "3xA100", setup("trtllm-llmapi", "int4_awq"), "model", "vllm"),
    "engines want like stages": (LLAMA_8B, "3xA100", setup("trtllm-engine", pp=3), "split", "--pp 2"),
    "heads": (QWEN_7B, "8xH100", setup("vllm", tp=8), "split", "--tp 4"),
    "KV heads": (PHI_MEDIUM, "4xA10", setup("vllm", tp=4), "split", "--tp 2"),
    "groups": (QWEN_72B, "3xA100", setup("vllm", "int4_awq", tp=2), "group", "--tp 1"),
    "blocks": ("Qwen/Qwen3-235B-A22B", "8xH100", setup("vllm", "fp8_block", tp=8), "group", "--tp 4"),
}
KEEPS: dict[str, tuple[str, str, Setup]] = {
    "vLLM on Volta": (LLAMA_8B, "V100", setup("vllm", dtype=HALF)),
    "TensorRT-LLM on Ampere": (LLAMA_8B, "3xA100", setup("trtllm-llmapi")),
    "Transformers on Turing": (LLAMA_8B, "1xT4", setup("transformers", dtype=HALF)),
    "one MIG slice": (LLAMA_8B, "MIG", setup("vllm")),
    "all of eight GPUs": (LLAMA_70B, "8xH100", setup("vllm", tp=8)),
    "tp and pp": (LLAMA_70B, "8xH100", setup("trtllm-engine", tp=4, pp=2)),
    "FP8 on Ada": (LLAMA_8B, "1xL4", setup("vllm", "fp8")),
    "FP8 unpacked on Ampere": (LLAMA_8B, "3xA100", setup("vllm", "fp8")),
    "FP8 blocks unpacked on Ampere": (LLAMA_8B, "3xA100", setup("vllm", "fp8_block", tp=2)),
    "FP8 unpacked on Turing": (LLAMA_8B, "1xT4", setup("vllm", "fp8", HALF)),
    "NVFP4 unpacked on Hopper": (LLAMA_8B, "8xH100", setup("vllm", "nvfp4")),
    "no tiles where FP8 is multiplied": (QWEN_72B, "8xL40S", setup("vllm", "fp8", tp=4)),
    "AWQ on Turing": (LLAMA_8B, "1xT4", setup("vllm", "int4_awq", HALF)),
    "NVFP4 on Blackwell": (LLAMA_8B, "8xB200", setup("trtllm-llmapi", "nvfp4")),
    "MXFP4 on Ampere": ("openai/gpt-oss-20b", "3xA100", setup("vllm", "mxfp4")),
    "W4A8 on Hopper": (LLAMA_8B, "8xH100", setup("trtllm-llmapi", "w4a8_awq")),
    "INT8 in an engine": (LLAMA_8B, "3xA100", setup("trtllm-engine", "int8_sq")),
    "FP8 KV cache in TensorRT-LLM on Ampere": (LLAMA_8B, "3xA100", setup("trtllm-llmapi", kv="fp8")),
    "GPTQ in float16": (LLAMA_8B, "3xA100", setup("vllm", "int4_gptq", HALF)),
    "AWQ of Mixtral in vLLM": (MIXTRAL, "3xA100", setup("vllm", "int4_awq")),
    "Phi in 16 bits": (PHI, "3xA100", setup("trtllm-llmapi")),
    "28 heads on four": (QWEN_7B, "8xH100", setup("vllm", tp=4)),
    "eight kv heads on sixteen": (LLAMA_70B, "16xA100", setup("vllm", tp=16)),
    "10 kv heads on two": (PHI_MEDIUM, "4xA10", setup("vllm", tp=2)),
    "latent attention has no kv heads to split": (
        "deepseek-ai/DeepSeek-V3",
        "8xH100",
        setup("vllm", "fp8_block", tp=8),
    ),
    "a per-tensor scale has no blocks": ("Qwen/Qwen3-235B-A22B", "8xH100", setup("vllm", "fp8", tp=8)),
    "blocks on four": ("Qwen/Qwen3-235B-A22B", "8xH100", setup("vllm", "fp8_block", tp=4)),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_setup_breaks_this_rule_alone(name: str) -> None:
    model, gpus, made, code, remedy = BREAKS[name]
    obstacles = broken(facts_of(model), gpus, made)
    assert {obstacle.code for obstacle in obstacles} == {code}
    assert all(remedy in remedy_of(obstacle) for obstacle in obstacles)
    assert all(text_of(obstacle) for obstacle in obstacles)


@pytest.mark.parametrize("name", KEEPS)
def test_a_setup_keeps_every_rule(name: str) -> None:
    model, gpus, made = KEEPS[name]
    assert broken(facts_of(model), gpus, made) == []


def test_a_padded_feed_forward_keeps_its_groups() -> None:
    padded = facts_of(QWEN_72B, intermediate_size=29696, quantization_config=AWQ)
    assert broken(padded, "8xH100", setup("vllm", "int4_awq", tp=8)) == []


@pytest.mark.parametrize(
    ("model", "quantization", "code", "remedies"),
    [
        ("Qwen/Qwen3-235B-A22B", "fp8_block", "group", "--tp 4, or a per-tensor FP8 repository"),
        (QWEN_72B, "int4_awq", "group", "--tp 1, or a repository whose weights are padded for this split"),
        (QWEN_7B, "int4_awq", "split", "--tp 4"),
    ],
)
def test_another_repository_is_a_remedy_for_groups_and_blocks_but_not_for_heads(
    model: str, quantization: str, code: str, remedies: str
) -> None:
    first, *_ = broken(facts_of(model), "8xH100", setup("vllm", quantization, tp=8))
    assert (first.code, remedy_of(first)) == (code, remedies)


def test_large_groups_must_stay_whole_too() -> None:
    wide = facts_of(LLAMA_8B, quantization_config={**AWQ, "group_size": 1024})  # 14336 / 2 = 7 x 1024
    assert broken(wide, "8xH100", setup("vllm", "int4_awq", tp=2)) == []
    assert [obstacle.code for obstacle in broken(wide, "8xH100", setup("vllm", "int4_awq", tp=4))] == ["group"]


@pytest.mark.parametrize(("stack", "gpus", "oldest"), [("trtllm-llmapi", "1xT4", "8.0"), ("vllm", "P100", "7.0")])
def test_a_gpu_that_is_too_old_for_a_stack_is_too_old_for_every_format(stack: str, gpus: str, oldest: str) -> None:
    obstacles = broken(facts_of(LLAMA_8B), gpus, setup(stack, dtype=HALF))
    assert [obstacle.code for obstacle in obstacles] == ["capability", "format"]
    assert oldest in remedy_of(obstacles[0])


def test_more_stages_than_layers() -> None:
    facts = facts_of("Qwen/Qwen2.5-0.5B", num_hidden_layers=2)
    obstacles = broken(facts, "3xA100", setup("vllm", pp=3))
    assert [(obstacle.code, remedy_of(obstacle)) for obstacle in obstacles] == [("split", "--pp 1")]


def notes(model: ModelFacts, gpus: str, made: Setup) -> set[str]:
    return {warning.code for warning in rules.warnings(model, group(gpus), made)}


@pytest.mark.parametrize(("gpus", "quantization"), [("3xA100", "fp8"), ("3xA100", "fp8_block"), ("8xH100", "nvfp4")])
def test_weights_that_are_only_unpacked_are_warned_of(gpus: str, quantization: str) -> None:
    assert notes(facts_of(LLAMA_8B), gpus, setup("vllm", quantization)) == {"weight-only"}


@pytest.mark.parametrize(("gpus", "quantization"), [("1xL4", "fp8"), ("8xB200", "nvfp4"), ("3xA100", "int4_awq")])
def test_what_tensor_cores_multiply_and_what_is_weight_only_by_its_nature_has_no_warning(
    gpus: str, quantization: str
) -> None:
    assert notes(facts_of(LLAMA_8B), gpus, setup("vllm", quantization)) == set()


def test_mxfp4_is_unpacked_before_blackwell() -> None:
    gpt_oss = facts_of("openai/gpt-oss-20b", quantization_config=MXFP4)
    for gpus in ("3xA100", "8xH100"):
        assert notes(gpt_oss, gpus, setup("vllm", "mxfp4")) == {"weight-only"}
    assert notes(gpt_oss, "8xB200", setup("vllm", "mxfp4")) == set()


def test_vllm_refuses_modelopts_fp8_before_ampere_and_unpacks_its_nvfp4() -> None:
    fp8, nvfp4 = ({"quant_method": "modelopt", "quant_algo": name} for name in ("FP8", "NVFP4"))
    (why,) = broken(facts_of(LLAMA_8B, quantization_config=fp8), "1xT4", setup("vllm", "fp8", HALF))
    assert (why.code, "8.0" in remedy_of(why)) == ("format", True)
    assert not broken(facts_of(LLAMA_8B, quantization_config=fp8), "3xA100", setup("vllm", "fp8"))
    assert not broken(facts_of(LLAMA_8B, quantization_config=nvfp4), "3xA100", setup("vllm", "nvfp4"))


def test_what_works_but_should_be_known() -> None:
    llama = facts_of(LLAMA_70B)
    assert notes(llama, "8xL40S", setup("vllm", tp=3)) == {"pcie-tp"}
    assert notes(llama, "8xL40S", setup("vllm", tp=2)) == set()
    assert notes(llama, "8xH100", setup("vllm", tp=8)) == set()
    gptq = facts_of(LLAMA_70B, quantization_config=GPTQ)
    assert notes(gptq, "8xH100", setup("vllm", "int4_gptq", HALF, tp=2)) == {"desc-act"}
    assert notes(gptq, "8xH100", setup("vllm", "int4_gptq", HALF)) == set()
    assert notes(llama, "1xT4", setup("vllm", dtype=HALF)) == {"float16"}
    assert notes(replace(llama, dtype="float16"), "1xT4", setup("vllm", dtype=HALF)) == set()


WITHOUT = {"expert_parallel": None}
HOPPER, AMPERE, BLACKWELL = (replace(group("8xH100"), compute_capability=have) for have in ((9, 0), (8, 0), (10, 0)))


@pytest.mark.parametrize(
    ("quantization", "device", "stored", "unit"),
    [
        *(("none", HOPPER, None, 1), ("int8_wo", HOPPER, None, 1)),
        *(("fp8", HOPPER, None, 16), ("fp8", AMPERE, None, 64), ("fp8_block", HOPPER, None, 128)),
        *(("nvfp4", BLACKWELL, None, 16), ("nvfp4", HOPPER, None, 64)),
        *(("int4_awq", HOPPER, AWQ, 128), ("int4_gptq", HOPPER, GPTQ, 128), ("w4a8_awq", HOPPER, None, 128)),
        *(("int4_awq", HOPPER, {**AWQ, "group_size": 64}, 128), ("int4_awq", HOPPER, {**AWQ, "group_size": 256}, 256)),
    ],
)
def test_columns_that_stay_together_are_on_one_rank(
    quantization: str, device: Device, stored: dict[str, object] | None, unit: int
) -> None:
    facts = facts_of(LLAMA_8B, quantization_config=stored) if stored else facts_of(LLAMA_8B)
    assert facts.anatomy
    made = setup("vllm", quantization, tp=4)

    def codes(width: int) -> list[tuple[str, str]]:
        assert facts.anatomy
        anatomy = replace(facts.anatomy, intermediate=width)
        return [(code, why.code) for code, why in rules.uneven(facts, anatomy, device, made)]

    assert codes(4 * unit * 3) == []
    assert codes(4 * unit * 3 + 4 * unit // 2) == ([("group", "group")] if unit > 1 else [("split", "width")])
    assert codes(4 * unit * 3 + 1) == [("split", "width")]
    assert not [*rules.uneven(facts, replace(facts.anatomy, intermediate=7), device, replace(made, tp=1))]


@pytest.mark.parametrize(
    ("changes", "tp", "codes"),
    [
        ({"heads": 32, "kv_heads": 8}, 4, []),
        ({"heads": 30, "kv_heads": 8}, 4, ["heads"]),
        ({"heads": 32, "kv_heads": 2}, 4, []),  # repeated
        ({"heads": 32, "kv_heads": 3}, 4, ["kv-heads"]),
        ({"heads": 36, "kv_heads": 12}, 8, ["heads", "kv-heads"]),
        ({"heads": 32, "kv_heads": 3, "latent": 512}, 4, []),
        ({"intermediate": 4098}, 4, ["width"]),
        ({"expert_intermediate": 4098}, 4, ["width"]),
        ({"shared_intermediate": 4098}, 4, ["width"]),
        ({"expert_intermediate": 4098, "whole": True}, 4, []),
    ],
)
def test_what_ranks_cannot_share(changes: dict[str, int], tp: int, codes: list[str]) -> None:
    facts = facts_of(LLAMA_8B)
    assert facts.anatomy
    (attention,) = facts.anatomy.attention
    more = dict(changes)
    whole, latent = bool(more.pop("whole", 0)), more.pop("latent", None)
    kept = replace(attention, kv_heads=more.pop("kv_heads", attention.kv_heads), latent=latent)
    anatomy = replace(facts.anatomy, attention=(kept,), **more)
    made = replace(setup("vllm", tp=tp), expert_parallel=whole)
    assert [why.code for _, why in rules.uneven(facts, anatomy, HOPPER, made)] == codes


@pytest.mark.parametrize(
    ("name", "made", "codes"),
    [
        ("1xL4", setup("vllm"), []),
        ("4xA10", setup("vllm", tp=2), []),
        ("4xA10", setup("vllm", tp=4), ["pcie-tp"]),
        ("8xH100", setup("vllm", tp=8), []),
        ("3xA100", setup("vllm", "fp8"), ["weight-only"]),
        ("1xT4", setup("vllm", dtype="float16"), ["float16"]),
        ("1xT4", setup("vllm", dtype="float32"), ["float32"]),
        ("3xA100", setup("vllm", dtype="float16"), []),
    ],
)
def test_what_works_with_a_warning(name: str, made: Setup, codes: list[str]) -> None:
    assert [note.code for note in rules.warnings(facts_of(LLAMA_8B), group(name), made)] == codes
    reordered = facts_of(LLAMA_8B, quantization_config=GPTQ)
    more = [note.code for note in rules.warnings(reordered, group(name), made)]
    assert ("desc-act" in more) is (made.tp > 1)


ONE_GPU, SLICES = replace(HOPPER, indices=(0,)), group("MIG")


@pytest.mark.parametrize(
    ("stack", "device", "experts", "split", "quantization", "code", "remedies"),
    [
        ("vllm", HOPPER, 128, {"tp": 4}, "none", None, []),
        ("vllm", HOPPER, 7, {"tp": 4}, "none", None, []),
        ("vllm", HOPPER, 0, {"tp": 4}, "none", "no-experts", [WITHOUT]),
        ("vllm", HOPPER, 128, {}, "none", "experts-alone", [{"tp": 2}, WITHOUT]),
        ("vllm", ONE_GPU, 128, {}, "none", "experts-alone", [WITHOUT]),
        ("vllm", SLICES, 128, {}, "none", "experts-alone", [WITHOUT]),
        ("vllm", HOPPER, 128, {"dp": 2}, "none", None, []),
        ("sglang", HOPPER, 128, {"tp": 4}, "none", None, []),
        ("sglang", HOPPER, 6, {"tp": 4}, "none", "experts-uneven", [{"tp": 3}, WITHOUT]),
        ("sglang", HOPPER, 7, {"tp": 4}, "none", "experts-uneven", [WITHOUT]),
        ("sglang", HOPPER, 7, {"tp": 8}, "none", "experts-uneven", [{"tp": 7}, WITHOUT]),
        ("sglang", HOPPER, 6, {"dp": 4}, "none", "experts-uneven", [{"dp": None}]),
        ("sglang", HOPPER, 6, {"tp": 2, "dp": 2}, "none", "experts-uneven", [{"tp": 2}, {"dp": None}]),
        ("sglang", HOPPER, 6, {"tp": 4}, "mxfp4", "experts-format", [WITHOUT]),
        ("transformers", HOPPER, 8, {"tp": 2}, "none", "experts-stack", [{"stack": "vllm"}, WITHOUT]),
        ("transformers", ONE_GPU, 8, {"tp": 2}, "none", "experts-stack", [WITHOUT]),
        ("transformers", SLICES, 8, {"tp": 2}, "none", "experts-stack", [WITHOUT]),
    ],
)
def test_what_prevents_whole_experts_on_a_rank(
    stack: str,
    device: Device,
    experts: int,
    split: dict[str, int],
    quantization: str,
    code: str | None,
    remedies: list[dict[str, object]],
) -> None:
    facts = facts_of(MIXTRAL)
    assert facts.anatomy
    made = replace(setup(stack, quantization), expert_parallel=True, **split)
    obstacles = [*rules.whole_experts(replace(facts.anatomy, experts=experts), device, made)]
    assert [each.reason.code for each in obstacles] == ([code] if code else [])
    assert [remedy.changes for each in obstacles for remedy in each.remedies] == remedies


@pytest.mark.parametrize(
    ("stack", "model", "split", "code", "remedies"),
    [
        ("vllm", MIXTRAL, {"dp": 2}, None, []),
        ("vllm", MIXTRAL, {"dp": 2, "tp": 2}, None, []),
        ("vllm", LLAMA_8B, {"dp": 2}, "dp-dense", [{"dp": None, "replicas": 2}, {"dp": None}]),
        ("vllm", MIXTRAL, {"dp": 2, "pp": 2}, "dp-stages", [{"pp": 1}, {"dp": None}]),
        ("sglang", MIXTRAL, {"dp": 2}, "dp-model", [{"stack": "vllm"}, {"dp": None}]),
        ("trtllm-engine", MIXTRAL, {"dp": 2}, "dp-stack", [{"stack": "vllm"}, {"dp": None}]),
        ("trtllm-llmapi", "Qwen/Qwen3-30B-A3B", {"dp": 2}, None, []),
        ("trtllm-llmapi", "Qwen/Qwen3-30B-A3B", {"dp": 2, "tp": 2}, "dp-tp", [{"tp": 1}, {"dp": None}]),
    ],
)
def test_what_prevents_data_parallel_ranks(
    stack: str, model: str, split: dict[str, int], code: str | None, remedies: list[dict[str, object]]
) -> None:
    obstacles = [each for each in broken(facts_of(model), "8xH100", replace(setup(stack), **split))]
    assert [each.reason.code for each in obstacles] == ([code] if code else [])
    assert [remedy.changes for each in obstacles for remedy in each.remedies] == remedies
