"""Gemma 3n's and Gemma 4's embeddings of each layer, AltUp, LAuReL, and caches that layers share. Pure.

Module shapes: ``models/gemma3n/modeling_gemma3n.py`` and ``models/gemma4/modeling_gemma4.py`` of ``transformers`` 5.23.
vLLM gives layers that reuse the keys and values of an earlier one no cache (``kv_sharing_target_layer_name``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wizard.kernel.language import tr
from wizard.model.untrusted import impossible, whole

_DIM = 10_000_000


@dataclass(frozen=True, slots=True)
class Inputs:
    """Parameters of a model: the embeddings of all layers, projections that every rank holds, norms and scales."""

    embedding: int = 0
    latent: int = 0
    small: int = 0


def inputs(n: Mapping[str, Any], config: Mapping[str, Any], where: str) -> Inputs:
    """The parameters beside attention and feed-forward.

    Raises:
        ModelError: TW-M05 if a size is invalid.
    """
    hidden, layers = n["hidden_size"], n["layers"]
    width = whole(config, "hidden_size_per_layer_input", _DIM, where, low=0) or 0
    rows = whole(config, "vocab_size_per_layer_input", 100_000_000, where) or n["vocabulary"]
    rank = whole(config, "laurel_rank", _DIM, where, low=0) or 0
    streams = whole(config, "altup_num_inputs", 1000, where, low=0) or 0
    latent = 3 * layers * hidden * width + 2 * layers * hidden * rank
    small = layers * hidden + width if width else 0
    small += layers * hidden if rank else 0
    if streams:
        latent += 2 * (streams - 1) * hidden * hidden + layers * (hidden * streams + streams**2 + streams**3)
        small += 2 * layers * hidden
    return Inputs(rows * layers * width, latent, small)


def sharing(layers: int, config: Mapping[str, Any], where: str) -> int:
    """How many of the last layers reuse the keys and values of earlier ones.

    Raises:
        ModelError: TW-M05 if it is all of them.
    """
    shared = whole(config, "num_kv_shared_layers", 10_000, where, low=0) or 0
    if shared and shared >= layers:
        text = tr("{number:,}; expected fewer than {name}, {of:,}", number=shared, name="num_hidden_layers", of=layers)
        raise impossible(where, "num_kv_shared_layers", text)
    return shared
