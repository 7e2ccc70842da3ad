"""A model's parameters, counted by part from its config.json. Pure.

The formulas follow the shapes of the modules in ``transformers`` 5.23, ``models/FAMILY/modeling_FAMILY.py``; the
differences between families are in `wizard.model.families`. ``benchmarks/advice/parameters.py`` compares the counts
with the actual models, built on the meta device.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wizard.model import compressed, mixers
from wizard.model.anatomy import Anatomy, Parts
from wizard.model.attention_layers import NOTHING, STATE, attention, blocks, indexed, kinds, of_kind
from wizard.model.family import Family, has
from wizard.model.layer_inputs import Inputs, inputs, sharing
from wizard.model.mixers import Mixer
from wizard.model.untrusted import per_layer, whole

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
    latent: int = 0
    """Width that routed experts read and write, after a projection; 0 if they read the residual stream itself."""


def anatomy(family: Family, n: Mapping[str, Any], config: Mapping[str, Any], where: str) -> Anatomy | None:
    """The anatomy of a model; None if a required size is missing.

    Args:
        family: The family, completed (`wizard.model.completion.completed`).
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
    each_mixer = _mixers(family, n, config, where)
    typed = not family.separate or config.get("layer_types") or blocks(family, n["layers"], config, where)
    if experts is None or each_mixer is None or not typed:
        return None
    feed_forward = n["layers"] if not family.separate else kinds(family, n["layers"], config, where).count(NOTHING)
    dense_layers = feed_forward - (0 if family.experts == "beside" else experts.layers)
    inner = n.get("intermediate_size")
    if wide := {"llama4": "intermediate_size_mlp", "minimax": "dense_intermediate_size"}.get(family.experts):
        inner = whole(config, wide, 100_000_000, where) or inner
    if dense_layers and inner is None:
        return None
    parts = _parts(family, n, config, experts, each_mixer, dense_layers, inner or 0, where)
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
    experts: _Experts,
    each_mixer: list[Mixer],
    dense_layers: int,
    inner: int,
    where: str,
) -> Parts | None:
    hidden, layers, vocabulary = n["hidden_size"], n["layers"], n["vocabulary"]
    matrices = 3 if family.gated else 2
    positions = n.get("max_context") if family.positions else 0
    if positions is None:
        return None
    positions += family.more_positions
    widths = config.get("feed_forward_widths") or [inner] * dense_layers
    norms = layers * family.layer_norms
    if not family.separate:  # nor has a layer without one of its two halves the norm before it
        norms -= sum(mixer == Mixer() for mixer in each_mixer) + widths.count(0)
    tied = bool(config.get("tie_word_embeddings"))
    bias = (vocabulary if has(family.head_bias, config) else 0) + sum(mixer.small for mixer in each_mixer)
    if has(family.mlp_bias, config):
        bias += sum((matrices - 1) * width + hidden for width in widths if width)
    if family.expert_bias:
        bias += experts.layers * experts.count * ((matrices - 1) * experts.width + hidden)
    bias += layers if family.other_heads == "gemma4" else 0  # a scale for the output of each layer
    bias += layers * family.activation_parameters + (experts.layers * hidden if family.expert_norm else 0)
    beside = inputs(n, config, where) if family.layer_inputs else Inputs()
    norm_width = hidden * (2 if family.norm_bias else 1)
    router = hidden * (experts.count + experts.shared_gate) + (experts.count if family.router_bias else 0)
    router += 2 * hidden * experts.latent + (experts.latent if config.get("latent_moe_use_norm") else 0)
    if family.experts == "beside":
        router += hidden + experts.count  # a scale of its input, and one for each expert
    return Parts(
        embedding=(vocabulary + positions) * hidden,
        layer_embedding=beside.embedding,
        head=0 if tied else vocabulary * hidden,
        attention=sum(mixer.attention for mixer in each_mixer),
        key_value=sum(mixer.key_value for mixer in each_mixer),
        latent=sum(mixer.latent for mixer in each_mixer) + beside.latent,
        mlp=matrices * hidden * sum(widths),
        experts=experts.layers * experts.count * matrices * (experts.latent or hidden) * experts.width,
        shared=experts.layers * matrices * hidden * experts.shared,
        router=experts.layers * router + (compressed.outside(n, config, where) if family.compressed else 0),
        norms=bias + beside.small + (norms + family.outer_norms) * norm_width,
    )


def _mixers(family: Family, n: Mapping[str, Any], config: Mapping[str, Any], where: str) -> list[Mixer] | None:
    """The mixer of each layer; None if a size is missing."""
    of: dict[str, Mixer | None] = {NOTHING: Mixer()}
    if family.compressed:
        shares = compressed.ratios(n["layers"], config, where)
        listed = [compressed.mixer(ratio, n, config, where) for ratio in shares or ()]
        known = [mixer for mixer in listed if mixer is not None]
        return known if shares and len(known) == len(listed) else None
    layers = kinds(family, n["layers"], config, where)
    for kind in {*layers} - {NOTHING}:
        if kind == STATE:
            of[kind] = mixers.recurrent(n, config, where)
        elif family.latent:
            of[kind] = mixers.latent_attention(family, n, config, where)
        else:
            of[kind] = mixers.attention(family, of_kind(kind, family, n, config, where), config)
    if family.both:
        state = mixers.recurrent(n, config, where)
        of = {kind: state and mixer and mixers.together(mixer, state) for kind, mixer in of.items()}
    each = [of[kind] for kind in layers]
    if family.layer_inputs and (shared := sharing(n["layers"], config, where)):
        last = layers[-shared:]
        sizes = {kind: {**of_kind(kind, family, n, config, where), "shared": True} for kind in {*last}}
        each[-shared:] = [mixers.attention(family, sizes[kind], config) for kind in last]
    if with_index := sum(indexed(family, n["layers"], config, where)):
        each += [mixers.indexer(family, n, config, where)] * with_index
    mixed = [mixer for mixer in each if mixer is not None]
    return mixed if len(mixed) == len(each) else None


def _experts(family: Family, n: Mapping[str, Any], config: Mapping[str, Any], where: str) -> _Experts | None:
    """The layers with experts; None if a size is missing."""
    count = n.get("experts")
    if family.experts == "none" or not count:
        return _Experts()
    same = ("all", "llama4", "minimax", "granite")
    wide = "intermediate_size" if family.experts in same else "moe_intermediate_size"
    width = whole(config, wide, 100_000_000, where)
    per_token = n.get("experts_per_token")
    if width is None or per_token is None:
        return None
    shared = latent = 0
    if family.shared_gate:
        shared = whole(config, "shared_expert_intermediate_size", 100_000_000, where, low=0) or 0
    elif family.experts == "deepseek":
        several = (whole(config, name, 1000, where, low=0) for name in ("n_shared_experts", "num_shared_experts"))
        shared = width * next(filter(None, several), 0)
        shared = shared or whole(config, "shared_expert_intermediate_size", 100_000_000, where, low=0) or 0
    elif family.experts == "llama4":
        shared = width
    elif family.experts in ("minimax", "granite"):
        shared = whole(config, "shared_intermediate_size", 100_000_000, where, low=0) or 0
    elif family.experts == "nemotron":
        shared = whole(config, "moe_shared_expert_intermediate_size", 100_000_000, where, low=0) or 0
    for name in ("moe_latent_size", "routed_expert_hidden_size"):
        latent = latent or whole(config, name, 1_000_000, where, low=0) or 0
    layers = sum(_sparse(family, n["layers"], config, where))
    return _Experts(layers, count, min(per_token, count), width, shared, family.shared_gate, latent)


def _sparse(family: Family, layers: int, config: Mapping[str, Any], where: str) -> list[bool]:
    """Whether each layer has experts."""
    listed = _listed(family, layers, config, where)
    if listed is not None:
        return listed
    if family.experts == "qwen":
        step = whole(config, "decoder_sparse_step", 10_000, where) or 1
        dense = _indices(config, "mlp_only_layers", where)
        return [layer not in dense and (layer + 1) % step == 0 for layer in range(layers)]
    if family.experts in ("deepseek", "minimax"):
        first = whole(config, "first_k_dense_replace", 10_000, where, low=0) or 0
        step = whole(config, "moe_layer_freq", 10_000, where) or 1
        return [layer >= first and layer % step == 0 for layer in range(layers)]
    if family.experts == "llama4":
        step = whole(config, "interleave_moe_layer_step", 10_000, where) or 1
        return [(layer + 1) % step == 0 for layer in range(layers)]
    return [True] * layers


def _listed(family: Family, layers: int, config: Mapping[str, Any], where: str) -> list[bool] | None:
    """The same for configs that name the layers; None for others."""
    if family.experts == "nemotron":
        return [each == "moe" for each in blocks(family, layers, config, where) or ()]
    if named := per_layer(config, "mlp_layer_types", layers, where):
        return [each != "dense" for each in named]
    if isinstance(config.get("moe_layer_freq"), (list, tuple)):  # MiMo V2 and MiniMax M3
        flags = per_layer(config, "moe_layer_freq", layers, where)
        return [bool(each) for each in flags] if flags else None
    if family.experts == "llama4" and config.get("moe_layers") is not None:
        sparse = _indices(config, "moe_layers", where)
        return [layer in sparse for layer in range(layers)]
    return None


def _indices(config: Mapping[str, Any], name: str, where: str) -> set[int]:
    """The numbers of layers in a list, which may be empty."""
    if not (listed := config.get(name)):
        return set()
    whole(config, name, 1_000_000, where, low=0)
    return {int(each) for each in listed} if isinstance(listed, (list, tuple)) else {int(listed)}
