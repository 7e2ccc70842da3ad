"""The wizard's own estimate of what a benchmark will find, made before it: with the formulas of the advice. Pure."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from wizard.advise.advice import Choice, Constraints, Speed
from wizard.advise.calibration import Calibration
from wizard.advise.candidates import candidates
from wizard.advise.reasons import Refused
from wizard.bench.dataset import Dataset
from wizard.bench.load import Load
from wizard.kernel.errors import WizardError
from wizard.model.facts import ModelFacts
from wizard.probe.host import Gpu, Host

SETUP = ("stack", "dtype", "quantization", "kv_cache_dtype", "tp", "pp", "dp", "replicas")
"""Fields in which an estimate's choice must equal the served one."""


def predicted(
    host: Host, facts: ModelFacts, choice: Choice, load: Load, dataset: Dataset, past: Calibration
) -> dict[str, Speed]:
    """ID of a level → the estimated speed of ``choice`` under it.

    Levels without an estimate are missing: arrival rates, more requests than the server runs at once, prompts of
    unknown length, and setups whose speed the advice does not know either.
    """
    if dataset.isl is None or dataset.kind != "generated":
        return {}
    idle, estimates = _without(host, choice), {}
    for point in load.points:
        if point.concurrency is None or point.concurrency > choice.users:
            continue
        wanted = replace(constraints_of(choice), users=point.concurrency, isl=dataset.isl, osl=dataset.osl)
        with suppress(WizardError, Refused):
            made, _ = candidates(idle, facts, wanted, past)
            same = (each for each in made if all(getattr(each, name) == getattr(choice, name) for name in SETUP))
            speed = next((each.speed for each in same), None)
            if speed and speed.tpot_ms:
                estimates[point.id] = speed
    return estimates


def constraints_of(choice: Choice) -> Constraints:
    """What to ask for to get the setup of ``choice`` again, without a load."""
    return Constraints(
        stack=choice.stack,
        quantization=choice.quantization,
        tp=choice.tp,
        pp=choice.pp,
        dp=choice.dp,
        kv_dtype=choice.kv_cache_dtype,
        replicas=choice.replicas,
        max_gpus=None if choice.devices else 0,
    )


def _without(host: Host, choice: Choice) -> Host:
    """``host`` with the memory free that the running server of ``choice`` uses."""
    used = choice.memory.total_bytes
    if not choice.devices:
        free = host.memory_available_bytes
        return host if free is None else replace(host, memory_available_bytes=free + used)
    gpus = tuple(_freed(gpu, used) if gpu.index in choice.devices else gpu for gpu in host.gpus)
    return replace(host, gpus=gpus)


def _freed(gpu: Gpu, used: int) -> Gpu:
    free, total = gpu.memory_free_bytes, gpu.memory_total_bytes
    if free is None or total is None:
        return gpu
    return replace(gpu, memory_free_bytes=min(total, free + used))
