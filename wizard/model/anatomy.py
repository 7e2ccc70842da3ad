"""The parts of a model: parameters by how they are split and quantized, and its KV cache."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Parts:
    """An amount (parameters, or stored bytes) per part of a model.

    Attributes:
        embedding: Input embedding, and learned positions; 16 bits in every format but GGUF.
        layer_embedding: Embeddings of each layer (Gemma 3n, Gemma 4), of which a token reads one row; split as the
            input embedding is.
        head: Output projection; 0 if it is the embedding (tied).
        attention: Query and output projections, and MLA's up-projections: split over tensor-parallel ranks by heads.
        key_value: Key and value projections: split by kv heads, repeated if there are more ranks than kv heads.
        latent: MLA's down-projections, and its indexer: whole on every rank.
        mlp: Feed-forward of dense layers: split.
        experts: Routed experts: split.
        shared: Shared experts: split.
        router: Expert routers, their biases, and projections to latent experts: whole on every rank, 16 bits or more.
        norms: Norms, biases and other small tensors: whole on every rank, 16 bits.
        other: Outside the language model (a vision tower): whole on every rank, 16 bits.
    """

    embedding: int = 0
    layer_embedding: int = 0
    head: int = 0
    attention: int = 0
    key_value: int = 0
    latent: int = 0
    mlp: int = 0
    experts: int = 0
    shared: int = 0
    router: int = 0
    norms: int = 0
    other: int = 0

    @property
    def total(self) -> int:
        """The total."""
        return sum(getattr(self, field.name) for field in fields(self))

    @property
    def linears(self) -> int:
        """The part that formats quantize: the linear layers of attention and feed-forward."""
        return self.attention + self.key_value + self.latent + self.mlp + self.experts + self.shared


STATE_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
"""Types of a recurrent state → bytes of an element."""


@dataclass(frozen=True, slots=True)
class State:
    """What a recurrent layer keeps of a sequence, whatever its length; split over the ranks.

    Attributes:
        kind: ``gated_delta`` (Qwen3-Next, Qwen3.5), ``delta`` (Kimi), ``nemotron`` (its Mamba-2), ``mamba2`` (that of
            others), ``mamba`` or ``convolution``; on it depends the type in which an engine keeps the state.
        elements: Elements of the state.
        columns: Elements of the last columns of its convolution, in the model's own type.
        stated: Fields of config.json that state the type of the state, and their values.
    """

    kind: str
    elements: int
    columns: int
    stated: tuple[tuple[str, str], ...] = ()

    def bytes(self, element: int = 4, column: int = 2) -> int:
        """Bytes in a layer, with so many bytes for an element of the state and of the columns."""
        return self.elements * element + self.columns * column


@dataclass(frozen=True, slots=True)
class Attention:
    """Layers with the same KV cache per token, in elements, or with the same recurrent state.

    Attributes:
        layers: Number of layers.
        kv_heads: Heads of keys and values; 0 for layers without a KV cache (linear attention, Mamba), or without their
            own (`shares`).
        key_dim: Elements of a key head.
        value_dim: Elements of a value head.
        window: Tokens that a sliding window keeps; None keeps all.
        latent: Elements of MLA's compressed row (kv_lora_rank + qk_rope_head_dim), which every rank keeps whole; then
            ``kv_heads``, ``key_dim`` and ``value_dim`` do not describe the cache.
        index_bytes: Bytes per token (or per compressed row) of the indexer's keys, which every rank keeps whole.
        tokens_per_row: Tokens whose keys and values share a row, kept besides those in the window; 0: none do.
        pending_bytes: Bytes per sequence of rows that are not complete; every rank keeps them whole.
        state: The recurrent state; None for layers without one.
    """

    layers: int
    kv_heads: int
    key_dim: int
    value_dim: int
    window: int | None = None
    latent: int | None = None
    index_bytes: int = 0
    state: State | None = None
    tokens_per_row: int = 0
    pending_bytes: int = 0

    @property
    def shares(self) -> bool:
        """Whether these layers use the keys and values of earlier ones."""
        return not self.kv_heads and self.key_dim > 0


@dataclass(frozen=True, slots=True)
class Predictor:
    """Layers for multi-token prediction, which are loaded for speculative decoding only.

    Attributes:
        steps: Tokens that they predict; each step has layers of its own.
        parts: Their parameters, without the embedding and the head, which are the model's.
        attention: Their KV cache.
        copies: Parameters of the copies of the embedding and the head beside them in the checkpoint; vLLM uses the
            model's own instead (``v1/spec_decode/llm_base_proposer.py``).
    """

    steps: int
    parts: Parts
    attention: tuple[Attention, ...]
    copies: int = 0


@dataclass(frozen=True, slots=True)
class Anatomy:
    """The anatomy of a model.

    Attributes:
        parts: Parameters.
        attention: Groups of identical layers; their ``layers`` add up to all layers.
        layers: Transformer blocks.
        hidden: Width of the residual stream.
        heads: Query heads.
        intermediate: Feed-forward width of dense layers; 0 if every layer has experts.
        vocabulary: Rows of the embedding.
        experts: Routed experts of a layer; 0 for dense models.
        experts_per_token: Routed experts that are active per token.
        moe_layers: Layers with experts.
        expert_intermediate: Feed-forward width of a routed expert.
        shared_intermediate: Total feed-forward width of a layer's shared experts.
        gated: Whether the feed-forward has a gate (three matrices) or not (two).
        predictor: Layers for multi-token prediction, besides ``layers``.
    """

    parts: Parts
    attention: tuple[Attention, ...]
    layers: int
    hidden: int
    heads: int
    intermediate: int
    vocabulary: int
    experts: int = 0
    experts_per_token: int = 0
    moe_layers: int = 0
    expert_intermediate: int = 0
    shared_intermediate: int = 0
    gated: bool = True
    predictor: Predictor | None = None

    @property
    def active(self) -> int:
        """Parameters that are active per token: all but the routed experts that it is not sent to, and the embeddings
        of each layer.
        """
        used = self.parts.total - self.parts.layer_embedding
        if not self.experts:
            return used
        idle = self.experts - self.experts_per_token
        return used - self.parts.experts * idle // self.experts

    @property
    def kv_heads(self) -> int:
        """Heads of keys and values in the layers that have the most."""
        return max((attention.kv_heads for attention in self.attention), default=0)
