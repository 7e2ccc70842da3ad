"""The KV cache contents of each layer. Pure.

Sources: the ``layer_types`` that ``transformers`` 5.23 derives from a config (``configuration_FAMILY.py``), and vLLM's
and TensorRT-LLM's use of them: a sliding or chunked layer keeps its window, linear attention and Mamba keep a state
of fixed size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from wizard.kernel.language import tr
from wizard.model import compressed, mixers
from wizard.model.anatomy import Attention
from wizard.model.family import Family
from wizard.model.layer_inputs import sharing
from wizard.model.untrusted import impossible, per_layer, whole

_MAX_TOKENS = 1_000_000_000
_STATEFUL = ("linear_attention", "mamba", "conv", "recurrent", "linear")
_WINDOWED = ("sliding", "chunked", "local")
_INDEXED = ("indexed_attention", "deepseek_sparse_attention", "minimax_m3_sparse")
_COMPRESSED = ("compressed_sparse_attention", "heavily_compressed_attention")
_KNOWN = (*_STATEFUL, *_WINDOWED, "full", "attention", "global", "feed_forward", "mlp", "moe", *_INDEXED, *_COMPRESSED)
"""How the names of layers begin: transformers 5.23, ``ALLOWED_LAYER_TYPES`` in ``configuration_utils.py``."""
FULL, SLIDING, STATE, NOTHING = "full", "sliding", "state", "nothing"
"""What a layer has: attention to all tokens, attention in a window, a recurrent state, or a feed-forward alone."""
BLOCKS = {"attention": FULL, "mamba": STATE, "mlp": NOTHING, "moe": NOTHING}
BLOCKS |= {"full_attention": FULL, "linear_attention": STATE}
"""Names in Nemotron-H's ``layers_block_type``; those of ``transformers`` 5.23 in the second line."""
_HYBRID = {"*": "attention", "M": "mamba", "-": "mlp", "E": "moe"}
"""The same as letters, in ``hybrid_override_pattern`` of the first releases."""
_FP8_BLOCK = 128
"""The indexer's keys are stored in FP8, with a float32 scale for each block of this many (vLLM 0.31,
``DeepseekV32IndexerCache``)."""


def attention(family: Family, config: Mapping[str, Any], *, n: Mapping[str, Any], where: str) -> tuple[Attention, ...]:
    """Groups of layers with the same KV cache per token.

    Args:
        family: The model's family.
        config: Its config, completed.
        n: Its sizes: ``layers``, ``heads``, ``kv_heads``, ``head_dim``, ``max_context``.
        where: The config's name for error messages.

    Raises:
        ModelError: TW-M05 if a window is invalid.
    """
    if family.compressed and (shares := compressed.ratios(n["layers"], config, where)):
        return compressed.cache(shares, n, config, where)
    if family.latent:
        rank = whole(config, "kv_lora_rank", 1_000_000, where) or 0
        rope = whole(config, "qk_rope_head_dim", 100_000, where, low=0) or 0
        row = Attention(n["layers"], 1, rank + rope, rank, latent=rank + rope)
        with_state = kinds(family, n["layers"], config, where).count(STATE)
        if with_state:
            state = mixers.recurrent(n, config, where)
            both = (replace(row, layers=n["layers"] - with_state), _states(with_state, state))
            return tuple(group for group in both if group.layers)
        with_index = sum(indexed(family, n["layers"], config, where))
        if not with_index:
            return (row,)
        width = whole(config, "index_head_dim", 100_000, where) or 0
        index = replace(row, layers=with_index, index_bytes=width + -(-width // _FP8_BLOCK) * 4)
        return tuple(group for group in (index, replace(row, layers=n["layers"] - with_index)) if group.layers)
    window = _window(family, config, where)
    if window is not None and n.get("max_context") is not None and window >= n["max_context"]:
        window = None  # no text is long enough for the window to slide
    each = kinds(family, n["layers"], config, where)
    shared = sharing(n["layers"], config, where) if family.layer_inputs else 0
    counts, last = Counter(each[: n["layers"] - shared]), Counter(each[n["layers"] - shared :])
    full, sliding = (_group(counts[kind], of_kind(kind, family, n, config, where)) for kind in (FULL, SLIDING))
    sliding = replace(sliding, window=window)
    if replace(sliding, layers=full.layers) == full:
        full, sliding = replace(full, layers=full.layers + sliding.layers), replace(sliding, layers=0)
    flags = indexed(family, n["layers"], config, where)
    with_index = min(counts[FULL], sum(flags))  # those that slide as well have none
    width = whole(config, "sparse_index_dim", 100_000, where) or 0
    if family.both:
        full = replace(full, state=_states(0, mixers.recurrent(n, config, where)).state)
    groups = [
        replace(full, layers=full.layers - with_index),
        replace(full, layers=with_index, index_bytes=2 * width),  # MiniMax M3's are not quantized
        sliding,
    ]
    groups.append(_states(counts[STATE], mixers.recurrent(n, config, where) if counts[STATE] else None))
    groups.append(Attention(counts[NOTHING], 0, 0, 0))
    reused: Counter[Attention] = Counter()
    for kind, count in last.items():
        reused[replace(_group(0, of_kind(kind, family, n, config, where)), kv_heads=0)] += count
    groups += [replace(group, layers=count) for group, count in reused.items()]
    return tuple(group for group in groups if group.layers)


def _states(layers: int, mixer: mixers.Mixer | None) -> Attention:
    return Attention(layers, 0, 0, 0, state=mixer.state if mixer else None)


def _group(layers: int, n: Mapping[str, Any]) -> Attention:
    return Attention(layers, n["kv_heads"], n["head_dim"], mixers.value_dim(n))


def of_kind(kind: str, family: Family, n: Mapping[str, Any], config: Mapping[str, Any], where: str) -> dict[str, Any]:
    """``n`` with the sizes of the heads of such layers: in Gemma 4 and MiMo V2 they differ.

    Raises:
        ModelError: TW-M05 if a size is invalid.
    """
    sizes = dict(n)
    if family.other_heads == "mimo":
        prefix = "swa_" if kind == SLIDING else ""
        for field, name in (
            ("heads", "num_attention_heads"),
            ("kv_heads", "num_key_value_heads"),
            ("head_dim", "head_dim"),
        ):
            sizes[field] = whole(config, prefix + name, 100_000, where) or n[field]
        sizes["value_dim"] = whole(config, f"{prefix}v_head_dim", 100_000, where)
        sizes["slides"] = kind == SLIDING
    if kind == FULL and family.other_heads == "gemma4":
        sizes["head_dim"] = whole(config, "global_head_dim", 100_000, where) or n["head_dim"]
        if config.get("attention_k_eq_v"):
            sizes["kv_heads"] = whole(config, "num_global_key_value_heads", 100_000, where) or n["kv_heads"]
            sizes["keys_are_values"] = True
    return sizes


def indexed(family: Family, layers: int, config: Mapping[str, Any], where: str) -> list[bool]:
    """Whether each layer has an indexer; GLM-5.2's others use that of a layer before them.

    Raises:
        ModelError: TW-M05 if it is not stated for every layer.
    """
    if family.indexer == "none":
        return [False] * layers
    if family.indexer == "minimax":
        flags = per_layer(config, "sparse_attention_freq", layers, where)
        return [bool(each) for each in flags] if flags else [False] * layers
    named = per_layer(config, "indexer_types", layers, where)
    return [each != "shared" for each in named] if named else [True] * layers


def _window(family: Family, config: Mapping[str, Any], where: str) -> int | None:
    """Tokens that a sliding or chunked layer keeps; None if no layer slides."""
    name = "attention_chunk_size" if family.window == "llama4" else "sliding_window"
    if family.window.startswith("qwen") and not config.get("use_sliding_window"):
        return None
    return whole(config, name, _MAX_TOKENS, where, low=0) or None


def kinds(family: Family, layers: int, config: Mapping[str, Any], where: str) -> list[str]:
    """`FULL`, `SLIDING`, `STATE` or `NOTHING` for each layer.

    Raises:
        ModelError: TW-M05 if a number is invalid.
    """
    if named := _names(config, "layer_types", layers, where):
        return [_kind(each) for each in named]
    if named := blocks(family, layers, config, where):
        return [BLOCKS.get(each, FULL) for each in named]
    if interval := whole(config, "full_attention_interval", 10_000, where):  # Qwen3-Next and Qwen3.5
        return [STATE if (layer + 1) % interval else FULL for layer in range(layers)]
    return [SLIDING if slides else FULL for slides in _sliding(family, layers, config, where)]


def blocks(family: Family, layers: int, config: Mapping[str, Any], where: str) -> Sequence[str] | None:
    """What each layer of a hybrid model is, in the words of ``layers_block_type``; None if the config does not say.

    Raises:
        ModelError: TW-M05 if it does not say it of every layer.
    """
    field, named = "layers_block_type", _names(config, "layers_block_type", layers, where)
    if named is None and (pattern := config.get("hybrid_override_pattern")):
        field = "hybrid_override_pattern"
        letters = list(pattern) if isinstance(pattern, str) else pattern
        named = [_HYBRID.get(each, each) for each in _names({field: letters}, field, layers, where) or ()]
    if family.separate and named and (strange := next((each for each in named if each not in BLOCKS), None)):
        raise impossible(where, field, tr("a list with {item}, which is not a layer type", item=repr(strange[:20])))
    return named


def _names(config: Mapping[str, Any], field: str, layers: int, where: str) -> Sequence[str] | None:
    """The names of the layers in ``field``."""
    named = per_layer(config, field, layers, where)
    if named and not all(isinstance(each, str) for each in named):
        raise impossible(where, field, tr("a list with items that are not names"))
    return named


def unknown_kind(config: Mapping[str, Any]) -> str | None:
    """The first name in ``layer_types`` that the wizard does not know, so that the layer counts as full attention."""
    named = config.get("layer_types")
    names = named if isinstance(named, (list, tuple)) else ()
    return next((each for each in names if isinstance(each, str) and not each.startswith(_KNOWN)), None)


def _kind(name: str) -> str:
    if name.startswith(_STATEFUL):
        return STATE
    if name == "feed_forward":
        return NOTHING
    return SLIDING if name.startswith(_WINDOWED) else FULL


def _sliding(family: Family, layers: int, config: Mapping[str, Any], where: str) -> list[bool]:
    """Whether each layer slides, for configs without ``layer_types``."""

    def number(name: str, default: int, low: int = 1) -> int:
        value = whole(config, name, 10_000, where, low=low)
        return default if value is None else value

    if family.window == "mimo":  # 1 for layers with a window
        pattern = per_layer(config, "hybrid_layer_pattern", layers, where)
        return [bool(each) for each in pattern] if pattern else [False] * layers
    if family.window == "llama4" and (listed := per_layer(config, "no_rope_layers", layers, where)):
        return [bool(each) for each in listed]  # 1 for layers *with* rotary positions, which are the chunked ones
    if family.window == "pattern" and isinstance(letters := config.get("sliding_window_pattern"), str) and letters:
        return [letters[layer % len(letters)] == "L" for layer in range(layers)]  # EXAONE 4: local and global layers
    if family.window in ("pattern", "llama4"):
        step = (
            number("sliding_window_pattern", 6) if family.window == "pattern" else number("no_rope_layer_interval", 4)
        )
        return [(layer + 1) % step != 0 for layer in range(layers)]
    first = number("max_window_layers", layers, low=0)
    slides: dict[str, Callable[[int], bool]] = {
        "none": lambda _: False,
        "all": lambda _: True,
        "alternate": lambda layer: layer % 2 == 0,
        "qwen": lambda layer: layer >= first,
        "qwen2_moe": lambda layer: layer % 2 == 0 and layer < first,
    }
    return [slides[family.window](layer) for layer in range(layers)]
