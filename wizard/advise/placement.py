"""Where the layers of a GGUF file are: on GPUs, each with its KV cache, or in host memory; and the bytes there. Pure.

llama.cpp puts the output and the last ``n_gpu_layers`` - 1 repeating layers on GPUs; with routed experts, all layers go
there before the experts of the first layers do (``--n-cpu-moe``), because a token reads only a few experts. Several
GPUs get consecutive layers in the ratio of ``tensor_split``, the last one with the output (``split_mode`` ``layer``).
A GPU also computes long prompts for layers on the CPU, whose weights the first one copies one tensor at a time
(``ggml_backend_sched``, ``op_offload``). Source: ``llama_model_base::load_tensors`` of llama.cpp in xllamacpp
2026.10.11549.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from wizard.advise import cpu
from wizard.advise.advice import Memory, Share
from wizard.catalog.cpu_facts import OnCpu
from wizard.model.facts import ModelFacts
from wizard.model.gguf_layers import Layers

COPIES = 4
"""Copies of the inputs that the scheduler keeps for several GPUs with all layers (``GGML_SCHED_MAX_COPIES``)."""
STEPS = 64
"""Parts of the GPUs' room that are tried in turn, so that all are filled alike."""


@dataclass(frozen=True, slots=True)
class Placement:
    """A split of a model between GPUs and host, and its bytes of weights.

    Attributes:
        gpu_layers: As in `Offload`.
        layers: As in `Offload`.
        expert_layers: As in `Offload`.
        by_layer: Weights of each layer on a GPU, the output last.
        host_bytes: Weights on the host.
        copied_bytes: The largest tensor of a layer on the host.
    """

    gpu_layers: int
    layers: int
    expert_layers: int
    by_layer: tuple[int, ...]
    host_bytes: int
    copied_bytes: int

    @property
    def gpu_bytes(self) -> int:
        """Weights on all GPUs."""
        return sum(self.by_layer)


@lru_cache(maxsize=16)
def placements(layers: Layers) -> tuple[Placement, ...]:
    """All placements, the one with the most on GPUs first."""
    count = len(layers.repeating)
    with_experts = [number for number, layer in enumerate(layers.repeating, 1) if layer.experts]
    kept = with_experts[-1] if with_experts else 0
    splits = [(count + 1, 0), *((count + 1, number) for number in with_experts)]
    splits += [(on_gpu, kept) for on_gpu in range(count, 1, -1)]
    return tuple(Placement(on_gpu, count + 1, kept, *_weights(layers, on_gpu, kept)) for on_gpu, kept in splits)


def _weights(layers: Layers, on_gpu: int, kept: int) -> tuple[tuple[int, ...], int, int]:
    """Bytes of weights of each layer on a GPU, of all on the host, and of the largest tensor of a layer there."""
    first = len(layers.repeating) + 1 - on_gpu
    by_layer, rest, largest = [], layers.input, 0
    for number, layer in enumerate(layers.repeating):
        dense = number >= first
        experts = dense and number >= kept
        if dense:
            by_layer.append(layer.dense + layer.experts * experts)
        rest += layer.dense * (not dense) + layer.experts * (not experts)
        largest = max(largest, layer.largest_dense * (not dense), layer.largest_expert * (not experts))
    return (*by_layer, layers.output), rest, largest


@dataclass(frozen=True, slots=True)
class Load:
    """What is served, and by which engine.

    Attributes:
        facts: The model.
        engine: The engine's constants.
        users: Concurrent requests.
        context: Tokens of each.
    """

    facts: ModelFacts
    engine: OnCpu
    users: int
    context: int

    @property
    def tokens(self) -> int:
        """Tokens in the KV cache."""
        return self.users * self.context

    def cache(self, layers: int, whole: int) -> int:
        """Bytes of KV cache per token of ``layers`` of the ``whole`` repeating ones.

        Raises:
            ValueError: It is unknown.
        """
        per_token = cpu.kv_bytes_per_token(self.facts, self.engine.cache)
        if per_token is None:
            raise ValueError("checked before")
        return -(-per_token * layers // whole)

    @property
    def activations(self) -> int:
        """Bytes of llama.cpp's buffers on each device."""
        return cpu.activation_bytes(self.facts, self.engine, users=self.users, context=self.context)


def on_gpus(
    load: Load, placement: Placement, counts: Sequence[int], contexts: Sequence[int], budgets: Sequence[int]
) -> tuple[Share, ...]:
    """The GPUs' shares of ``placement`` if they get ``counts`` layers, the output included.

    Args:
        load: What is served.
        placement: The layers.
        counts: Layers of each GPU, in llama.cpp's order.
        contexts: Bytes that each holds besides the engine's buffers.
        budgets: Bytes that each may use.
    """
    shares, at = [], 0
    for number, (count, context, budget) in enumerate(zip(counts, contexts, budgets, strict=True)):
        weights = sum(placement.by_layer[at : at + count])
        at += count
        repeating = count - (number == len(counts) - 1)  # the last one has the output
        parts = weights, load.cache(repeating, placement.layers - 1), load.tokens
        buffers = _buffers(load, placement, first=number == 0, several=len(counts) > 1)
        shares.append(Share(count, _summed((*parts, buffers, context), budget)))
    return tuple(shares)


def on_host(load: Load, placement: Placement, server_bytes: int, budget: int) -> Memory:
    """The host's memory breakdown.

    Args:
        load: What is served.
        placement: The layers.
        server_bytes: Memory of the server without a model.
        budget: Bytes that may be used.
    """
    whole = placement.layers - 1
    cache = load.cache(whole, whole) - load.cache(placement.gpu_layers - 1, whole)
    server = server_bytes + load.engine.tokenizer_bytes * (load.facts.vocabulary or 0)
    return _summed((placement.host_bytes, cache, load.tokens, load.activations, server), budget)


def dealt(load: Load, placement: Placement, contexts: Sequence[int], budgets: Sequence[int]) -> tuple[int, ...] | None:
    """Layers for each GPU, in order and so that all are filled alike; None if they do not fit, or one would get none.

    The arguments are those of `on_gpus`.
    """
    several = len(budgets) > 1
    rooms = [
        budget - context - _buffers(load, placement, first=number == 0, several=several)
        for number, (context, budget) in enumerate(zip(contexts, budgets, strict=True))
    ]
    each = load.cache(1, placement.layers - 1) * load.tokens
    sizes = [weights + each for weights in placement.by_layer[:-1]] + [placement.by_layer[-1]]
    if sum(sizes) > sum(rooms):
        return None
    steps = range(1, STEPS + 1) if several else (STEPS,)
    return next(filter(None, (_filled(sizes, [room * step // STEPS for room in rooms]) for step in steps)), None)


def _filled(sizes: Sequence[int], rooms: Sequence[int]) -> tuple[int, ...] | None:
    """How many of ``sizes`` go into each of ``rooms`` if these are filled in turn; None if some are left."""
    counts, at = [], 0
    for room in rooms:
        begun, left = at, room
        while at < len(sizes) and sizes[at] <= left:
            left -= sizes[at]
            at += 1
        counts.append(at - begun)
    return tuple(counts) if at == len(sizes) and all(counts) else None


def _buffers(load: Load, placement: Placement, *, first: bool, several: bool) -> int:
    """Bytes of a GPU's buffers: with all layers on several GPUs also further copies of what one passes to the next."""
    copied = placement.copied_bytes if first else 0
    if not several or placement.gpu_layers < placement.layers or placement.expert_layers:
        return load.activations + copied
    inputs = load.engine.piece_tokens * (4 * (load.facts.hidden_size or 0) + 2 * load.context)
    return load.activations + copied + (COPIES - 1) * inputs


def _summed(parts: tuple[int, int, int, int, int], budget: int) -> Memory:
    weight, per_token, tokens, activation, overhead = parts
    return Memory(*parts, weight + per_token * tokens + activation + overhead, budget)
