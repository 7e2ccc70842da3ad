"""The KV cache contents of each layer. Pure.

Sources: the ``layer_types`` that ``transformers`` 5.23 derives from a config (``configuration_FAMILY.py``), and vLLM's
and TensorRT-LLM's use of them: a sliding or chunked layer keeps its window, linear attention and Mamba keep a state
of fixed size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from wizard.model.anatomy import Attention
from wizard.model.families import Family
from wizard.model.untrusted import whole

_MAX_TOKENS = 1_000_000_000
_STATEFUL = ("linear_attention", "mamba", "conv", "recurrent", "linear")
_FULL, _SLIDING, _NOTHING = "full", "sliding", "nothing"


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
    if family.latent:
        rank = whole(config, "kv_lora_rank", 1_000_000, where) or 0
        rope = whole(config, "qk_rope_head_dim", 100_000, where, low=0) or 0
        return (Attention(n["layers"], 1, rank + rope, rank, latent=rank + rope),)
    window = _window(family, config, where)
    if window is not None and n.get("max_context") is not None and window >= n["max_context"]:
        window = None  # no text is long enough for the window to slide
    kinds = Counter(_kinds(family, n["layers"], config, where))
    sliding = kinds[_SLIDING] if window else 0
    groups = (
        Attention(n["layers"] - sliding - kinds[_NOTHING], n["kv_heads"], n["head_dim"], n["head_dim"]),
        Attention(sliding, n["kv_heads"], n["head_dim"], n["head_dim"], window=window),
        Attention(kinds[_NOTHING], 0, 0, 0),
    )
    return tuple(group for group in groups if group.layers)


def _window(family: Family, config: Mapping[str, Any], where: str) -> int | None:
    """Tokens that a sliding or chunked layer keeps; None if no layer slides."""
    name = "attention_chunk_size" if family.window == "llama4" else "sliding_window"
    if family.window.startswith("qwen") and not config.get("use_sliding_window"):
        return None
    return whole(config, name, _MAX_TOKENS, where, low=0) or None


def _kinds(family: Family, layers: int, config: Mapping[str, Any], where: str) -> list[str]:
    """``full``, ``sliding`` or ``nothing`` for each layer."""
    named = config.get("layer_types")
    if isinstance(named, (list, tuple)) and named:
        kinds = [_kind(each) for each in named[:layers]]
        return kinds + [_FULL] * (layers - len(kinds))
    hybrid = config.get("hybrid_override_pattern")  # Nemotron-H: * attention, M Mamba, - and E feed-forward alone
    if isinstance(hybrid, str) and len(hybrid) == layers:
        return [_FULL if each == "*" else _NOTHING for each in hybrid]
    return [_SLIDING if slides else _FULL for slides in _sliding(family, layers, config, where)]


def _kind(name: object) -> str:
    if not isinstance(name, str):
        return _FULL
    if name.startswith(_STATEFUL):
        return _NOTHING
    return _SLIDING if name.startswith(("sliding", "chunked", "local")) else _FULL


def _sliding(family: Family, layers: int, config: Mapping[str, Any], where: str) -> list[bool]:
    """Whether each layer slides, for configs without ``layer_types``."""

    def number(name: str, default: int, low: int = 1) -> int:
        value = whole(config, name, 10_000, where, low=low)
        return default if value is None else value

    listed = config.get("no_rope_layers")  # 1 for layers *with* rotary positions, which are the chunked ones
    if family.window == "llama4" and isinstance(listed, (list, tuple)) and len(listed) == layers:
        return [bool(each) for each in listed]
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
