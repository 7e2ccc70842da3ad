"""How the modules of a model family differ from Llama's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Family:
    """A family of decoder-only models.

    If a bias or norm is a string, it is the name of the config field that switches it.

    Attributes:
        qkv_bias: Biases of the query, key and value projections.
        out_bias: Bias of the output projection of attention.
        mlp_bias: Biases of the feed-forward.
        head_bias: Bias of the language-model head.
        gated: Whether the feed-forward has a gate.
        layer_norms: Norms of a layer over the hidden width.
        outer_norms: Norms over the hidden width outside the layers: usually that before the head alone.
        norm_bias: Whether norms have a bias (LayerNorm) or not (RMSNorm).
        qk_norm: Norms of queries and keys over the head width.
        wide_qk_norm: Whether these norms are over all heads together, or have weights of their own for each head.
        qk_norm_bias: Whether they have a bias.
        output_gate: Whether a gate weighs the output of attention: one as wide as the queries, or one for each head.
        sinks: Whether each head has an attention sink; ``sliding``: in layers with a window only.
        positions: Whether positions are learned, one vector each.
        more_positions: Vectors besides one for each token of the longest context.
        activation_parameters: Learned parameters of a feed-forward's activation.
        latent: Whether attention is DeepSeek's multi-head latent attention.
        compressed: Whether rows of the cache stand for several tokens, as in DeepSeek V4 (`wizard.model.compressed`).
        indexer: Whether an indexer selects the tokens that it reads, as in DeepSeek-V3.2 or MiniMax M3.
        other_heads: Whether heads of some layers have other sizes: Gemma 4's without a window, MiMo V2's with one.
        experts: Which layers have experts: none, all, or by Qwen's, DeepSeek's, Llama 4's, Nemotron-H's or MiniMax M3's
            fields; ``beside``: all, beside a dense feed-forward (Gemma 4); ``granite``: all, with a shared one that
            is the whole feed-forward of models without experts.
        expert_bias: Whether experts and their router have biases.
        shared_gate: Whether a gate weighs the shared expert, whose width is a separate field.
        expert_norm: Whether the output of the experts has a norm.
        router_bias: Whether the router has a bias, or DeepSeek-V3's correction buffer.
        layer_inputs: Whether layers have embeddings of their own, and may share caches (`wizard.model.layer_inputs`).
        both: Whether each layer has attention and a recurrent state beside it (Falcon-H1).
        separate: Whether a layer is either a mixer or a feed-forward, by ``hybrid_override_pattern`` (Nemotron-H).
        predictor: What a layer for multi-token prediction is: not known, a ``layer`` of the model, or one with
            ``copies`` of the embedding and the head in the checkpoint.
        window: Which layers slide: none, all, every other, by a pattern, or by Qwen's, Llama 4's or MiMo V2's fields.
        names: A field → the family's own name for it.
        defaults: Defaults of missing fields.
        sizes: Defaults of missing sizes in a nested config, where transformers omits the class defaults. At the top
            level it writes them all, and a config without them is damaged.
    """

    qkv_bias: bool | str = False
    out_bias: bool | str = False
    mlp_bias: bool | str = False
    head_bias: bool | str = False
    gated: bool = True
    layer_norms: int = 2
    outer_norms: int = 1
    norm_bias: bool = False
    qk_norm: bool | str = False
    wide_qk_norm: bool = False
    qk_norm_bias: bool = False
    output_gate: Literal["none", "wide", "heads"] = "none"
    sinks: bool | Literal["sliding"] = False
    positions: bool = False
    more_positions: int = 0
    activation_parameters: int = 0
    latent: bool = False
    compressed: bool = False
    indexer: Literal["none", "deepseek", "minimax"] = "none"
    other_heads: Literal["none", "gemma4", "mimo"] = "none"
    experts: Literal["none", "all", "qwen", "deepseek", "llama4", "nemotron", "minimax", "beside", "granite"] = "none"
    expert_bias: bool = False
    shared_gate: bool = False
    expert_norm: bool = False
    router_bias: bool = False
    layer_inputs: bool = False
    both: bool = False
    separate: bool = False
    predictor: Literal["none", "layer", "copies"] = "none"
    window: Literal["none", "all", "alternate", "pattern", "qwen", "qwen2_moe", "llama4", "mimo"] = "none"
    names: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    sizes: Mapping[str, Any] = field(default_factory=dict)


def has(flag: bool | str, config: Mapping[str, Any]) -> bool:
    """Whether a family's ``flag`` is set: itself, or the config field of that name."""
    return bool(config.get(flag)) if isinstance(flag, str) else flag
