"""How much memory a choice takes. One code path for bytes and tokens; pure."""

from __future__ import annotations

from wizard.advise.advice import Memory
from wizard.model.facts import ModelFacts

KV_BYTES = {"f16": 2}
"""Bytes of one element of the KV cache by its dtype."""
UBATCH = 512
"""llama.cpp evaluates a prompt in pieces of this many tokens (``n_ubatch``, its default)."""
RESERVE = 0.10
"""Share of the free memory that is left to everybody else."""


def kv_bytes_per_token(facts: ModelFacts, dtype: str) -> int | None:
    """Bytes of KV cache for one token: 2 (key and value) × layers × kv heads × head dimension × bytes per element.

    None if the model does not say its shape. Source: the KV cache of grouped-query attention (Ainslie et al. 2023, §2).
    """
    if not (facts.layers and facts.kv_heads and facts.head_dim):
        return None
    return 2 * facts.layers * facts.kv_heads * facts.head_dim * KV_BYTES[dtype]


def activation_bytes(facts: ModelFacts) -> int:
    """Compute buffer of llama.cpp for one piece of the prompt, in bytes.

    The largest tensors live at once are float32: the logits of a piece (`UBATCH` × vocabulary) and the two halves of
    the gated feed-forward (`UBATCH` × 2 × intermediate size) beside the residual stream (`UBATCH` × hidden size).
    """
    row = (facts.vocabulary or 0) + 2 * (facts.intermediate_size or 0) + (facts.hidden_size or 0)
    return UBATCH * row * 4


def bill(facts: ModelFacts, *, tokens: int, kv_dtype: str, server_bytes: int, budget: int) -> Memory | None:
    """The memory bill on the host for ``tokens`` tokens of context in all; None if the model's shape is unknown.

    Args:
        facts: The model; its weights count as their files' size, which llama.cpp maps into memory.
        tokens: Tokens in the KV cache, all users together.
        kv_dtype: A key of `KV_BYTES`.
        server_bytes: Resident memory of the server without a model.
        budget: Bytes that may be used.
    """
    per_token = kv_bytes_per_token(facts, kv_dtype)
    if per_token is None or facts.weight_bytes is None:
        return None
    activations = activation_bytes(facts)
    total = facts.weight_bytes + per_token * tokens + activations + server_bytes
    return Memory(facts.weight_bytes, per_token, tokens, activations, server_bytes, total, budget)


def longest_context(facts: ModelFacts, *, users: int, kv_dtype: str, server_bytes: int, budget: int) -> int:
    """Tokens for each of ``users`` that fit into ``budget``, rounded down to 256 (0 if not even that fits)."""
    empty = bill(facts, tokens=0, kv_dtype=kv_dtype, server_bytes=server_bytes, budget=budget)
    if empty is None or empty.kv_bytes_per_token == 0:
        return 0
    free = budget - empty.total_bytes
    return max(0, free // (empty.kv_bytes_per_token * users) // 256 * 256)
