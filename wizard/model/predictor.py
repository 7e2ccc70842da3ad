"""Layers for multi-token prediction: in the checkpoint, but loaded for speculative decoding only. Pure.

Loaders skip them otherwise: vLLM (``get_spec_layer_idx_from_weight_name`` in ``models/utils.py``, prefixes ``mtp.``),
SGLang (``is_nextn`` and ``mtp`` in ``srt/models``), ``transformers`` (``_keys_to_ignore_on_load_unexpected``). Modules:
vLLM 0.33, ``models/deepseek_mtp.py``, ``qwen3_5_mtp.py``, ``glm4_moe_mtp.py``, ``mimo_mtp.py``, ``nemotron_h_mtp.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from wizard.model import parameters
from wizard.model.anatomy import Predictor
from wizard.model.family import Family
from wizard.model.untrusted import whole

_MOST = 64
_COUNTS = ("num_nextn_predict_layers", "mtp_num_hidden_layers")
_LISTS = ("layer_types", "compress_ratios")
"""Lists with an item for each layer that may go on with these."""


def predictor(family: Family, n: Mapping[str, Any], config: Mapping[str, Any], where: str) -> Predictor | None:
    """The layers that predict further tokens; None if the config states none, or not what they are.

    Each is a layer of the model, with attention to all tokens and experts if the model has them, after a projection of
    the embedding and the hidden state together, with a norm for each and one for the result. The embedding and the
    head are the model's.

    Args:
        family: The family, completed (`wizard.model.completion.completed`).
        n: The sizes among `ModelFacts`' fields.
        config: The config, completed likewise.
        where: Its name for error messages.

    Raises:
        ModelError: TW-M05 if a value is invalid.
    """
    if family.predictor == "none":
        return None
    steps = next(filter(None, (whole(config, name, _MOST, where, low=0) for name in _COUNTS)), 0)
    pattern = config.get("mtp_hybrid_override_pattern") or config.get("mtp_layers_block_type")
    if not steps or (family.separate and not isinstance(pattern, (str, list))):
        return None
    layers = steps * (len(pattern) if family.separate and pattern else 1)
    alone = parameters.anatomy(family, {**n, "layers": layers}, _alone(family, n, config, steps, pattern), where)
    if alone is None:
        return None
    hidden = n["hidden_size"]
    norm = hidden * (2 if family.norm_bias else 1)
    parts = replace(
        alone.parts,
        embedding=0,
        head=0,
        router=alone.parts.router + steps * 2 * hidden * hidden,
        norms=alone.parts.norms + (3 * steps - family.outer_norms) * norm,
    )
    copies = steps * 2 * n["vocabulary"] * hidden if family.predictor == "copies" else 0
    return Predictor(steps, parts, alone.attention, copies)


def _alone(
    family: Family, n: Mapping[str, Any], config: Mapping[str, Any], steps: int, pattern: str | list[Any] | None
) -> dict[str, Any]:
    """``config`` as that of a model with these layers only."""
    alone = {
        **config,
        "num_hidden_layers": steps,
        "first_k_dense_replace": 0,
        "decoder_sparse_step": 1,
        "feed_forward_widths": None,
        "num_hash_layers": 0,
        **dict.fromkeys(("moe_layer_freq", "interleave_moe_layer_step"), 1),
        **dict.fromkeys(("mlp_only_layers", "mlp_layer_types", "moe_layers", "indexer_types", "hybrid_layer_pattern")),
        **dict.fromkeys(("full_attention_interval", "sparse_attention_freq")),
    }
    for name in _LISTS:
        listed = config.get(name)
        rest = list(listed[n["layers"] : n["layers"] + steps]) if isinstance(listed, (list, tuple)) else []
        alone[name] = rest if len(rest) == steps else ["full_attention"] * steps if name == "layer_types" else None
    if family.separate and pattern:
        alone["layer_types"], alone["layers_block_type"] = None, None
        field = "hybrid_override_pattern" if isinstance(pattern, str) else "layers_block_type"
        alone |= {"hybrid_override_pattern": None, field: pattern * steps}
    if family.compressed:
        alone["layer_types"] = None
    return alone
