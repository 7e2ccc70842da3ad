"""What does not work: in groups, with remedies as texts and as options."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from wizard.advise import refusals
from wizard.advise.advice import Constraints, Rejection
from wizard.advise.reasons import Remedy, because, change, do, without
from wizard.texts import advise, reasons, remedies

VLLM = change(stack="vllm")


def rejection(stack: str, name: str | None, code: str, remedy: Remedy = VLLM, tp: int = 1) -> Rejection:
    return Rejection(stack, name, tp, 1, code, because("needs-name", name=f"{stack} cannot."), (remedy,))


def test_refusals_are_grouped_by_reason_and_remedy() -> None:
    groups = refusals.grouped(
        [
            rejection("vllm", "fp8", "format"),
            rejection("vllm", "nvfp4", "format"),
            rejection("trtllm-llmapi", "fp8", "format"),
            rejection("trtllm-llmapi", "nvfp4", "format"),
            rejection("transformers", "int4_awq", "format"),
            rejection("vllm", "none", "memory", change(tp=4), tp=2),
            rejection("trtllm-llmapi", "none", "memory", change(tp=4), tp=2),
            rejection("vllm", "none", "split", change(tp=1), tp=3),
            rejection("vllm", "none", "split", change(tp=1), tp=5),
            rejection("vllm", None, "no-gpu"),
            rejection("llamacpp", "gguf_q8_0", "memory", change(max_len=512)),
        ]
    )
    assert [advise.setups(group) for group in groups] == [
        "vLLM, TensorRT-LLM · FP8, NVFP4; Transformers · INT4 AWQ",
        "vLLM, TensorRT-LLM · 16 bits with tp 2",
        "vLLM · 16 bits with tp 3, 16 bits with tp 5",
        "vLLM",
        "llama.cpp · Q8_0",
    ]
    assert [reasons.text(group.reason) for group in groups][:2] == ["vllm cannot.", "vllm cannot."]


@pytest.mark.parametrize(
    ("options", "flags", "text"),
    [
        ((change(tp=2),), "--tp 2", "tp 2"),
        ((change(max_len=8192),), "--max-len 8192", "context 8,192"),
        (
            (change(quantization="int4_awq", tp=4), do("larger-gpu", size=75)),
            "--quantization int4_awq --tp 4, or a GPU with at least 75 GB",
            "INT4 AWQ · tp 4, or a GPU with at least 75 GB",
        ),
        ((change(users=3),), "--users 3", "3 users"),
        ((VLLM, do("newer-gpu")), "--stack vllm, or a newer GPU", "vLLM, or a newer GPU"),
        (
            (change(kv_dtype="auto"), Remedy("fp8-cache", {"kv_dtype": "fp8"})),
            "--kv-dtype auto, or fp8",
            "KV cache auto, or fp8",
        ),
        ((change(max_gpus=4),), "--max-gpus 4", "4 GPUs"),
        (
            (change(gpu_memory_utilization=0.71),),
            "--gpu-memory-utilization 0.71",
            "0.71 of GPU memory",
        ),
        ((change(gpu_memory_utilization=0.0),), "--gpu-memory-utilization 0.00", "0.00 of GPU memory"),
        (
            (do("larger-gpu", size=48), change(tp=2)),
            "a GPU with at least 48 GB, or --tp 2",
            "a GPU with at least 48 GB, or tp 2",
        ),
        ((do("float16"),), "float16", "float16"),
        (
            (change(release="24.07"), do("any-newer-driver")),
            "--release 24.07, or a newer driver",
            "release 24.07, or a newer driver",
        ),
        ((without("release"),), "omit --release", "a setup without a fixed release"),
        ((change(quantization="fp8", as_published=False),), "--quantization fp8 without --as-published", None),
        ((change(tp=2), do("give-gguf")), None, None),
    ],
)
def test_remedies_as_texts_and_as_options(options: tuple[Remedy, ...], flags: str | None, text: str | None) -> None:
    if flags is not None:
        assert remedies.text(options) == flags
    if text is not None:
        assert remedies.text(options, flags=False) == text
    changed = refusals.changes(options)
    assert changed == options[0].changes
    assert set(changed) <= {field.name for field in fields(Constraints)}
    replace(Constraints(), **changed)  # type: ignore[arg-type]  # as declared
