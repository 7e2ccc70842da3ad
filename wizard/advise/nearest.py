"""Well-known models that would fit where another one does not. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from wizard.advise.advice import Rejection
from wizard.advise.reasons import do
from wizard.catalog.models import CuratedModel, curated
from wizard.model.facts import ModelFacts
from wizard.probe.host import Host

ROOM = 0.8
"""Share of the free memory that the weights may take, so that there is room for the KV cache and the server."""
BITS = {"gpu": 16.0, "cpu": 8.5}
"""Bits per parameter of the catalogue's models: 16 on GPUs, and Q8_0 on the CPU (blocks of 32 with a 16-bit scale)."""
CODES = ("memory", "context", "users", "no-gpu", "format", "shape", "architecture", "not-chat")
"""Codes of rejections that another model would not have."""


def nearest(host: Host, facts: ModelFacts, models: Sequence[CuratedModel], most: int = 2) -> tuple[CuratedModel, ...]:
    """At most ``most`` of ``models`` that fit ``host``: those of the same family first, then the nearest in size."""
    place = "gpu" if host.gpus else "cpu"
    free = [gpu.memory_free_bytes or gpu.memory_total_bytes or 0 for gpu in host.gpus]
    room = ROOM * (max(free, default=0) if host.gpus else host.memory_available_bytes or 0)
    size = facts.parameters or max((model.parameters for model in models), default=0)

    def key(model: CuratedModel) -> tuple[bool, int, str]:
        return family(model.title) != family(facts.name), abs(model.parameters - size), model.name

    fitting = [
        model
        for model in models
        if model.on == place and model.parameters * BITS[place] / 8 <= room and facts.location != model.repo
    ]
    return tuple(sorted(fitting, key=key)[:most])


def family(name: str) -> str:
    """What a publisher calls its models: ``qwen`` of Qwen3-8B, ``gptoss`` of gpt-oss 20B, ``llama`` of Meta-Llama-3."""
    letters = re.match(r"[a-z]+(?:[ _-][a-z]+)*", name.lower().removeprefix("meta-"))
    return re.sub(r"[^a-z]", "", letters.group()) if letters else ""


def with_models(host: Host, facts: ModelFacts, rejections: Sequence[Rejection]) -> list[Rejection]:
    """``rejections``, of which the first ends with `nearest`; unchanged if another model is no remedy, or none fits."""
    first, *others = rejections
    if first.code not in CODES:
        return list(rejections)
    named = tuple(do("other-model", model=model.ref) for model in nearest(host, facts, curated()))
    return [replace(first, remedies=(*first.remedies, *named)), *others]
