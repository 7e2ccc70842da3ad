"""Parameters, and memory per sequence, of the part of a layer that mixes tokens: attention or a recurrent state. Pure.

Module shapes: ``models/FAMILY/modeling_FAMILY.py`` of ``transformers`` 5.23. Recurrent states: vLLM 0.31,
``model_executor/layers/mamba/mamba_utils.py``, which keeps one column less of the convolution than its kernel has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wizard.model.anatomy import STATE_BYTES, State
from wizard.model.family import Family, has
from wizard.model.untrusted import label, whole

_DIM = 10_000_000
_STATED = ("mamba_ssm_dtype", "mamba_ssm_cache_dtype")
"""Fields that state the type of a recurrent state; which of them an engine reads is in ``profiles/stacks``."""


@dataclass(frozen=True, slots=True)
class Mixer:
    """One layer's mixer. Parameters, as in `wizard.model.anatomy.Parts`; ``small`` are its biases, norms and sinks."""

    attention: int = 0
    key_value: int = 0
    latent: int = 0
    small: int = 0
    state: State | None = None
    """What it keeps of a sequence besides the KV cache."""


def attention(family: Family, n: Mapping[str, Any], config: Mapping[str, Any]) -> Mixer:
    """Grouped-query attention with heads of ``n``'s sizes."""
    hidden, queries, keys = n["hidden_size"], n["heads"] * n["head_dim"], n["kv_heads"] * n["head_dim"]
    values, out = n["kv_heads"] * value_dim(n), n["heads"] * value_dim(n)
    small = n["heads"] if family.sinks is True or (family.sinks == "sliding" and n.get("slides")) else 0
    if has(family.qkv_bias, config):
        small += queries + (0 if n.get("shared") else keys + values)
    if has(family.out_bias, config):
        small += hidden
    if has(family.qk_norm, config):
        normed = queries + keys if family.wide_qk_norm else n["head_dim"] * (1 if n.get("shared") else 2)
        small += normed * (2 if family.qk_norm_bias else 1)
    gate = {"none": 0, "wide": queries, "heads": n["heads"]}[family.output_gate]
    values = 0 if n.get("keys_are_values") else values
    if n.get("shared"):  # with the keys and values of an earlier layer
        keys = values = 0
    return Mixer(hidden * (queries + out + gate), hidden * (keys + values), small=small)


def together(first: Mixer, second: Mixer) -> Mixer:
    """Both mixers of a layer."""
    sums = {
        name: getattr(first, name) + getattr(second, name) for name in ("attention", "key_value", "latent", "small")
    }
    return Mixer(**sums, state=first.state or second.state)


def value_dim(n: Mapping[str, Any]) -> int:
    """Width of a value head: that of a key head, unless stated."""
    return int(n.get("value_dim") or n["head_dim"])


def latent_attention(family: Family, n: Mapping[str, Any], config: Mapping[str, Any], where: str) -> Mixer | None:
    """DeepSeek's multi-head latent attention; None if a size is missing.

    Raises:
        ModelError: TW-M05 if a size is invalid.
    """
    sizes = _sizes(config, where, "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", low=0)
    if sizes is None:
        return None
    rank, nope, rope, value = sizes
    query_rank = whole(config, "q_lora_rank", _DIM, where, low=0)
    hidden, queries = n["hidden_size"], n["heads"] * (nope + rope)
    up = rank * n["heads"] * (nope + value) + n["heads"] * value * hidden
    down, small = hidden * (rank + rope), rank  # the rank's norm
    biased = has(family.qkv_bias, config)
    small += rank + rope + hidden if biased else 0
    if query_rank:
        up += query_rank * queries
        down += hidden * query_rank
        small += query_rank + (query_rank if biased else 0)
    else:
        up += hidden * queries
    if config.get("mla_use_output_gate"):  # Kimi K3
        up += hidden * n["heads"] * value
    return Mixer(up, latent=down, small=small)


def indexer(family: Family, n: Mapping[str, Any], config: Mapping[str, Any], where: str) -> Mixer | None:
    """An indexer, which selects the tokens that a query reads; vLLM keeps it whole on every rank. None if a size is
    missing.

    Raises:
        ModelError: TW-M05 if a size is invalid.
    """
    if family.indexer == "minimax":
        sparse = _sizes(config, where, "sparse_num_index_heads", "sparse_index_dim")
        if sparse is None:
            return None
        return Mixer(latent=n["hidden_size"] * (sparse[0] + 1) * sparse[1], small=2 * sparse[1])
    sizes = _sizes(config, where, "index_n_heads", "index_head_dim", "q_lora_rank")
    if sizes is None:
        return None
    heads, width, query_rank = sizes
    return Mixer(latent=query_rank * heads * width + n["hidden_size"] * (width + heads), small=2 * width)


def recurrent(n: Mapping[str, Any], config: Mapping[str, Any], where: str) -> Mixer | None:
    """The layer with a recurrent state that the config describes; None if it describes none that the wizard knows.

    Raises:
        ModelError: TW-M05 if a size is invalid.
    """
    known = (_gated_delta_net, _delta_attention, _mamba2, _mamba, _convolution)
    return next((mixer for each in known if (mixer := each(n, config, where)) is not None), None)


def _gated_delta_net(n: Mapping[str, Any], config: Mapping[str, Any], where: str) -> Mixer | None:
    """The linear attention of Qwen3-Next and Qwen3.5 (``GatedDeltaNet``); None if a size is missing."""
    names = ("num_key_heads", "key_head_dim", "num_value_heads", "value_head_dim", "conv_kernel_dim")
    sizes = _sizes(config, where, *(f"linear_{name}" for name in names))
    if sizes is None:
        return None
    key_heads, key_dim, value_heads, value_dim, kernel = sizes
    hidden, values = n["hidden_size"], value_heads * value_dim
    channels = 2 * key_heads * key_dim + values
    projections = hidden * (channels + values + 2 * value_heads) + values * hidden
    return Mixer(
        projections,
        small=channels * kernel + value_dim + 2 * value_heads,
        state=_state("gated_delta", value_heads * value_dim * key_dim, (kernel - 1) * channels, config),
    )


def _mamba2(n: Mapping[str, Any], config: Mapping[str, Any], where: str) -> Mixer | None:
    """Mamba-2 as in Nemotron-H (``NemotronHMamba2Mixer``); None if a size is missing."""
    kind = "nemotron"
    sizes = _sizes(config, where, "mamba_num_heads", "mamba_head_dim", "n_groups", "ssm_state_size", "conv_kernel")
    if sizes is None:
        kind, sizes = "mamba2", _sizes(config, where, *(f"mamba_{name}" for name in _MAMBA2_OF_GRANITE))
    if sizes is None:
        return None
    heads, width, groups, state, kernel = sizes
    hidden, inner = n["hidden_size"], heads * width
    channels = inner + 2 * groups * state
    small = channels * kernel + 3 * heads  # convolution, and A, D and the step's bias
    small += inner if config.get("mamba_rms_norm") is not False else 0
    small += channels if _first(config, "use_conv_bias", "mamba_conv_bias") is not False else 0
    projected = inner + channels + heads
    small += projected + hidden if _first(config, "use_bias", "mamba_proj_bias") else 0
    return Mixer(
        hidden * (projected + inner),
        small=small,
        state=_state(kind, inner * state, (kernel - 1) * channels, config),
    )


_MAMBA2_OF_GRANITE = ("n_heads", "d_head", "n_groups", "d_state", "d_conv")


def _mamba(n: Mapping[str, Any], config: Mapping[str, Any], where: str) -> Mixer | None:
    """The first Mamba as in Jamba (``JambaMambaMixer``), with three norms; None if a size is missing."""
    sizes = _sizes(config, where, "mamba_expand", "mamba_d_state", "mamba_d_conv", "mamba_dt_rank")
    if sizes is None:
        return None
    expand, state, kernel, rank = sizes
    hidden = n["hidden_size"]
    inner = expand * hidden
    projections = hidden * 3 * inner + inner * (rank + 2 * state) + rank * inner
    small = inner * (kernel + state + 2) + rank + 2 * state  # convolution, A, D and the step's bias; norms
    small += inner if config.get("mamba_conv_bias", True) else 0
    small += 2 * inner + hidden if config.get("mamba_proj_bias") else 0
    return Mixer(projections, small=small, state=_state("mamba", inner * state, (kernel - 1) * inner, config))


def _convolution(n: Mapping[str, Any], config: Mapping[str, Any], where: str) -> Mixer | None:
    """LFM2's short convolution (``Lfm2ShortConv``); None if its size is missing."""
    kernel, hidden = whole(config, "conv_L_cache", 1000, where), n["hidden_size"]
    if kernel is None:
        return None
    small = hidden * kernel + (5 * hidden if config.get("conv_bias") else 0)
    return Mixer(4 * hidden * hidden, small=small, state=State("convolution", 0, (kernel - 1) * hidden))


def _delta_attention(n: Mapping[str, Any], config: Mapping[str, Any], where: str) -> Mixer | None:
    """Kimi's delta attention (``KimiLinearDeltaAttention``); None if a size is missing."""
    sizes = _sizes(config, where, *(f"linear_{name}" for name in ("num_heads", "head_dim", "conv_kernel_dim")))
    if sizes is None:
        return None
    heads, width, kernel = sizes
    hidden, inner = n["hidden_size"], heads * width
    low = hidden * width + width * inner
    full = bool(config.get("use_full_rank_gate"))
    projections = 4 * hidden * inner + low + hidden * heads + (hidden * inner if full else low)
    decays = width if full else heads  # Kimi K3's A_log has the width of a head
    return Mixer(
        projections,
        small=3 * inner * kernel + inner + width + decays,
        state=_state("delta", inner * width, (kernel - 1) * 3 * inner, config),
    )


def _first(config: Mapping[str, Any], *names: str) -> Any:
    """The first of these fields that has a value."""
    return next((config[name] for name in names if config.get(name) is not None), None)


def _sizes(config: Mapping[str, Any], where: str, *names: str, low: int = 1) -> list[int] | None:
    """These fields; None if one is missing."""
    values = [whole(config, name, _DIM, where, low=low) for name in names]
    return None if None in values else [value or 0 for value in values]


def _state(kind: str, elements: int, columns: int, config: Mapping[str, Any]) -> State:
    stated = ((name, label(config.get(name))) for name in _STATED)
    return State(kind, elements, columns, tuple((name, type_) for name, type_ in stated if type_ in STATE_BYTES))
