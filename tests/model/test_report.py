from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.model.gguf_bytes import LLAMA_CONFIG, folder, safetensors, tiny
from wizard.kernel.text import width
from wizard.kernel.values import from_json, to_json
from wizard.model.facts import ModelFacts
from wizard.model.local import of_path
from wizard.model.report import text


def test_a_small_gguf_file() -> None:
    Path("tiny.gguf").write_bytes(tiny().bytes())
    assert text(of_path(Path("tiny.gguf"), "tiny.gguf")).split("\n") == [
        "model         Tiny",
        "from          file: tiny.gguf",
        "architecture  llama",
        "parameters    320 (320)",
        "weights       528 B in 1 file, gguf, Q8_0, 13.2 bits a weight",
        "shape         2 layers, 64 wide, 4 heads, 2 for keys and values, 16 each",
        "vocabulary    4 tokens",
        "context       512 tokens of prompt and answer at most",
        "licence       apache-2.0",
        "chat          its own template, an answer ends at </s> <|im_end|>",
    ]


def test_a_folder_of_packed_weights_with_code_of_its_own() -> None:
    weights = safetensors({"a": {"dtype": "I32", "shape": [5], "data_offsets": [0, 20]}})
    quantised = {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128}, "auto_map": {"a": "b"}}
    made = folder(Path("m"), {**LLAMA_CONFIG, **quantised}, model__safetensors=weights)
    said = text(of_path(made, "./m"))
    assert "awq, group size 128, else bfloat16" in said
    assert "does not run it" in said
    assert "no template: the model completes text" in said


def test_what_is_unknown_is_said_and_lines_stay_within_80_columns() -> None:
    unknown = {"kv_heads": "because " * 30, "hub": "\x1b]0;title\x07the hub does not answer"}
    facts = ModelFacts("org/name", "hub", "org/name", "n" * 30, None, None, gated=True, unknown=unknown)
    said = text(facts)
    assert "not known:" in said
    assert "not stated (gated" in said
    assert "(not downloaded yet)" in said
    assert "\x1b" not in said
    assert max(width(line) for line in said.split("\n")) <= 80


def test_facts_survive_json() -> None:
    Path("tiny.gguf").write_bytes(tiny().bytes())
    facts = of_path(Path("tiny.gguf"), "tiny.gguf")
    assert from_json(ModelFacts, to_json(facts), where="here") == facts
    assert from_json(ModelFacts, to_json(replace(facts, unknown={"a": "b"})), where="here").unknown == {"a": "b"}
