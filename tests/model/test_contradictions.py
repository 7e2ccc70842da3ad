"""Configs and headers that contradict themselves or each other: an error with a code, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.model.gguf_bytes import LLAMA_CONFIG, folder, safetensors
from wizard.kernel.errors import ModelError
from wizard.model import local
from wizard.model.config import describe
from wizard.model.facts import ModelFacts

PUBLIC = json.loads((Path(__file__).parent / "configs" / "public.json").read_text())
NOTHING = ModelFacts("r", "folder", "here", "n", None, None)
HUGE = 10**30
QWEN3 = {
    **{"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 1024, "num_hidden_layers": 28},
    **{"num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 3072},
    **{"vocab_size": 151936, "max_position_embeddings": 40960},
}
LINEAR = {
    **{"linear_num_value_heads": 32, "linear_num_key_heads": 16, "linear_key_head_dim": 128},
    **{"linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "full_attention_interval": 4},
}
NEXT = {**QWEN3, **LINEAR, "model_type": "qwen3_5_text"}
MOE = {**QWEN3, "model_type": "qwen3_moe", "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 768}
MAMBA = {"mamba_num_heads": 8, "mamba_head_dim": 64, "n_groups": 8, "ssm_state_size": 128, "conv_kernel": 4}
HYBRID = {
    **{**QWEN3, **MAMBA, "model_type": "nemotron_h", "num_hidden_layers": 8, "hybrid_override_pattern": "M-M*-M-E"},
    **{"n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 768},
}
BLOCKS = {**HYBRID, "hybrid_override_pattern": None}
INDEX = {"index_head_dim": 128, "index_n_heads": 64, "q_lora_rank": 1536}
LATENT = {
    **{**QWEN3, **INDEX, "model_type": "deepseek_v32", "kv_lora_rank": 512, "qk_nope_head_dim": 128, "v_head_dim": 128},
    **{"qk_rope_head_dim": 64, "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 768},
}
MIMO = {**MOE, "model_type": "mimo_v2_flash", "n_routed_experts": 8}
SPARSE = {**MOE, "model_type": "minimax_m3", "sparse_num_index_heads": 4, "sparse_index_dim": 128}
CHUNKED = {**MOE, "model_type": "llama4_text"}

INVALID: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (QWEN3, {"num_key_value_heads": 5}),
    (QWEN3, {"num_key_value_heads": 32}),
    ({**LLAMA_CONFIG, "head_dim": None, "num_key_value_heads": None}, {"num_attention_heads": 37}),
    (MOE, {"num_experts_per_tok": 64}),
    (QWEN3, {"vocab_size": 0}),
    ({**QWEN3, "use_sliding_window": True}, {"sliding_window": -4096}),
    (QWEN3, {"num_hidden_layers": 100_000}),
    *((QWEN3, {"layer_types": value}) for value in (["full_attention"] * 3, ["a"] * 10**5, [{"a": 1}] * 28, "full", 5)),
    *((NEXT, {name: HUGE}) for name in LINEAR),
    *((NEXT, {name: -1}) for name in LINEAR),
    *((HYBRID, {name: HUGE}) for name in MAMBA),
    *((HYBRID, {name: "8"}) for name in MAMBA),
    *((LATENT, {name: HUGE}) for name in INDEX),
    *((MOE, {"moe_intermediate_size": value}) for value in (HUGE, -1, "768")),
    *((HYBRID, {"hybrid_override_pattern": value}) for value in ("M" * 7, "M" * 10**6, "QWERTYUI", [1] * 8, 5, True)),
    (HYBRID, {"hybrid_override_pattern": {"a": 1}}),
    (HYBRID, {"hybrid_override_pattern": "M-M*\x1bM-E"}),
    *((BLOCKS, {"layers_block_type": value}) for value in (["mamba"] * 7, ["odd"] * 8, [None] * 8, [["mamba"]] * 8, 5)),
    (BLOCKS, {"layers_block_type": ["mamba"] * 300_000}),
    (LATENT, {"indexer_types": ["full"]}),
    (LATENT, {"indexer_types": {"a": 1}}),
    (LATENT, {"moe_layer_freq": [1]}),
    (MIMO, {"hybrid_layer_pattern": "abc"}),
    (MIMO, {"hybrid_layer_pattern": [1]}),
    (SPARSE, {"sparse_attention_freq": [0]}),
    (SPARSE, {"sparse_attention_freq": 5}),
    (CHUNKED, {"no_rope_layers": "x"}),
    (CHUNKED, {"no_rope_layers": [1] * 10**5}),
    (CHUNKED, {"moe_layers": ["a"]}),
    (MOE, {"mlp_only_layers": [None]}),
]


def name_of(value: object) -> str:
    return repr(value)[:40].encode("ascii", "replace").decode() if isinstance(value, dict) and len(value) == 1 else ""


@pytest.mark.parametrize(("config", "changes"), INVALID, ids=name_of)
def test_contradictions_are_tw_m05(config: dict[str, Any], changes: dict[str, Any]) -> None:
    describe(NOTHING, config)
    with pytest.raises(ModelError) as caught:
        describe(NOTHING, {**config, **changes})
    assert caught.value.code == "TW-M05"
    assert next(iter(changes)) in caught.value.what
    assert len(caught.value.what) < 300
    assert "\x1b" not in caught.value.what


@pytest.mark.parametrize(
    "changes",
    [{"vocab_size": None}, {"num_hidden_layers": None}, {"text_config": {"vocab_size": None}}],
)
def test_what_is_missing_is_unknown(changes: dict[str, Any]) -> None:
    facts = describe(NOTHING, {**QWEN3, **changes})
    assert facts.anatomy is None
    assert {"anatomy", "parameters"} <= set(facts.unknown)


def test_ten_thousand_layers_with_their_types() -> None:
    types = ["linear_attention"] * 10_000
    facts = describe(NOTHING, {**NEXT, "num_hidden_layers": 10_000, "layer_types": types})
    assert facts.anatomy is not None
    assert [group.layers for group in facts.anatomy.attention] == [10_000]


def test_a_text_config_in_a_text_config_is_not_followed() -> None:
    nested: dict[str, Any] = {"text_config": QWEN3}
    for _ in range(500):
        nested = {"text_config": nested}
    with pytest.raises(ModelError, match="text_config is an object that contains another text_config") as caught:
        describe(NOTHING, nested)
    assert caught.value.code == "TW-M05"


def test_types_of_layers_for_several_tokens_are_ignored() -> None:
    assert describe(NOTHING, {**QWEN3, "layer_types": ["full_attention"] * 31}).anatomy is not None


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_published_configs_do_not_contradict_themselves(name: str) -> None:
    describe(NOTHING, PUBLIC[name]["config"])


def weights(**shapes: list[int]) -> bytes:
    header, at = {}, 0
    for name, shape in shapes.items():
        size = 2 * shape[0] * shape[1]
        header[name.replace("__", ".")] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    return safetensors(header)


@pytest.mark.parametrize(
    ("field", "shapes"),
    [
        ("hidden_size", {"model__embed_tokens__weight": [10, 7]}),
        ("num_hidden_layers", {"model__layers__0__mlp__up_proj__weight": [10, 7]}),
    ],
)
def test_weights_of_another_model_are_tw_m19(field: str, shapes: dict[str, list[int]], tmp_path: Path) -> None:
    where = folder(tmp_path / "m", LLAMA_CONFIG, model__safetensors=weights(**shapes))
    with pytest.raises(ModelError, match=field) as caught:
        local.of_path(where, "m")
    assert caught.value.code == "TW-M19"


def test_a_shard_whose_name_has_control_characters_is_not_named(tmp_path: Path) -> None:
    index = {"weight_map": {"a": "m\x1b[31m.safetensors"}}
    where = folder(tmp_path / "m", LLAMA_CONFIG, **{"model__safetensors__index__json": index})
    with pytest.raises(ModelError) as caught:
        local.of_path(where, "m")
    assert caught.value.code == "TW-M07"
    assert "\x1b" not in str(caught.value)
