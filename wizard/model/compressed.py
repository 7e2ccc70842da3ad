"""The attention of DeepSeek V4, which compresses keys and values of several tokens into one row. Pure.

Module shapes: ``models/deepseek_v4/modeling_deepseek_v4.py`` of ``transformers`` 5.23. Cache: vLLM 0.33,
``models/deepseek_v4/attention.py`` and ``compressor.py``, which keep the last tokens of each layer, the compressed
rows, the indexer's keys for these, and the float32 inputs of the rows that are not complete yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from wizard.model.anatomy import Attention
from wizard.model.mixers import Mixer
from wizard.model.untrusted import impossible, label, per_layer, whole

_RATIOS = {"sliding_attention": 0, "compressed_sparse_attention": 4, "heavily_compressed_attention": 128}
_OVERLAPPING = 4
"""The ratio at which rows overlap, have two halves, and are selected by an indexer."""
_DIM = 10_000_000
_INDEX_BLOCK = 128
"""The indexer's keys are stored in FP8 with a float32 scale for each block of this many."""


def ratios(layers: int, config: Mapping[str, Any], where: str) -> list[int] | None:
    """How many tokens share a row in each layer, 0 for layers with a window alone; None if the config does not say.

    Raises:
        ModelError: TW-M05 if a ratio is not one that the library has.
    """
    named = per_layer(config, "layer_types", layers, where)
    listed = per_layer(config, "compress_ratios", layers, where)
    if named:
        listed = [_RATIOS.get(label(each) or "", each) for each in named]
    field = "layer_types" if named else "compress_ratios"
    if listed and (strange := next((each for each in listed if each not in _RATIOS.values()), None)) is not None:
        raise impossible(where, field, repr(strange)[:40])
    return [int(each) for each in listed] if listed else None


def mixer(ratio: int, n: Mapping[str, Any], config: Mapping[str, Any], where: str) -> Mixer | None:
    """Attention of a layer, with the mixing of its residual streams; None if a size is missing.

    Raises:
        ModelError: TW-M05 if a size is invalid.
    """
    names = ("q_lora_rank", "o_lora_rank", "hc_mult", "o_groups", "index_n_heads", "index_head_dim")
    sizes = [whole(config, name, _DIM, where) for name in names]
    if any(size is None for size in sizes):
        return None
    rank, out_rank, streams, groups, index_heads, index_width = (size or 0 for size in sizes)
    hidden, heads, width = n["hidden_size"], n["heads"], n["head_dim"]
    up = rank * heads * width + out_rank * heads * width + hidden * groups * out_rank
    down = hidden * (rank + width)
    small = rank + width + heads  # norms and sinks
    mixed = (2 + streams) * streams
    small += 2 * (mixed * streams * hidden + mixed + 3)
    if ratio:
        halves = 2 if ratio == _OVERLAPPING else 1
        down += 2 * hidden * halves * width
        small += ratio * halves * width + width
    if ratio == _OVERLAPPING:
        down += rank * index_heads * index_width + hidden * (4 * index_width + index_heads)
        small += ratio * 2 * index_width + index_width
    return Mixer(up, latent=down, small=small)


def outside(n: Mapping[str, Any], config: Mapping[str, Any], where: str) -> int:
    """Parameters of the head's residual streams, and of the first layers' experts by token."""
    streams = whole(config, "hc_mult", 1000, where) or 0
    hashed = whole(config, "num_hash_layers", 10_000, where, low=0)
    if named := per_layer(config, "mlp_layer_types", n["layers"], where):
        hashed = sum(each == "hash_moe" for each in named)
    tables = min(3 if hashed is None else hashed, int(n["layers"]))
    head = streams * (streams * int(n["hidden_size"]) + 1) + (1 if streams else 0)
    experts, per_token = n.get("experts") or 0, n.get("experts_per_token") or 0
    return head + tables * (int(n["vocabulary"]) * per_token - experts)  # layers with a table have no bias


def cache(layers: list[int], n: Mapping[str, Any], config: Mapping[str, Any], where: str) -> tuple[Attention, ...]:
    """Groups of layers with the same cache."""
    width, window = n["head_dim"], whole(config, "sliding_window", 1_000_000_000, where)
    index = whole(config, "index_head_dim", _DIM, where) or 0
    index_bytes = index + -(-index // _INDEX_BLOCK) * 4
    groups = []
    for ratio, count in sorted(Counter(layers).items()):
        halves = 2 if ratio == _OVERLAPPING else 1
        pending = halves * ratio * 2 * halves * 4  # tokens × (values and scores) × halves × bytes
        states = pending * (width + (index if ratio == _OVERLAPPING else 0))
        groups.append(
            Attention(
                count,
                1,
                width,
                width,
                window=window,
                latent=width,
                index_bytes=index_bytes if ratio == _OVERLAPPING else 0,
                tokens_per_row=ratio,
                pending_bytes=states,
            )
        )
    return tuple(groups)
