"""Which stacks load a checkpoint as it is stored: the plan refuses others (TW-L45, TW-L48), so does the advice."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.advise.worlds import AWQ, GPTQ, LLAMA_8B, facts_of, machine
from tests.worded import text_of
from wizard.advise.advice import Constraints, Rejection
from wizard.advise.ranking import advise

MODELOPT = {"quant_method": "modelopt", "quant_algo": "FP8"}
BNB = {"quant_method": "bitsandbytes", "load_in_4bit": True}
INT8 = {"num_bits": 8, "type": "int"}
W8A8 = {
    "quant_method": "compressed-tensors",
    "config_groups": {"group_0": {"weights": INT8, "input_activations": INT8}},
}
ENGINE = partial(Constraints, stack="trtllm-engine")
MLX = {"group_size": 64, "bits": 4}


@pytest.mark.parametrize(
    ("stored", "stacks"),
    [
        (AWQ, {"vllm", "trtllm-engine", "sglang"}),
        (BNB, {"vllm"}),
        (MODELOPT, {"vllm", "trtllm-llmapi", "sglang"}),
        (W8A8, {"vllm", "sglang"}),
    ],
    ids=["awq", "bitsandbytes", "modelopt", "w8a8"],
)
def test_a_stored_checkpoint_gets_the_stacks_that_load_it(stored: dict[str, object], stacks: set[str]) -> None:
    advice = advise(machine("1xL4"), facts_of(LLAMA_8B, quantization_config=stored), Constraints())
    assert {choice.stack for choice in advice.choices} == stacks


def test_an_engine_is_built_from_what_its_tools_read() -> None:
    def reasons(stored: dict[str, object], **options: Any) -> set[str]:
        facts = facts_of(LLAMA_8B, quantization_config=stored)
        return {text_of(each) for each in advise(machine("1xL4"), facts, ENGINE(**options)).rejections}

    assert reasons(AWQ) == set()
    assert reasons(GPTQ) == {"TensorRT-LLM engine does not load checkpoints quantized with gptq."}  # desc_act
    assert "FP8 KV cache for a checkpoint that is quantized already" in reasons(AWQ, kv_dtype="fp8").pop()
    assert "INT4 AWQ needs TensorRT-LLM 0.16.0; release 24.09 has 0.13.0." in reasons(AWQ, release="24.09")


def test_int8_stops_at_hopper() -> None:
    facts = facts_of(LLAMA_8B, quantization_config=W8A8)
    assert advise(machine("1xH100"), facts, Constraints()).feasible
    for name in ("1xB200", "1x5090"):
        refused = advise(machine(name), facts, Constraints())
        assert {rejection.code for rejection in refused.rejections} == {"format"}
        assert "INT8 (weights and activations)" in text_of(refused.rejections[0])


@pytest.mark.parametrize("keys", [("quantization",), ("quantization", "quantization_config")])
def test_what_mlx_packed_is_not_taken_for_16_bits(keys: tuple[str, ...]) -> None:
    facts = facts_of(LLAMA_8B, **dict.fromkeys(keys, MLX))
    advice = advise(machine("1x4090"), facts, Constraints())
    assert not advice.feasible
    assert text_of(advice.rejections[0]) == (
        "The wizard does not support the checkpoint's quantization method, mlx with 4 bits."
    )


def refusal(stack: str, code: str) -> Rejection:
    """Why ``stack`` does not serve the hub's Qwen2.5 7B in 4 bits on an A6000."""
    facts = replace(facts_of("Qwen/Qwen2.5-7B"), source="hub", location="Qwen/Qwen2.5-7B-Instruct")
    advice = advise(machine("1xA6000"), facts, Constraints(quantization="int4_awq"))
    assert "vllm" in {choice.stack for choice in advice.choices}
    return next(each for each in advice.rejections if (each.stack, each.code) == (stack, code))


def test_a_known_repository_that_a_stack_does_not_load_is_not_called_unknown() -> None:
    assert text_of(refusal("trtllm-llmapi", "checkpoint")).startswith(
        "TensorRT-LLM does not load Qwen/Qwen2.5-7B-Instruct-AWQ, the known repository in INT4 AWQ, on this GPU."
    )


def test_a_format_that_is_too_new_for_a_release_has_its_title() -> None:
    advice = advise(machine("1xH100"), facts_of(LLAMA_8B), Constraints(release="24.03", quantization="fp8"))
    assert "FP8 needs vLLM 0.4.2; release 24.03 has 0.3.0." in map(text_of, advice.rejections)


def test_more_replicas_than_gpus_are_refused_with_the_most_that_start() -> None:
    advice = advise(machine("8xH100"), facts_of(LLAMA_8B), Constraints(replicas=9))
    assert advice.rejections[0].remedies[0].changes == {"replicas": 8}


def test_published_fp8_in_blocks_comes_before_16_bits_that_are_quantized_while_loading() -> None:
    """Experts of 1,536 columns are no blocks of 128 on eight GPUs (recipe Qwen/Qwen3-235B-A22B-Instruct-2507: tp 4)."""
    cases = yaml.safe_load((Path(__file__).parents[1] / "cases/advice-2026.yaml").read_text())["cases"]
    config = next(case["model"]["config"] for case in cases if case["id"] == "model-h100x8-qwen3-235b-fp8")
    plain = {key: value for key, value in config.items() if key != "quantization_config"}
    ref = "Qwen/Qwen3-235B-A22B-Instruct-2507"
    facts = replace(facts_of(LLAMA_8B, **plain), ref=ref, location=ref, name="Qwen3-235B", source="hub")
    advice = advise(machine("8xH100"), facts, Constraints(quantization="fp8_block", tp=8, stack="trtllm-engine"))
    (why,) = (rejection for rejection in advice.rejections if rejection.code == "group")
    assert "1536 ÷ tp 8 = 192" in text_of(why)
    assert [remedy.code for remedy in why.remedies] == ["options", "per-tensor-fp8"]
    first, *others = advise(machine("8xH100"), facts, Constraints()).choices
    assert first.checkpoint
    assert (first.stack, first.quantization, first.checkpoint.ref) == ("vllm", "fp8_block", f"{ref}-FP8")
    loading = next(each for each in others if each.checkpoint and each.checkpoint.how == "loading")
    assert any("quantizes them while loading" in text_of(note) for note in loading.reasons)
