"""Speed of a single user with layers on a GPU: each part reads its weights from its own memory, one after the other.

Constants: ``[cpu.offload.speed]`` in ``profiles/stacks``, fitted to public measurements by
``benchmarks/advice/offload_speed.py``. Pure.
"""

from __future__ import annotations

from wizard.advise import cpu_speed
from wizard.advise.advice import Constraints, Speed
from wizard.advise.devices import Device
from wizard.advise.reasons import Reason, because
from wizard.advise.speed import Load
from wizard.catalog.stack_facts import OffloadSpeed, OnCpu
from wizard.model.facts import ModelFacts
from wizard.probe.cpu_rates import CpuRates

PROVIDER = "gpu-bandwidth"


HBM = ((7, 0), (8, 0), (9, 0), (10, 0), (10, 3))
"""Compute capabilities of GPUs with HBM, of which the engine reaches a smaller share."""


def gpu_seconds(read_bytes: float, layers: float, bandwidth: float, engine: OffloadSpeed) -> float:
    """Seconds per token of ``layers`` that read ``read_bytes`` of GPU memory, of whose bandwidth the engine reaches
    ``bandwidth`` bytes per second.
    """
    return read_bytes / bandwidth + layers * engine.layer_us * 1e-6


def estimate(
    facts: ModelFacts,
    engine: OnCpu,
    device: Device,
    rates: CpuRates | None,
    constraints: Constraints,
    load: Load,
    *,
    layers: int,
    cache_bytes: int,
) -> Speed | Reason | str:
    """The speed of one user with the last ``layers`` of the model on ``device``, or why it is unknown.

    Only single users and dense models were measured in public, and prompts were not.

    Args:
        facts: The model.
        engine: The engine's constants.
        device: The GPU.
        rates: The processor's rates; None if they were not measured.
        constraints: The user's options.
        load: Prompt and answer.
        layers: Repeating layers on the GPU.
        cache_bytes: Bytes of KV cache per token in all layers.
    """
    todo = cpu_speed.work(facts, cache_bytes)
    if todo is None or engine.offload is None or engine.offload.speed is None:
        return facts.unknown.get("speed") or because("layers-unknown")
    if todo.expert_bytes:
        return because("offload-experts")
    if (constraints.users or 1) > 1:
        return because("offload-users")
    if device.rates is None:
        return because("rates-unknown", gpu=device.name)
    share = layers / todo.layers
    context = load.isl + load.osl / 2
    reads = todo.dense_bytes + context * cache_bytes
    known = engine.offload.speed
    reached = device.rates.bandwidth * (known.hbm_share if device.compute_capability in HBM else known.share)
    seconds = gpu_seconds(share * reads, layers, reached, known)
    if share < 1:
        if engine.speed is None or rates is None:
            return because("offload-cpu-unmeasured")
        seconds += (1 - share) * cpu_speed.token_seconds(todo, engine.speed, rates, users=1, context=context)
    spread = max(known.spread, engine.speed.spread if share < 1 and engine.speed else 0.0)
    return Speed(
        tpot_ms=seconds * 1e3,
        throughput_tokens_per_s=None,
        ttft_ms=None,
        low=seconds * 1e3 / (1 + spread),
        high=seconds * 1e3 * (1 + spread),
        provider=PROVIDER,
        confidence="rough",
        served=1,
        users=1,
        isl=load.isl,
        osl=load.osl,
    )
