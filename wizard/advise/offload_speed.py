"""Speed of a single user with layers on GPUs: each part reads its weights from its own memory, one after the other.

Constants: ``[cpu.offload.speed]`` in ``profiles/stacks``, fitted to public measurements by
``benchmarks/advice/offload_speed.py``. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from wizard.advise import cpu_speed
from wizard.advise.advice import Constraints, Speed
from wizard.advise.devices import Device, Rates
from wizard.advise.reasons import Reason, because
from wizard.advise.speed import Load
from wizard.catalog.cpu_facts import OffloadSpeed, OnCpu
from wizard.model.facts import ModelFacts
from wizard.probe.cpu_rates import CpuRates

PROVIDER = "gpu-bandwidth"
USERS = 1
"""Concurrent users that the estimate is for."""


def gpu_seconds(read_bytes: float, layers: float, bandwidth: float, engine: OffloadSpeed) -> float:
    """Seconds per token of ``layers`` that read ``read_bytes`` of GPU memory, of whose bandwidth the engine reaches
    ``bandwidth`` bytes per second.
    """
    return read_bytes / bandwidth + layers * engine.layer_us * 1e-6


def _reached(rates: Rates, engine: OffloadSpeed) -> float:
    """Bytes per second of the GPU's memory that the engine reaches: of HBM a smaller share."""
    return rates.bandwidth * (engine.hbm_share if rates.memory == "hbm" else engine.share)


def estimate(
    facts: ModelFacts,
    engine: OnCpu,
    placed: Sequence[tuple[Device, int]],
    rates: CpuRates | None,
    constraints: Constraints,
    load: Load,
    *,
    cache_bytes: int,
) -> Speed | Reason | str:
    """The speed of one user with the last layers of the model on GPUs, or why it is unknown.

    Only single users and dense models on one GPU were measured in public, and prompts were not. What a GPU passes to
    the next is a few kilobytes per token, and not counted.

    Args:
        facts: The model.
        engine: The engine's constants.
        placed: The GPUs, each with its repeating layers.
        rates: The processor's rates; None if they were not measured.
        constraints: The user's options.
        load: Prompt and answer.
        cache_bytes: Bytes of KV cache per token in all layers.
    """
    todo = cpu_speed.work(facts, cache_bytes)
    if todo is None or engine.offload is None or engine.offload.speed is None:
        counted = facts.anatomy is not None and facts.stored is not None
        return facts.unknown.get("speed") or because("offload-attention" if counted else "layers-unknown")
    if todo.expert_bytes:
        return because("offload-experts")
    if (constraints.users or USERS) > USERS:
        return because("offload-users")
    if silent := next((device for device, _ in placed if device.rates is None), None):
        return because("rates-unknown", gpu=silent.name)
    share = sum(layers for _, layers in placed) / todo.layers
    context = load.isl + load.osl / 2
    reads = todo.dense_bytes + context * cache_bytes
    known = engine.offload.speed
    seconds = sum(
        gpu_seconds(layers / todo.layers * reads, layers, _reached(device.rates, known), known)
        for device, layers in placed
        if device.rates
    )
    spread = known.spread
    if share < 1:
        if engine.speed is None or rates is None:
            return because("offload-cpu-unmeasured")
        seconds += (1 - share) * cpu_speed.token_seconds(todo, engine.speed, rates, users=1, context=context)
        spread = max(spread, engine.speed.spread)
    tpot_ms = seconds * 1e3
    return Speed(
        tpot_ms=tpot_ms,
        throughput_tokens_per_s=None,
        ttft_ms=None,
        low=tpot_ms / (1 + spread),
        high=tpot_ms * (1 + spread),
        provider=PROVIDER,
        confidence="rough",
        served=USERS,
        users=USERS,
        isl=load.isl,
        osl=load.osl,
    )
