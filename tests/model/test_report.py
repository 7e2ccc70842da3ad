from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.model.gguf_bytes import LLAMA_CONFIG, folder, safetensors, tiny
from wizard.kernel.text import width
from wizard.kernel.values import from_json, to_json
from wizard.model.config import describe
from wizard.model.facts import ModelFacts, Quantization
from wizard.model.local import of_path
from wizard.model.report import text

PUBLIC = json.loads((Path(__file__).parent / "configs" / "public.json").read_text())


def test_a_small_gguf_file() -> None:
    Path("tiny.gguf").write_bytes(tiny().bytes())
    facts = replace(of_path(Path("tiny.gguf"), "tiny.gguf"), location="/m/tiny.gguf")
    assert text(facts).split("\n") == [
        "model         Tiny",
        "from          file: /m/tiny.gguf",
        "architecture  llama",
        "parameters    320 (320)",
        "weights       528 B in 1 file, gguf, Q8_0, 13.2 bits per weight",
        "shape         2 layers, hidden size 64, 4 heads, 2 KV heads, head dim 16",
        "attention     GQA, 4 heads share 2 key-value heads",
        "KV cache      256 bytes per token at 16-bit precision",
        "vocabulary    4 tokens",
        "context       up to 512 tokens of prompt and answer",
        "license       apache-2.0",
        "chat          template included; answers end at </s> <|im_end|>",
    ]


def test_a_folder_of_packed_weights_with_code_of_its_own() -> None:
    weights = safetensors({"a": {"dtype": "I32", "shape": [5], "data_offsets": [0, 20]}})
    quantised = {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128}, "auto_map": {"a": "b"}}
    made = folder(Path("m"), {**LLAMA_CONFIG, **quantised}, model__safetensors=weights)
    report = text(of_path(made, "./m"))
    assert "awq, group size 128, the rest bfloat16" in " ".join(report.split())
    assert "contains its own Python code" in report
    assert "no chat template: the model only completes text" in report


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mistralai/Mixtral-8x7B-v0.1", ["46.7 B (46,702,792,704), 12.9 B active per token"]),
        ("meta-llama/Llama-2-7b-hf", ["MHA, 32 heads", "524,288 bytes per token"]),
        ("google/gemma-2b", ["MQA, 8 heads share 1 key-value head KV cache"]),
        ("deepseek-ai/DeepSeek-V3", ["MLA, 576-element latent vector", "70,272 bytes per token"]),
        (
            "google/gemma-3-1b-it",
            [
                "22 of 26 layers keep only the last 512 tokens",
                "26,624 bytes",
                "4,096 once the sliding windows are full",
            ],
        ),
    ],
)
def test_attention_and_cache_of_public_models(name: str, expected: list[str]) -> None:
    facts = describe(ModelFacts(name, "hub", name, name, None, None), PUBLIC[name]["config"])
    report = " ".join(text(facts).split())
    assert [fragment for fragment in expected if fragment not in report] == []


def test_layers_with_a_state_and_layers_without_attention_are_reported() -> None:
    config = PUBLIC["nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"]["config"]
    report = " ".join(text(describe(ModelFacts("m", "folder", "m", "m", None, None), config)).split())
    assert "23 of 52 layers keep a state of 46.8 MiB per sequence instead; 23 of 52 layers have no attention" in report


def test_existing_quantization() -> None:
    gptq = Quantization("gptq", 4.0, format="int4_gptq", desc_act=True)
    block = Quantization("fp8", 8.0, format="fp8_block", group_size=128, kv_dtype="fp8")
    facts = ModelFacts("m", "hub", "m", "m", None, None)
    assert "int4 gptq, no groups, in activation order" in text(replace(facts, quantization=gptq))
    assert "fp8 block, blocks of 128 x 128, fp8 KV cache scales" in text(replace(facts, quantization=block))
    assert "with a method unknown to the wizard" in text(replace(facts, quantization=Quantization("hqq")))


def test_what_is_unknown_is_reported_and_lines_stay_within_80_columns() -> None:
    unknown = {"kv_heads": "because " * 30, "hub": "\u001b]0;title\u0007the hub does not respond"}
    facts = ModelFacts("org/name", "hub", "org/name", "n" * 30, None, None, gated=True, unknown=unknown)
    report = text(facts)
    assert "unknown:" in report
    assert "not stated (gated" in report
    assert "(not downloaded yet)" in report
    assert "\x1b" not in report
    assert max(width(line) for line in report.split("\n")) <= 80


def test_facts_survive_json() -> None:
    Path("tiny.gguf").write_bytes(tiny().bytes())
    facts = of_path(Path("tiny.gguf"), "tiny.gguf")
    assert from_json(ModelFacts, to_json(facts), where="here") == facts
    assert from_json(ModelFacts, to_json(replace(facts, unknown={"a": "b"})), where="here").unknown == {"a": "b"}
