"""The anatomy of a GGUF model: exact, from the list of tensors in its header. Pure.

Names of tensors: gguf-py's ``TENSOR_NAMES`` (ggml-org/llama.cpp, ``gguf-py/gguf/constants.py``). Windows: llama.cpp's
``load_hparams``, which has sliding windows for Gemma 2 and 3, gpt-oss and Llama 4 only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from wizard.model import tensor_parts
from wizard.model.anatomy import Anatomy, Parts
from wizard.model.attention_layers import attention
from wizard.model.families import FAMILIES
from wizard.model.family import Family
from wizard.model.gguf import Header
from wizard.model.parameters import NEEDED
from wizard.model.untrusted import whole

_SLIDING = {"gemma2": "gemma2", "gemma3": "gemma3_text", "gpt-oss": "gpt_oss", "llama4": "llama4_text"}
"""``general.architecture`` → the family with the same sliding layers."""


def anatomy(header: Header, n: Mapping[str, Any], where: str) -> Anatomy | None:
    """The anatomy of the model in a file; None if the header is incomplete or lacks a size.

    Args:
        header: The file's header.
        n: The sizes among `ModelFacts`' fields, as the header states them.
        where: The file's name for error messages.

    Raises:
        ModelError: TW-M05 if a value is invalid.
    """
    if not header.tensors or any(n.get(name) is None for name in NEEDED):
        return None
    name = header.metadata.get("general.architecture")
    meta = {key.partition(".")[2]: value for key, value in header.metadata.items() if key.startswith(f"{name}.")}
    parts = tensor_parts.sums(((tensor.name, tensor.elements) for tensor in header.tensors), n)
    layers = {match[1] for each in header.tensors if (match := re.match(r"blk\.(\d+)\.ffn_\w*_exps\.", each.name))}
    width = whole(meta, "expert_feed_forward_length", 100_000_000, where, low=0) or n.get("intermediate_size") or 0
    shared = whole(meta, "expert_shared_feed_forward_length", 100_000_000, where, low=0)
    if shared is None:
        shared = width * (whole(meta, "expert_shared_count", 1000, where, low=0) or 0)
    return Anatomy(
        parts=parts,
        attention=attention(*_family(str(name), meta, n["layers"]), where=where, n=n),
        layers=n["layers"],
        hidden=n["hidden_size"],
        heads=n["heads"],
        intermediate=(n.get("intermediate_size") or 0) if len(layers) < n["layers"] else 0,
        vocabulary=n["vocabulary"],
        experts=n.get("experts") or 0,
        experts_per_token=min(n.get("experts_per_token") or 0, n.get("experts") or 0),
        moe_layers=len(layers),
        expert_intermediate=width if layers else 0,
        shared_intermediate=shared if layers else 0,
        gated=any(".ffn_gate" in tensor.name for tensor in header.tensors),
    )


def bytes_by_part(header: Header, n: Mapping[str, Any]) -> Parts | None:
    """Bytes by part; None if the header is incomplete or has a type that the wizard does not know."""
    if not header.tensors or header.weight_bytes is None:
        return None
    return tensor_parts.sums(((tensor.name, tensor.bytes) for tensor in header.tensors), n)


def _family(name: str, meta: Mapping[str, Any], layers: int) -> tuple[Family, dict[str, Any]]:
    """The family, and its config under Transformers' names for the header's fields."""
    family = FAMILIES[_SLIDING[name]] if name in _SLIDING else Family(latent="attention.kv_lora_rank" in meta)
    renamed = {
        "sliding_window": "attention.sliding_window",
        "attention_chunk_size": "attention.chunk_size",
        "kv_lora_rank": "attention.kv_lora_rank",
        "qk_rope_head_dim": "rope.dimension_count",
        "num_kv_shared_layers": "attention.shared_kv_layers",
    }
    if "attention.shared_kv_layers" in meta:
        family = replace(family, layer_inputs=True)
    config = {**family.defaults, **{ours: meta[theirs] for ours, theirs in renamed.items() if theirs in meta}}
    kv_heads = meta.get("attention.head_count_kv")
    if isinstance(kv_heads, tuple) and len(kv_heads) == layers:  # 0 for layers with a state instead of attention
        config["layer_types"] = ["full_attention" if each else "linear_attention" for each in kv_heads]
    return family, config
