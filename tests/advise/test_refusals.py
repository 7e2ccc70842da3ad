"""What does not work: in groups, with remedies as words and as wishes."""

from __future__ import annotations

from dataclasses import fields

import pytest

from wizard.advise import refusals
from wizard.advise.advice import Rejection, Wishes


def rejection(stack: str, name: str | None, code: str, remedy: str = "--stack vllm", tp: int = 1) -> Rejection:
    return Rejection(stack, name, tp, 1, code, f"{stack} cannot.", remedy)


def test_refusals_are_grouped_by_reason_and_remedy() -> None:
    found = refusals.grouped(
        [
            rejection("vllm", "fp8", "format"),
            rejection("vllm", "nvfp4", "format"),
            rejection("trtllm-llmapi", "fp8", "format"),
            rejection("trtllm-llmapi", "nvfp4", "format"),
            rejection("transformers", "int4_awq", "format"),
            rejection("vllm", "none", "memory", "tp 4", tp=2),
            rejection("trtllm-llmapi", "none", "memory", "tp 4", tp=2),
            rejection("vllm", "none", "split", "--tp 1", tp=3),
            rejection("vllm", "none", "split", "--tp 1", tp=5),
            rejection("vllm", None, "no-gpu"),
            rejection("llamacpp", "gguf_q8_0", "memory", "--max-len 512"),
        ]
    )
    assert [one.ways for one in found] == [
        "vLLM, TensorRT-LLM · FP8, NVFP4; Transformers · INT4 AWQ",
        "vLLM, TensorRT-LLM · 16 bits with tp 2",
        "vLLM · 16 bits with tp 3, 16 bits with tp 5",
        "vLLM",
        "llama.cpp · Q8_0",
    ]
    assert [one.text for one in found][:2] == ["vllm cannot.", "vllm cannot."]


@pytest.mark.parametrize(
    ("remedy", "words", "wished"),
    [
        ("--tp 2", "tp 2", {"tp": 2}),
        ("--max-len 8192", "context 8,192", {"max_len": 8192}),
        ("--quantization int4_awq --tp 4, or a GPU of ≥ 75 GB", "INT4 AWQ · tp 4, or a GPU of ≥ 75 GB", {
            "quantization": "int4_awq", "tp": 4}),
        ("--users 3", "3 users", {"users": 3}),
        ("--stack vllm, or a newer GPU", "vLLM, or a newer GPU", {"stack": "vllm"}),
        ("--kv-dtype auto, or fp8", "KV cache auto, or fp8", {"kv_dtype": "auto"}),
        ("--max-gpus 4", "4 GPUs", {"max_gpus": 4}),
        ("--gpu-memory-utilization 0.71", "0.71 of the GPU's memory", {"gpu_memory_utilization": 0.71}),
        ("a GPU of ≥ 48 GB, or --tp 2", "a GPU of ≥ 48 GB, or tp 2", {}),
        ("float16", "float16", {}),
        ("--release 24.07, or a newer driver", "release 24.07, or a newer driver", {"release": "24.07"}),
    ],
)  # fmt: skip
def test_remedies_in_words_and_as_wishes(remedy: str, words: str, wished: dict[str, object]) -> None:
    assert refusals.remedy_words(remedy) == words
    assert refusals.remedy_wishes(remedy) == wished
    assert set(wished) <= {one.name for one in fields(Wishes)}
