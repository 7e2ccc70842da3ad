"""Speed on the CPU: bytes read per token over the measured memory bandwidth, and the work of the cores. Pure.

A token reads every active weight and the KV cache once, multiplies it, and its threads meet after every operation of a
layer. With few users reading takes longest; with many, their tokens are multiplied like those of a prompt. Constants of
the engine: ``[cpu.speed]`` in ``profiles/stacks``, fitted by ``benchmarks/advice/cpu_speed.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from wizard.advise.advice import Speed
from wizard.advise.speed import Load
from wizard.catalog.cpu_facts import CpuSpeed
from wizard.model.facts import ModelFacts
from wizard.probe.cpu_rates import CpuRates

PROVIDER = "cpu-bandwidth"


@dataclass(frozen=True, slots=True)
class Work:
    """What a token needs.

    Attributes:
        dense_bytes: Bytes of weights that every token reads.
        expert_bytes: Bytes of all routed experts.
        share: Share of them that a token is sent to.
        weights: Active weights.
        prompt_weights: The same without the output projection, which only the last token of a prompt needs.
        cache_bytes: Bytes of KV cache per preceding token.
        layers: Layers.
    """

    dense_bytes: float
    expert_bytes: float
    share: float
    weights: float
    prompt_weights: float
    cache_bytes: float
    layers: int


def work(facts: ModelFacts, cache_bytes: int) -> Work | None:
    """The work of ``facts``; None if its tensors are unknown, or have names that the wizard does not know."""
    anatomy, stored = facts.anatomy, facts.stored
    if anatomy is None or stored is None or "speed" in facts.unknown:
        return None
    if any(group.state or group.index_bytes or group.tokens_per_row for group in anatomy.attention):
        return None  # no such model was measured
    # Of embeddings only one row is read; a tied one is the output projection too.
    unread_bytes, unread = (stored.embedding, anatomy.parts.embedding) if stored.head else (0, 0)
    unread_bytes += stored.layer_embedding
    share = anatomy.experts_per_token / anatomy.experts if anatomy.experts else 0.0
    active = anatomy.active - unread
    return Work(
        dense_bytes=stored.total - stored.experts - unread_bytes,
        expert_bytes=stored.experts,
        share=share,
        weights=active,
        prompt_weights=active - (anatomy.parts.head or anatomy.parts.embedding),
        cache_bytes=cache_bytes,
        layers=anatomy.layers,
    )


def token_seconds(todo: Work, engine: CpuSpeed, rates: CpuRates, *, users: int, context: float) -> float:
    """Seconds between two tokens of each of ``users`` with ``context`` preceding tokens."""
    experts = todo.expert_bytes * min(1.0, todo.share * users)
    reading = (todo.dense_bytes + experts + users * context * todo.cache_bytes) / rates.bandwidth
    single = reading + todo.weights / (engine.decode_weights * rates.computing)
    together = users * todo.weights / (engine.prefill_weights * rates.computing)  # a batch of tokens, as in a prompt
    return max(single, together) + todo.layers * engine.layer_us * 1e-6


def prompt_seconds(todo: Work, engine: CpuSpeed, rates: CpuRates, tokens: int) -> float:
    """Seconds to process a prompt of ``tokens``."""
    return tokens * todo.prompt_weights / (engine.prefill_weights * rates.computing)


def estimate(
    facts: ModelFacts, engine: CpuSpeed | None, rates: CpuRates | None, load: Load, cache_bytes: int
) -> Speed | None:
    """The speed under ``load``; None if the processor was not measured, or the model's work is unknown.

    The range is `CpuSpeed.spread`. The throughput counts the prompts of all users,
    which are processed one after another.
    """
    todo = work(facts, cache_bytes)
    if engine is None or rates is None or todo is None:
        return None
    users = load.users
    tpot = token_seconds(todo, engine, rates, users=users, context=load.isl + load.osl / 2)
    first = prompt_seconds(todo, engine, rates, load.isl)
    tpot_ms, ttft_ms, spread = tpot * 1e3, first * users * 1e3, 1 + engine.spread
    return Speed(
        tpot_ms=tpot_ms,
        throughput_tokens_per_s=users * load.osl / (users * first + (load.osl - 1) * tpot),
        ttft_ms=ttft_ms,
        low=tpot_ms / spread,
        high=tpot_ms * spread,
        provider=PROVIDER,
        confidence="rough",
        ttft_low_ms=ttft_ms / spread,
        ttft_high_ms=ttft_ms * spread,
        ttft_alone_ms=first * 1e3,
        ttft_last_ms=ttft_ms,
        served=users,
        users=load.users,
        isl=load.isl,
        osl=load.osl,
    )
