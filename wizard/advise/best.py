"""Which well-known models suit a machine best, from their sizes and dates alone: for a list of many. Pure.

A model is first judged by whether its weights fit and it answers at reading pace, then by size and age together; the
full recommendation (`wizard.advise.ranking`) takes fifty times as long, so it only judges what is shown.

Weights that do not fit as published count as those of a GGUF file, on any machine: of two models in the same memory,
the larger one in 4 bits is the better one (Dettmers and Zettlemoyer, "The case for 4-bit precision", PMLR 202, 2023),
and public guides offer 27 to 32 B in Q4_K_M for 24 GB.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from math import log2

from wizard.advise.calibration import NOTHING, Calibration
from wizard.advise.cpu import on_cpu
from wizard.advise.devices import devices
from wizard.catalog import gguf_types, stacks
from wizard.catalog.cpu_facts import CpuSpeed
from wizard.catalog.goals import goal
from wizard.catalog.models import CuratedModel
from wizard.model.gguf_files import type_of
from wizard.probe.host import Host

READING_MS = 60_000 / (238 * 4 / 3)
"""Milliseconds per token at which adults read: 238 words a minute (Brysbaert 2019, doi 10.1016/j.jml.2019.104047), of
four thirds of a token each.
"""
PATIENCE_MS = 10_000
"""To the first token: ten seconds keep the attention (Nielsen, as in profiles/goals.toml)."""
DOUBLING_DAYS = 3.5 * 365.25 / 12
"""Days after which half the parameters give equal results: "Densing law of LLMs" (doi 10.1038/s42256-025-01137-0)."""
ROOM = 0.8
"""Share of the free memory that the weights may take, so that there is room for the KV cache and the server."""
ASSUMED_BANDWIDTH = 31e9
"""Bytes per second that a processor reads if it was not measured: that of the machine of ``[cpu.speed]``."""


@dataclass(frozen=True, slots=True)
class Room:
    """Free memory of a machine for weights.

    Attributes:
        bytes: Of all GPUs of one kind, of the kind that has the most; of one MIG slice, because no model is split over
            several; without GPUs of the machine.
        on_gpus: Whether it has GPUs.
        holds_layers: Whether any of them is a whole one, which can hold layers of a GGUF file.
    """

    bytes: int
    on_gpus: bool
    holds_layers: bool

    def wants_file(self, weights: int, share: float = 1.0) -> bool:
        """Whether a GGUF file of a model with ``weights`` bytes is of use: without GPUs, and if whole ones have less
        than that in a ``share`` of their free memory.
        """
        return not self.on_gpus or (self.holds_layers and weights > share * self.bytes)


def room(host: Host) -> Room:
    """The memory of ``host``."""
    if not host.gpus:
        return Room(host.memory_available_bytes or 0, on_gpus=False, holds_layers=False)
    groups = devices(host)
    kinds: dict[str, int] = defaultdict(int)
    for device in groups:
        of_all = device.free_bytes * len(device.indices)
        kinds[device.name] = max(kinds[device.name], device.free_bytes) if device.mig else kinds[device.name] + of_all
    return Room(max(kinds.values(), default=0), on_gpus=True, holds_layers=any(not device.mig for device in groups))


@dataclass(frozen=True, slots=True)
class Estimate:
    """How a model suits a machine.

    Attributes:
        name: Its name in the catalog.
        fits: Whether its weights fit as published, or else as a GGUF file in the memory of the GPUs and of the host.
        keeps_pace: Whether it begins within `PATIENCE_MS` and writes at least as fast as people read; GPUs that hold
            a model are not judged here.
        split: Whether GPUs hold a part of it only.
        score: Doublings of its parameters, and of the density of its time.
        bytes: Size of those weights.
    """

    name: str
    fits: bool
    keeps_pace: bool
    split: bool
    score: float
    bytes: int


def estimates(host: Host, models: Mapping[str, CuratedModel], past: Calibration = NOTHING) -> list[Estimate]:
    """The ``models`` that ``host`` can serve in principle, the most suitable first."""
    engine = on_cpu(stacks.cpu_stacks()[0]).speed
    free = room(host)
    ranked = [
        Estimate(name, *_fits(host, free, model, past, engine), score(model), weight_bytes(free, model))
        for name, model in models.items()
        if host.gpus or model.gguf
    ]
    return sorted(ranked, key=lambda each: (not each.fits, not each.keeps_pace, each.split, -each.score, each.name))


def _fits(
    host: Host, free: Room, model: CuratedModel, past: Calibration, engine: CpuSpeed | None
) -> tuple[bool, bool, bool]:
    """Whether its weights fit, whether it keeps the pace, and whether it is split between GPUs and host."""
    total, on_gpus = weight_bytes(free, model), ROOM * free.bytes
    if free.on_gpus and (total <= on_gpus or not _as_file(free, model)):
        return total <= on_gpus, True, False
    rest = total - on_gpus if free.on_gpus else total
    fits = rest <= ROOM * (host.memory_available_bytes or 0)
    return fits, engine is None or _keeps_pace(host, free, model, past, engine, rest / total), free.on_gpus


def score(model: CuratedModel) -> float:
    """Doublings of the parameters, and of what a parameter is worth on the model's `date`."""
    return log2(model.parameters) + model.day.toordinal() / DOUBLING_DAYS


def bits(free: Room, model: CuratedModel) -> float:
    """Bits per parameter as it is loaded: as published, or of the known GGUF files the most precise one that the GPUs
    hold, else the smallest.
    """
    if not _as_file(free, model):
        return model.bits
    known = gguf_types.bits()
    types = [known[kind] for file in model.files if (kind := type_of(file)) in known]
    held = [each for each in types if free.on_gpus and model.parameters * each / 8 <= ROOM * free.bytes]
    return max(held, default=min(types, default=model.bits))


def _as_file(free: Room, model: CuratedModel) -> bool:
    """Whether it is loaded from a GGUF file."""
    return model.gguf is not None and free.wants_file(published(model), ROOM)


def published(model: CuratedModel) -> int:
    """Bytes of its weights as published."""
    return round(model.parameters * model.bits / 8)


def weight_bytes(free: Room, model: CuratedModel) -> int:
    """Size of the weights with these bits."""
    return round(model.parameters * bits(free, model) / 8)


def _keeps_pace(host: Host, free: Room, model: CuratedModel, past: Calibration, engine: CpuSpeed, share: float) -> bool:
    """By the bytes and weights of one token, and without GPUs of a prompt: `wizard.advise.cpu_speed` without caches and
    layers; a GPU that holds the rest takes no time, and computes prompts. ``share`` of the weights is in host memory.
    """
    rates = past.rates_of(host)
    used = (model.active or model.parameters) * share
    cores = rates.computing if rates else host.cpu.cores
    reading = used * bits(free, model) / 8 / (rates.bandwidth if rates else ASSUMED_BANDWIDTH)
    token = reading + used / (engine.decode_weights * cores)
    prompt = goal("chat").isl * used / (engine.prefill_weights * cores)
    return token * 1e3 <= READING_MS and (free.on_gpus or prompt * 1e3 <= PATIENCE_MS)
