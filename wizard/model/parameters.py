"""A model's parameters, counted by part from its config.json. Pure.

The formulas follow the shapes of the modules in ``transformers`` 5.23, ``models/FAMILY/modeling_FAMILY.py``; the
differences between families are in `wizard.model.families`. ``benchmarks/advice/parameters.py`` compares the counts
with the actual models, built on the meta device.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wizard.model.anatomy import Anatomy, Parts
from wizard.model.attention_layers import attention
from wizard.model.families import Family
from wizard.model.untrusted import whole

NEEDED = ("layers", "hidden_size", "heads", "kv_heads", "head_dim", "vocabulary")
"""Fields of `ModelFacts` that are required for counting."""


@dataclass(frozen=True, slots=True)
class _Experts:
    """The layers with experts: their number, and the widths of a routed expert and of all shared ones."""

    layers: int = 0
    count: int = 0
    per_token: int = 0
    width: int = 0
    shared: int = 0
    shared_gate: bool = False


def anatomy(family: Family, n: Mapping[str, Any], config: Mapping[str, Any], where: str) -> Anatomy | None:
    """The anatomy of a model; None if a required size is missing.

    Args:
        family: The family, completed (`wizard.model.families.completed`).
        n: The sizes among `ModelFacts`' fields.
        config: The config, completed likewise.
        where: The config's name for error messages.

    Raises:
        ModelError: TW-M05 if a value is invalid.
    """
    needed = [field for field in NEEDED if not (family.latent and field in ("kv_heads", "head_dim"))]
    if any(n.get(field) is None for field in needed) or (n.get("experts") and family.experts == "none"):
        return None
    experts = _experts(family, n, config, where)
    if experts is None:
        return None
    dense_layers = n["layers"] - experts.layers
    inner = n.get("intermediate_size")
    if family.experts == "llama4":
        inner = whole(config, "intermediate_size_mlp", 100_000_000, where) or inner
    if dense_layers and inner is None:
        return None
    parts = _parts(family, n, config, where, experts, dense_layers, inner or 0)
    if parts is None:
        return None
    return Anatomy(
        parts=parts,
        attention=attention(family, config, n=n, where=where),
        layers=n["layers"],
        hidden=n["hidden_size"],
        heads=n["heads"],
        intermediate=(inner or 0) if dense_layers else 0,
        vocabulary=n["vocabulary"],
        experts=experts.count,
        experts_per_token=experts.per_token,
        moe_layers=experts.layers,
        expert_intermediate=experts.width,
        shared_intermediate=experts.shared,
        gated=family.gated,
    )


def _parts(
    family: Family,
    n: Mapping[str, Any],
    config: Mapping[str, Any],
    where: str,
    experts: _Experts,
    dense_layers: int,
    inner: int,
) -> Parts | None:
    hidden, layers, vocabulary = n["hidden_size"], n["layers"], n["vocabulary"]
    matrices = 3 if family.gated else 2
    heads = _latent(family, n, config, where) if family.latent else _heads(family, n, config)
    if heads is None:
        return None
    positions = n.get("max_context") if family.positions else 0
    if positions is None:
        return None
    tied = bool(config.get("tie_word_embeddings"))
    bias = (vocabulary if _has(family.head_bias, config) else 0) + layers * heads["bias"]
    if _has(family.mlp_bias, config):
        bias += dense_layers * ((matrices - 1) * inner + hidden)
    if family.expert_bias:
        bias += experts.layers * experts.count * ((matrices - 1) * experts.width + hidden)
    norm_width = hidden * (2 if family.norm_bias else 1)
    router = hidden * (experts.count + experts.shared_gate) + (experts.count if family.router_bias else 0)
    return Parts(
        embedding=(vocabulary + positions) * hidden,
        head=0 if tied else vocabulary * hidden,
        attention=layers * heads["attention"],
        key_value=layers * heads["key_value"],
        latent=layers * heads["latent"],
        mlp=dense_layers * matrices * hidden * inner,
        experts=experts.layers * experts.count * matrices * hidden * experts.width,
        shared=experts.layers * matrices * hidden * experts.shared,
        router=experts.layers * router,
        norms=bias + (layers * family.layer_norms + 1) * norm_width,
    )


def _has(flag: bool | str, config: Mapping[str, Any]) -> bool:
    return bool(config.get(flag)) if isinstance(flag, str) else flag


def _heads(family: Family, n: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, int]:
    """Parameters of a layer's attention; ``bias`` includes its biases, head norms and sinks."""
    hidden, queries, keys = n["hidden_size"], n["heads"] * n["head_dim"], n["kv_heads"] * n["head_dim"]
    bias = n["heads"] if family.sinks else 0
    if _has(family.qkv_bias, config):
        bias += queries + 2 * keys
    if _has(family.out_bias, config):
        bias += hidden
    if _has(family.qk_norm, config):
        bias += 2 * n["head_dim"] * (2 if family.norm_bias else 1)
    return {"attention": 2 * hidden * queries, "key_value": 2 * hidden * keys, "latent": 0, "bias": bias}


def _latent(family: Family, n: Mapping[str, Any], config: Mapping[str, Any], where: str) -> dict[str, int] | None:
    """The same for DeepSeek's multi-head latent attention; None if a size is missing."""
    names = ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
    sizes = [whole(config, name, 1_000_000, where, low=0) for name in names]
    if None in sizes:
        return None
    rank, nope, rope, value = (size or 0 for size in sizes)
    query_rank = whole(config, "q_lora_rank", 1_000_000, where, low=0)
    hidden, queries = n["hidden_size"], n["heads"] * (nope + rope)
    up = rank * n["heads"] * (nope + value) + n["heads"] * value * hidden
    down, bias = hidden * (rank + rope), rank  # the rank's norm
    biased = _has(family.qkv_bias, config)
    bias += rank + rope + hidden if biased else 0
    if query_rank:
        up += query_rank * queries
        down += hidden * query_rank
        bias += query_rank + (query_rank if biased else 0)
    else:
        up += hidden * queries
    return {"attention": up, "key_value": 0, "latent": down, "bias": bias}


def _experts(family: Family, n: Mapping[str, Any], config: Mapping[str, Any], where: str) -> _Experts | None:
    """The layers with experts; None if a size is missing."""
    count = n.get("experts")
    if family.experts == "none" or not count:
        return _Experts()
    wide = "moe_intermediate_size" if family.experts in ("qwen", "deepseek") else "intermediate_size"
    width = whole(config, wide, 100_000_000, where)
    per_token = n.get("experts_per_token")
    if width is None or per_token is None:
        return None
    shared = 0
    if family.shared_gate:
        shared = whole(config, "shared_expert_intermediate_size", 100_000_000, where, low=0) or 0
    elif family.experts == "deepseek":
        shared = width * (whole(config, "n_shared_experts", 1000, where, low=0) or 0)
    elif family.experts == "llama4":
        shared = width
    layers = sum(_sparse(family, n["layers"], config, where))
    return _Experts(layers, count, min(per_token, count), width, shared, family.shared_gate)


def _sparse(family: Family, layers: int, config: Mapping[str, Any], where: str) -> list[bool]:
    """Whether each layer has experts."""
    if family.experts == "qwen":
        step = whole(config, "decoder_sparse_step", 10_000, where) or 1
        dense = _indices(config.get("mlp_only_layers"))
        return [layer not in dense and (layer + 1) % step == 0 for layer in range(layers)]
    if family.experts == "deepseek":
        first = whole(config, "first_k_dense_replace", 10_000, where, low=0) or 0
        step = whole(config, "moe_layer_freq", 10_000, where) or 1
        return [layer >= first and layer % step == 0 for layer in range(layers)]
    if family.experts == "llama4":
        if isinstance(config.get("moe_layers"), (list, tuple)):
            sparse = _indices(config["moe_layers"])
            return [layer in sparse for layer in range(layers)]
        step = whole(config, "interleave_moe_layer_step", 10_000, where) or 1
        return [(layer + 1) % step == 0 for layer in range(layers)]
    return [True] * layers


def _indices(value: object) -> set[int]:
    return {each for each in value if type(each) is int} if isinstance(value, (list, tuple)) else set()
