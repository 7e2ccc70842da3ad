from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.model.gguf_bytes import ARRAY, F32_TENSOR, I32, U32, Gguf, tiny
from wizard.model.anatomy import Attention
from wizard.model.facts import ModelFacts
from wizard.model.gguf_layers import Layer, Layers
from wizard.model.local import of_path


def facts_of(where: Path, made: Gguf) -> ModelFacts:
    (where / "m.gguf").write_bytes(made.bytes())
    return of_path(where / "m.gguf", "m")


def with_architecture(name: str, **more: tuple[int, Any]) -> Gguf:
    made = tiny()
    made.pairs = {key.replace("llama.", f"{name}."): pair for key, pair in made.pairs.items()}
    made.pairs["general.architecture"] = (made.pairs["general.architecture"][0], name)
    made.pairs |= {f"{name}.{key.replace('__', '.')}": pair for key, pair in more.items()}
    return made


def test_parts_are_exact(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, tiny())
    assert facts.anatomy is not None
    assert facts.stored is not None
    assert (facts.anatomy.parts.embedding, facts.anatomy.parts.norms) == (256, 64)
    assert facts.anatomy.parts.total == facts.parameters
    assert (facts.stored.embedding, facts.stored.total) == (272, facts.weight_bytes)
    assert facts.anatomy.attention == (Attention(2, 2, 16, 16),)
    assert facts.quantization is not None
    assert facts.quantization.format == "gguf_q8_0"


@pytest.mark.parametrize(
    ("name", "windows"),
    [("gemma2", [None, 32]), ("gemma3", [32]), ("gpt-oss", [None, 32]), ("phi3", [None]), ("qwen2", [None])],
)
def test_windows_are_llama_cpps(tmp_path: Path, name: str, windows: list[int | None]) -> None:
    anatomy = facts_of(tmp_path, with_architecture(name, attention__sliding_window=(U32, 32))).anatomy
    assert anatomy is not None
    assert [group.window for group in anatomy.attention] == windows


def test_layers_that_reuse_the_cache_of_earlier_ones(tmp_path: Path) -> None:
    anatomy = facts_of(tmp_path, with_architecture("gemma4", attention__shared_kv_layers=(U32, 1))).anatomy
    assert anatomy is not None
    assert anatomy.attention == (Attention(1, 2, 16, 16), Attention(1, 0, 16, 16))


def test_latent_attention(tmp_path: Path) -> None:
    ranks = {"attention__kv_lora_rank": (U32, 24), "rope__dimension_count": (U32, 8)}
    anatomy = facts_of(tmp_path, with_architecture("deepseek2", **ranks)).anatomy
    assert anatomy is not None
    assert [group.latent for group in anatomy.attention] == [32]


def test_layers_without_attention(tmp_path: Path) -> None:
    made = tiny(llama__attention__head_count_kv=(ARRAY, (I32, [0, 2])))
    anatomy = facts_of(tmp_path, made).anatomy
    assert anatomy is not None
    assert [(group.layers, group.kv_heads) for group in anatomy.attention] == [(1, 2), (1, 0)]


def test_experts(tmp_path: Path) -> None:
    made = tiny(llama__expert_count=(U32, 4), llama__expert_used_count=(U32, 2))
    made.tensors["blk.1.ffn_up_exps.weight"] = ((4, 4, 4), F32_TENSOR, 256)
    anatomy = facts_of(tmp_path, made).anatomy
    assert anatomy is not None
    assert (anatomy.parts.experts, anatomy.experts, anatomy.experts_per_token, anatomy.moe_layers) == (64, 4, 2, 1)
    assert anatomy.active == 256 + 64 + 32


def test_bytes_by_layer(tmp_path: Path) -> None:
    made = tiny()
    made.tensors = {
        "token_embd.weight": ((64, 4), F32_TENSOR, 1024),
        "output_norm.weight": ((64,), F32_TENSOR, 256),
        "blk.0.attn_q.weight": ((64, 2), F32_TENSOR, 512),
        "blk.0.ffn_down.weight": ((64,), F32_TENSOR, 256),
        "blk.1.ffn_gate_inp.weight": ((64,), F32_TENSOR, 256),
        "blk.1.ffn_up_exps.weight": ((64, 2), F32_TENSOR, 512),
        "blk.1.ffn_down_exps.weight": ((64,), F32_TENSOR, 256),
    }
    tied = facts_of(tmp_path, made).gguf_layers
    each = (Layer(768, 0, 512), Layer(256, 768, 256, 512))
    assert tied == Layers(each, 256 + 1024, 1024)
    made.tensors["output.weight"] = ((64,), F32_TENSOR, 256)
    assert facts_of(tmp_path, made).gguf_layers == Layers(each, 256 + 256, 1024)
    made.tensors["blk.2.attn_q.weight"] = ((64,), F32_TENSOR, 256)  # a third layer of two
    assert facts_of(tmp_path, made).gguf_layers is None
    made.tensors = {"token_embd.weight": ((64, 4), 99, 1024)}  # a type from the future
    assert facts_of(tmp_path, made).gguf_layers is None
