"""A config under the names and with the defaults of its family, or of the family that its fields suggest. Pure.

Facts of ``transformers`` 5.23, ``models/FAMILY/configuration_FAMILY.py``, unless another source is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from wizard.model.families import FAMILIES, Family


def completed(name: str, config: Mapping[str, Any], *, nested: bool) -> tuple[Family, dict[str, Any]]:
    """The family, and ``config`` with defaults for missing fields and with Llama's field names.

    Args:
        name: A key of `FAMILIES`.
        config: The language model's fields.
        nested: Whether they are part of a multimodal config.
    """
    family = FAMILIES[name]
    whole = {**(family.sizes if nested else {}), **family.defaults, **config}
    if name == "falcon":
        family = _complete_falcon(family, whole)
    if name in ("falcon", "gpt2", "gptj") and _first(whole, "n_inner", "intermediate_size") is None:
        hidden = _first(whole, "hidden_size", "n_embd", "n_embed")
        if type(hidden) is int:
            whole["intermediate_size"] = 4 * hidden  # configuration_{gpt2,gptj,falcon}.py
    if name == "minimax_m3" and isinstance(sparse := whole.get("sparse_attention_config"), dict):
        whole = {**sparse, **whole}
    if name == "gemma4_text":
        family = _complete_gemma4(family, whole)
    if name == "nemotron_h":
        _complete_nemotron(whole)
    if name == "nemotron-nas":
        _complete_nas(whole)
    if family.latent:  # these files' qk_rope_head_dim, if any, is not the width of a head
        widths = (whole.get("qk_nope_head_dim"), whole.get("qk_rope_head_dim"))
        whole["head_dim"] = sum(widths) if all(type(width) is int for width in widths) else None
    return family, whole


def _first(config: Mapping[str, Any], *names: str) -> Any:
    """The first of these fields that has a value."""
    return next((config[name] for name in names if config.get(name) is not None), None)


def _complete_gemma4(family: Family, config: dict[str, Any]) -> Family:
    """Gemma 4's experts, with three norms more, are beside the dense feed-forward (``Gemma4TextDecoderLayer``)."""
    if not config.get("enable_moe_block"):
        return family
    return replace(family, experts="beside", layer_norms=7)


def _complete_nemotron(config: dict[str, Any]) -> None:
    """Nemotron-H's number of layers is that of their types; the first releases have another name for the head width."""
    blocks = config.get("layers_block_type")
    if config.get("num_hidden_layers") is None and isinstance(blocks, (list, tuple)):
        config["num_hidden_layers"] = len(blocks)
    if config.get("head_dim") is None:
        config["head_dim"] = config.get("attention_head_dim")


def _complete_nas(config: dict[str, Any]) -> None:
    """Nemotron's searched models state each layer's heads and widths (vLLM, ``models/nemotron_nas.py``)."""
    blocks, heads, hidden = (config.get(name) for name in ("block_configs", "num_attention_heads", "hidden_size"))
    if not isinstance(blocks, list) or type(heads) is not int or type(hidden) is not int:
        return
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


def guessed(config: Mapping[str, Any]) -> Family:
    """A family by the fields that most models share, for one that the wizard does not know."""
    latent = config.get("kv_lora_rank") is not None
    return Family(
        qkv_bias="attention_bias",
        out_bias="attention_bias",
        latent=latent,
        indexer="deepseek" if latent and config.get("index_n_heads") and config.get("q_lora_rank") else "none",
        experts="deepseek" if config.get("moe_intermediate_size") else "all",
        separate="hybrid_override_pattern" in config or "layers_block_type" in config,
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
