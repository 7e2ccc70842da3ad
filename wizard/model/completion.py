"""A config under the names and with the defaults of its family, or of the family that its fields suggest. Pure.

Facts of ``transformers`` 5.23, ``models/FAMILY/configuration_FAMILY.py``, unless another source is named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from wizard.model.attention_layers import BLOCKS
from wizard.model.families import FAMILIES
from wizard.model.family import Family


def completed(name: str, config: Mapping[str, Any], *, nested: bool) -> tuple[Family, dict[str, Any]]:
    """The family, and ``config`` with defaults for missing fields and with Llama's field names.

    Args:
        name: A key of `FAMILIES`.
        config: The language model's fields.
        nested: Whether they are part of a multimodal config.
    """
    family = FAMILIES[name]
    whole = {**(family.sizes if nested else {}), **family.defaults, **config}
    whole |= {field: config[own] for field, own in family.names.items() if config.get(own) is not None}
    if name in _FOURFOLD and _first(whole, "n_inner", "intermediate_size", "ffn_dim") is None:
        hidden = _first(whole, "hidden_size", "n_embd", "n_embed")
        if type(hidden) is int:
            whole["intermediate_size"] = 4 * hidden
    if complete := _COMPLETE.get(name):
        family = complete(family, whole)
    if family.latent:  # these files' qk_rope_head_dim, if any, is not the width of a head
        widths = (whole.get("qk_nope_head_dim"), whole.get("qk_rope_head_dim"))
        whole["head_dim"] = sum(widths) if all(type(width) is int for width in widths) else None
    return family, whole


_WIDEST = 100_000_000
"""Width above which nothing is computed from it: it is rejected where it is read."""
_FOURFOLD = ("bloom", "falcon", "gpt2", "gpt_bigcode", "gpt_neo", "gptj")
"""Families whose feed-forward is four times as wide as the residual stream if its width is not stated."""


def _first(config: Mapping[str, Any], *names: str) -> Any:
    """The first of these fields that has a value."""
    return next((config[name] for name in names if config.get(name) is not None), None)


def _complete_gemma3n(family: Family, config: dict[str, Any]) -> Family:
    """Gemma 3n states the width of each layer's feed-forward."""
    if isinstance(widths := config.get("intermediate_size"), list) and len(widths) == config.get("num_hidden_layers"):
        config["feed_forward_widths"] = [width if type(width) is int and width > 0 else 0 for width in widths]
    return family


def _complete_gemma4(family: Family, config: dict[str, Any]) -> Family:
    """Gemma 4's experts, with three norms more, are beside the dense feed-forward (``Gemma4TextDecoderLayer``), which
    is twice as wide in some models' layers without a cache of their own.
    """
    names = ("num_hidden_layers", "num_kv_shared_layers", "intermediate_size")
    sizes = [size for size in map(config.get, names) if type(size) is int and 0 < size <= 100_000_000]
    if config.get("use_double_wide_mlp") and len(sizes) == len(names) and sizes[1] < sizes[0] <= 10_000:
        layers, shared, width = sizes
        config["feed_forward_widths"] = [width] * (layers - shared) + [2 * width] * shared
    if not config.get("enable_moe_block"):
        return family
    return replace(family, experts="beside", layer_norms=7)


def _complete_nemotron(family: Family, config: dict[str, Any]) -> Family:
    """Nemotron-H's number of layers is that of their types; the first releases have another name for the head width."""
    blocks = config.get("layers_block_type")
    if config.get("num_hidden_layers") is None and isinstance(blocks, (list, tuple)):
        config["num_hidden_layers"] = len(blocks)
    if config.get("head_dim") is None:
        config["head_dim"] = config.get("attention_head_dim")
    return family


def _complete_nas(family: Family, config: dict[str, Any]) -> Family:
    """Nemotron's searched models state each layer's heads and widths (vLLM, ``models/nemotron_nas.py``)."""
    blocks, heads, hidden = (config.get(name) for name in ("block_configs", "num_attention_heads", "hidden_size"))
    if not isinstance(blocks, list) or type(heads) is not int or type(hidden) is not int or hidden > _WIDEST:
        return family
    parts = [
        [block.get(name) if isinstance(block, dict) else None for name in ("attention", "ffn")] for block in blocks
    ]
    groups = [attention.get("n_heads_in_group") if isinstance(attention, dict) else None for attention, _ in parts]
    sizes = [ffn.get("ffn_mult") if isinstance(ffn, dict) else None for _, ffn in parts]
    config["layer_types"] = ["full_attention" if group else "feed_forward" for group in groups]
    config["num_key_value_heads"] = next((heads // group for group in groups if type(group) is int and group > 0), None)
    widths = [
        int(2 * size * hidden / 3) if isinstance(size, (int, float)) and 0 <= size < 1000 else 0 for size in sizes
    ]
    config["feed_forward_widths"] = [-(-width // 256) * 256 for width in widths]
    config["intermediate_size"] = max(config["feed_forward_widths"], default=None) or None
    return family


def _complete_minimax_m3(family: Family, config: dict[str, Any]) -> Family:
    """Its indexer's sizes are in an object of their own."""
    if isinstance(sparse := config.get("sparse_attention_config"), dict):
        config.update({name: value for name, value in sparse.items() if name not in config})
    return family


def _complete_multi_query(family: Family, config: dict[str, Any]) -> Family:
    """ChatGLM and GPT-BigCode share keys and values only if they say so."""
    if config.get("multi_query_attention") is False:
        config["num_key_value_heads"] = None
    if config.get("multi_query"):
        config["num_key_value_heads"] = 1
    return family


def _complete_neo(family: Family, config: dict[str, Any]) -> Family:
    """GPT-Neo repeats kinds of layers: ``[[["global", "local"], 12]]``."""
    kinds = config.get("attention_types")
    if isinstance(kinds, list) and all(isinstance(each, list) and len(each) == 2 for each in kinds):
        several = [(names, count) for names, count in kinds if isinstance(names, list) and type(count) is int]
        names_in_order = (name for names, count in several for _ in range(count) for name in names)
        config["layer_types"] = list(islice(names_in_order, 10_001))
    return family


def _complete_qwen(family: Family, config: dict[str, Any]) -> Family:
    """The first Qwen counts both halves of its gated feed-forward (vLLM, ``models/qwen.py``)."""
    if type(width := config.get("intermediate_size")) is int:
        config["intermediate_size"] = width // 2
    return family


def _complete_stablelm(family: Family, config: dict[str, Any]) -> Family:
    """A layer whose halves are parallel has a single norm."""
    return replace(family, layer_norms=1) if config.get("use_parallel_residual") else family


def _complete_jamba(family: Family, config: dict[str, Any]) -> Family:
    """Jamba's attention and experts recur with a period (``JambaConfig``)."""
    layers = config.get("num_hidden_layers")
    for field, prefix, default, (inside, outside) in (
        ("layer_types", "attn_layer", (8, 4), ("full_attention", "mamba")),
        ("mlp_layer_types", "expert_layer", (2, 1), ("sparse", "dense")),
    ):
        period, offset = (
            config.get(f"{prefix}_{name}", value) for name, value in zip(("period", "offset"), default, strict=True)
        )
        if config.get(field) is None and type(layers) is type(period) is type(offset) is int and 0 < layers <= 10_000:
            config[field] = [inside if period and layer % period == offset else outside for layer in range(layers)]
    return family


def _complete_falcon_h1(family: Family, config: dict[str, Any]) -> Family:
    """Falcon-H1 states the width of its states; ``auto`` for that of a head (``FalconH1Config``)."""
    width, heads = config.get("mamba_d_ssm"), config.get("mamba_n_heads")
    if width is None and all(type(config.get(name)) is int for name in ("mamba_expand", "hidden_size")):
        width = config["mamba_expand"] * config["hidden_size"]
    if config.get("mamba_d_head") in (None, "auto") and type(width) is type(heads) is int and heads > 0:
        config["mamba_d_head"] = width // heads
    config["layer_types"] = None  # each has both
    return family


def _complete_granite(family: Family, config: dict[str, Any]) -> Family:
    """Granite 4: a shared feed-forward, and experts beside it in some models; or no experts at all."""
    if not config.get("num_local_experts"):
        config["intermediate_size"] = config.get("shared_intermediate_size")
    return family


def _complete_lfm2(family: Family, config: dict[str, Any]) -> Family:
    """LFM2 states the width of a feed-forward before it is gated (``Lfm2MLP``), and its attention layers by number."""
    width = _first(config, "block_ff_dim", "intermediate_size")
    factor, multiple = config.get("block_ffn_dim_multiplier", 1.0), config.get("block_multiple_of", 256)
    whole = type(width) is type(multiple) is int and width <= _WIDEST
    if config.get("block_auto_adjust_ff_dim", True) and whole and multiple > 0:
        scaled = int((factor if isinstance(factor, (int, float)) and 0 < factor < 100 else 1) * (2 * width // 3))
        width = -(-scaled // multiple) * multiple
    config["intermediate_size"] = width
    listed, layers = config.get("full_attn_idxs"), config.get("num_hidden_layers")
    if config.get("layer_types") is None and isinstance(listed, list) and type(layers) is int and layers <= 10_000:
        config["layer_types"] = ["full_attention" if layer in listed else "conv" for layer in range(layers)]
    return family


def _complete_kimi(family: Family, config: dict[str, Any]) -> Family:
    """Kimi Linear counts its layers from 1, and states the sizes of its states in an object of their own; Kimi K3 also
    mixes residual streams of earlier layers, with a norm and a projection before each half of a layer.
    """
    linear, layers = config.get("linear_attn_config"), config.get("num_hidden_layers")
    if isinstance(linear, dict):
        names = {"linear_num_heads": "num_heads", "linear_head_dim": "head_dim"}
        names |= {"linear_conv_kernel_dim": "short_conv_kernel_size", "use_full_rank_gate": "use_full_rank_gate"}
        config.update({name: linear[own] for name, own in names.items() if own in linear})
        listed = linear.get("full_attn_layers")
        if isinstance(listed, list) and type(layers) is int and layers <= 10_000:
            kinds = ("linear_attention", "full_attention")
            config["layer_types"] = [kinds[layer + 1 in listed] for layer in range(layers)]
    return replace(family, layer_norms=6, outer_norms=3) if config.get("attn_res_block_size") else family


def guessed(config: Mapping[str, Any]) -> Family:
    """A family by the fields that most models share, for one that the wizard does not know."""
    latent = config.get("kv_lora_rank") is not None
    blocks = config.get("layers_block_type")
    named = isinstance(blocks, list) and all(isinstance(each, str) and each in BLOCKS for each in blocks)
    return Family(
        qkv_bias="attention_bias",
        out_bias="attention_bias",
        latent=latent,
        indexer="deepseek" if latent and config.get("index_n_heads") and config.get("q_lora_rank") else "none",
        experts="deepseek" if config.get("moe_intermediate_size") else "all",
        separate=named or "hybrid_override_pattern" in config,
    )


def _complete_falcon(family: Family, config: dict[str, Any]) -> Family:
    """Falcon's own names (modeling_falcon.py, ``FalconAttention``); the first releases had BLOOM's."""
    heads = _first(config, "num_attention_heads", "n_head")
    wide = config.get("new_decoder_architecture") or config.get("n_head_kv") is not None
    several = _first(config, "num_kv_heads", "n_head_kv") or heads
    config["num_key_value_heads"] = several if wide else 1 if config["multi_query"] else heads
    config["head_dim"] = None
    if config.get("ffn_hidden_size") is not None:
        config["intermediate_size"] = config["ffn_hidden_size"]
    norms = config.get("num_ln_in_parallel_attn") or (2 if wide else 1)
    return replace(family, layer_norms=2 if not config["parallel_attn"] or norms == 2 else 1)


_COMPLETE: dict[str, Callable[[Family, dict[str, Any]], Family]] = {
    "chatglm": _complete_multi_query,
    "falcon": _complete_falcon,
    "falcon_h1": _complete_falcon_h1,
    "gemma3n_text": _complete_gemma3n,
    "gemma4_text": _complete_gemma4,
    "gpt_bigcode": _complete_multi_query,
    "gpt_neo": _complete_neo,
    "granitemoehybrid": _complete_granite,
    "jamba": _complete_jamba,
    "kimi_linear": _complete_kimi,
    "lfm2": _complete_lfm2,
    "minimax_m3": _complete_minimax_m3,
    "nemotron-nas": _complete_nas,
    "nemotron_h": _complete_nemotron,
    "qwen": _complete_qwen,
    "stablelm": _complete_stablelm,
}
"""What is more than other names and defaults, by family: changes the config in place."""
