"""Layers for multi-token prediction, which propose tokens for speculative decoding. Pure.

Such a layer is one of the model's own, after a projection of the embedding and the residual stream together; it shares
the model's embedding and head (vLLM 0.33, ``models/deepseek_mtp.py``, ``glm4_moe_mtp.py``, ``mimo_mtp.py`` and
``v1/spec_decode/llm_base_proposer.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from wizard.model import parameters
from wizard.model.anatomy import Anatomy
from wizard.model.family import Family
from wizard.model.untrusted import whole

COUNT = {
    "DeepseekV3ForCausalLM": "num_nextn_predict_layers",
    "DeepseekV32ForCausalLM": "num_nextn_predict_layers",
    "Glm4MoeForCausalLM": "num_nextn_predict_layers",
    "GlmMoeDsaForCausalLM": "num_nextn_predict_layers",
    "MiMoForCausalLM": "num_nextn_predict_layers",
}
"""Architecture → field with the number of its layers. Those of other architectures are not counted."""
_NORMS = 3
"""Norms of a layer besides its own: of the embedding, of the residual stream, and before the head."""


def prediction_layers(
    architecture: str | None, family: Family, n: Mapping[str, Any], config: Mapping[str, Any], where: str
) -> Anatomy | None:
    """The layers for multi-token prediction; None if there are none, or if they are not known.

    Args:
        architecture: The model's.
        family: Its family.
        n: The sizes among `ModelFacts`' fields.
        config: The completed config.
        where: The config's name for error messages.

    Raises:
        ModelError: TW-M05 if their number is invalid.
    """
    field = COUNT.get(architecture or "")
    count = whole(config, field, 100, where, low=0) if field else None
    if not count:
        return None
    # Its layers have experts if any do, and an indexer, which the last of the model may share with one before it.
    last = {"num_hidden_layers": count, "first_k_dense_replace": 0, "mlp_layer_types": None, "moe_layer_freq": None}
    lists = {name: value[:count] for name, value in config.items() if _per_layer(value, n["layers"])}
    made = parameters.anatomy(family, {**n, "layers": count}, {**config, **lists, **last}, where)
    if made is None:
        return None
    norm_width = _NORMS * count * made.hidden - family.outer_norms * made.hidden
    small = made.parts.norms + norm_width
    joined = made.parts.router + 2 * count * made.hidden**2
    return replace(made, parts=replace(made.parts, embedding=0, head=0, norms=small, router=joined))


def _per_layer(value: object, layers: int | None) -> bool:
    """Whether a field has an item for each layer."""
    return isinstance(value, (list, tuple)) and len(value) == layers
