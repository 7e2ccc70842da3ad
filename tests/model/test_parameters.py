"""Counts against the library's own models (benchmarks/advice/parameters.py wrote them), and the KV cache's layers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.gguf_bytes import LLAMA_CONFIG
from wizard.kernel.errors import ModelError, WizardError
from wizard.model.anatomy import Anatomy, Attention
from wizard.model.config import describe
from wizard.model.facts import ModelFacts
from wizard.model.report import text

CONFIGS = Path(__file__).parent / "configs"
PUBLIC: dict[str, Any] = json.loads((CONFIGS / "public.json").read_text())
PUBLIC |= json.loads((CONFIGS / "more.json").read_text())


def facts_of(config: dict[str, Any]) -> ModelFacts:
    return describe(ModelFacts("r", "folder", "here", "n", None, None), config)


def anatomy_of(config: dict[str, Any], **changes: Any) -> Anatomy:
    anatomy = facts_of({**config, **changes}).anatomy
    assert anatomy is not None
    return anatomy


def public(name: str, **changes: Any) -> Anatomy:
    return anatomy_of(PUBLIC[name]["config"], **changes)


@pytest.mark.parametrize("name", PUBLIC)
def test_parameters_of_public_models_are_the_librarys_own(name: str) -> None:
    facts = facts_of(PUBLIC[name]["config"])
    assert facts.parameters == PUBLIC[name]["expected"]
    assert facts.anatomy is not None
    assert facts.anatomy.parts.total == facts.parameters
    assert sum(group.layers for group in facts.anatomy.attention) == facts.anatomy.layers == facts.layers
    assert all(amount >= 0 for amount in (facts.anatomy.parts.head, facts.anatomy.parts.norms))


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [  # what the models' cards call them
        ("mistralai/Mixtral-8x7B-v0.1", 12.5e9, 13.2e9),
        ("Qwen/Qwen3-30B-A3B", 3.2e9, 3.4e9),
        ("Qwen/Qwen3-235B-A22B", 21.5e9, 22.5e9),
        ("Qwen/Qwen2-57B-A14B", 13.9e9, 14.5e9),
        ("deepseek-ai/DeepSeek-V3", 37e9, 38e9),
        ("deepseek-ai/DeepSeek-V2-Lite", 2.3e9, 2.8e9),
        ("meta-llama/Llama-4-Scout-17B-16E", 16.5e9, 17.5e9),
        ("meta-llama/Llama-4-Maverick-17B-128E", 16.5e9, 17.5e9),
        ("moonshotai/Kimi-K2-Instruct", 31e9, 33.5e9),
    ],
)
def test_active_parameters_are_those_of_the_cards(name: str, low: float, high: float) -> None:
    assert low < public(name).active < high


def test_parts_of_a_tiny_llama() -> None:
    parts = anatomy_of(LLAMA_CONFIG).parts
    assert (parts.embedding, parts.head) == (6400, 0)
    assert (parts.attention, parts.key_value) == (2 * 2 * 64 * 64, 2 * 2 * 64 * 32)
    assert (parts.mlp, parts.norms) == (2 * 3 * 64 * 128, 5 * 64)
    assert parts.linears == parts.attention + parts.key_value + parts.mlp


def test_parts_of_latent_attention_with_shared_and_dense_first_experts() -> None:
    anatomy = public("deepseek-ai/DeepSeek-V3")
    assert anatomy.parts.key_value == 0
    assert anatomy.parts.latent == 61 * 7168 * (1536 + 512 + 64)
    assert anatomy.parts.router == 58 * (7168 * 256 + 256)
    assert (anatomy.moe_layers, anatomy.intermediate, anatomy.shared_intermediate) == (58, 18432, 2048)
    assert anatomy.parts.shared == 58 * 3 * 7168 * 2048
    assert anatomy.attention == (Attention(61, 1, 576, 512, latent=576),)


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("meta-llama/Llama-3.1-8B", [(32, 8, 128, None)]),
        ("tiiuae/falcon-7b", [(32, 1, 64, None)]),
        ("tiiuae/falcon-40b", [(60, 8, 64, None)]),
        ("openai-community/gpt2", [(12, 12, 64, None)]),
        ("mistralai/Mistral-7B-v0.1", [(32, 8, 128, 4096)]),
        ("mistralai/Mistral-7B-v0.3", [(32, 8, 128, None)]),
        ("Qwen/Qwen2.5-7B", [(28, 4, 128, None)]),
        ("microsoft/Phi-3-mini-4k-instruct", [(32, 32, 96, 2047)]),
        ("microsoft/Phi-3-mini-128k-instruct", [(32, 32, 96, None)]),
        ("google/gemma-2-9b", [(21, 8, 256, None), (21, 8, 256, 4096)]),
        ("google/gemma-3-1b-it", [(4, 1, 256, None), (22, 1, 256, 512)]),
        ("google/gemma-3-27b-it", [(10, 16, 128, None), (52, 16, 128, 1024)]),
        ("openai/gpt-oss-20b", [(12, 8, 64, None), (12, 8, 64, 128)]),
        ("meta-llama/Llama-4-Scout-17B-16E", [(12, 8, 128, None), (36, 8, 128, 8192)]),
    ],
)
def test_what_layers_keep(name: str, groups: list[tuple[int, int, int, int | None]]) -> None:
    assert [
        (layers.layers, layers.kv_heads, layers.key_dim, layers.window) for layers in public(name).attention
    ] == groups


@pytest.mark.parametrize(
    ("name", "changes", "windows"),
    [
        ("Qwen/Qwen2.5-7B", {"use_sliding_window": True, "sliding_window": 4096, "max_window_layers": 20}, (20, 8)),
        ("Qwen/Qwen2.5-7B", {"use_sliding_window": True, "sliding_window": 4096}, (28, 0)),
        ("Qwen/Qwen2-57B-A14B", {"use_sliding_window": True, "max_window_layers": 10}, (23, 5)),
        ("Qwen/Qwen3-30B-A3B", {"use_sliding_window": True, "sliding_window": 1024}, (0, 48)),
        ("mistralai/Mistral-7B-v0.1", {"layer_types": ["full_attention"] * 34}, (32, 0)),
        ("meta-llama/Llama-4-Maverick-17B-128E", {"text_config": {"no_rope_layer_interval": 3}}, (16, 32)),
        ("google/gemma-2-9b", {"layer_types": ["odd"] * 42}, (42, 0)),
    ],
)
def test_windows_after_the_fields_of_each_family(name: str, changes: dict[str, Any], windows: tuple[int, int]) -> None:
    groups = public(name, **changes).attention
    full = sum(group.layers for group in groups if group.window is None)
    assert (full, sum(group.layers for group in groups if group.window)) == windows


@pytest.mark.parametrize(
    ("name", "state_bytes"),
    [  # vLLM 0.31, mamba_utils.py, for one sequence, in all layers
        ("Qwen/Qwen3.5-27B", 153_944_064),
        ("Qwen/Qwen3.5-35B-A3B", 64_389_120),
        ("Qwen/Qwen3.5-397B-A17B", 192_061_440),
        ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", 49_082_368),
        ("nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8", 170_229_760),
        ("nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16", 407_961_600),
        ("nvidia/Nemotron-H-56B-Base-8K", 912_605_184),
    ],
)
def test_recurrent_states_are_those_that_vllm_keeps(name: str, state_bytes: int) -> None:
    assert sum(group.layers * group.state.bytes() for group in public(name).attention if group.state) == state_bytes


def test_layers_with_a_state_of_unknown_size_are_not_counted() -> None:
    facts = facts_of({**LLAMA_CONFIG, "layer_types": ["linear_attention", "full_attention"]})
    assert facts.anatomy is None
    assert "parameters" in facts.unknown


def test_heads_of_layers_with_a_window_may_differ() -> None:
    assert public("google/gemma-4-26B-A4B").attention == (Attention(5, 2, 512, 512), Attention(25, 8, 256, 256, 1024))
    assert public("XiaomiMiMo/MiMo-V2-Flash").attention == (Attention(9, 4, 192, 128), Attention(39, 8, 192, 128, 128))


def test_an_indexer_keeps_keys_in_the_layers_that_have_one() -> None:
    def kept(name: str) -> list[tuple[int, int]]:
        return [(group.layers, group.index_bytes) for group in public(name).attention]

    assert kept("deepseek-ai/DeepSeek-V3.2") == [(61, 128 + 4)]  # FP8, and a scale
    assert kept("zai-org/GLM-5.2") == [(21, 128 + 4), (57, 0)]
    assert kept("MiniMaxAI/MiniMax-M3") == [(3, 0), (57, 2 * 128)]


def test_layers_are_listed_by_letter_or_by_name() -> None:
    letters = PUBLIC["nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"]["config"]
    names = {"M": "mamba", "*": "attention", "E": "moe", "-": "mlp"}
    listed = {**letters, "layers_block_type": [names[each] for each in letters["hybrid_override_pattern"]]}
    listed = {
        key: value for key, value in listed.items() if key not in ("hybrid_override_pattern", "num_hidden_layers")
    }
    assert anatomy_of(listed) == anatomy_of(letters)


def test_experts_that_only_some_layers_have() -> None:
    config = PUBLIC["Qwen/Qwen3-30B-A3B"]["config"]
    assert anatomy_of(config, mlp_only_layers=[0, 1]).moe_layers == 46
    every_other = anatomy_of(config, decoder_sparse_step=2)
    assert (every_other.moe_layers, every_other.intermediate) == (24, 6144)
    assert every_other.parts.mlp == 24 * 3 * 2048 * 6144


def test_a_family_is_known_by_its_architecture_alone() -> None:
    config = {name: value for name, value in LLAMA_CONFIG.items() if name != "model_type"}
    assert anatomy_of(config) == anatomy_of(LLAMA_CONFIG)


def test_experts_that_the_family_has_not_are_not_guessed_at() -> None:
    facts = facts_of({**LLAMA_CONFIG, "num_local_experts": 8})
    assert (facts.anatomy, facts.parameters) == (None, None)
    assert "anatomy" in facts.unknown


def test_the_vision_part_is_not_counted_and_has_a_note() -> None:
    assert "the total excludes it" in facts_of(PUBLIC["google/gemma-3-4b-it"]["config"]).unknown["vision"]


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.just(10**6) | st.just(-1),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FIELDS = sorted(
    {field for case in PUBLIC.values() for field in case["config"]} | {"layer_types", "moe_layers", "layer_norms"}
)


@given(st.sampled_from(sorted(PUBLIC)), st.dictionaries(st.sampled_from(FIELDS), ODD, max_size=4), st.booleans())
def test_any_config_of_any_family_gives_facts_or_a_coded_error(name: str, change: dict[str, Any], deep: bool) -> None:
    config = dict(PUBLIC[name]["config"])
    if deep and "text_config" in config:
        config["text_config"] = {**config["text_config"], **change}
    else:
        config |= change
    try:
        facts = facts_of(config)
    except WizardError as error:
        assert error.code == "TW-M05"  # noqa: PT017
        return
    assert (facts.parameters is None) == (facts.anatomy is None)
    if facts.anatomy is None:
        assert facts.unknown["anatomy"]
    else:
        assert facts.anatomy.parts.total > 0
        assert 0 <= facts.anatomy.active <= facts.anatomy.parts.total
        assert sum(group.layers for group in facts.anatomy.attention) == facts.anatomy.layers


@pytest.mark.parametrize(
    ("name", "caches", "reused"),
    [  # layers, kv heads, width of a key, window; transformers' kv_sharing_modes, vLLM's kv_sharing_target_layer_name
        ("google/gemma-4-E2B-it", [(3, 1, 512, None), (12, 1, 256, 512)], [(16, 256), (4, 512)]),
        ("google/gemma-4-E4B-it", [(4, 2, 512, None), (20, 2, 256, 512)], [(15, 256), (3, 512)]),
        ("google/gemma-3n-E2B-it", [(4, 2, 256, None), (16, 2, 256, 512)], [(10, 256)]),
        ("google/gemma-3n-E4B-it", [(4, 2, 256, None), (16, 2, 256, 512)], [(15, 256)]),
    ],
)
def test_the_last_layers_of_small_gemmas_share_caches(
    name: str, caches: list[tuple[int, int, int, int | None]], reused: list[tuple[int, int]]
) -> None:
    anatomy = public(name)
    kept = [group for group in anatomy.attention if not group.shares]
    assert [(group.layers, group.kv_heads, group.key_dim, group.window) for group in kept] == caches
    assert [(group.layers, group.key_dim) for group in anatomy.attention if group.shares] == reused
    assert sum(group.layers for group in anatomy.attention) == anatomy.layers
    assert "use the KV cache of earlier layers" in " ".join(text(facts_of(PUBLIC[name]["config"])).split())


def test_layers_cannot_share_caches_that_no_layer_has() -> None:
    with pytest.raises(ModelError, match="num_kv_shared_layers"):
        facts_of({**PUBLIC["google/gemma-4-E2B-it"]["config"]["text_config"], "num_kv_shared_layers": 35})
