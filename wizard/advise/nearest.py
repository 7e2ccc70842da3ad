"""Well-known models that would fit where another one does not. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from wizard.advise import best
from wizard.advise.advice import Rejection
from wizard.advise.reasons import do
from wizard.catalog.models import CuratedModel, curated
from wizard.model import gguf_files
from wizard.model.facts import ModelFacts
from wizard.probe.host import Host

CODES = ("memory", "context", "users", "no-gpu", "format", "shape", "architecture", "not-chat")
"""Codes of rejections that another model would not have."""


def nearest(
    host: Host, facts: ModelFacts, models: Mapping[str, CuratedModel], most: int = 2
) -> tuple[CuratedModel, ...]:
    """At most ``most`` of ``models`` that fit ``host``: of the same family first, then the nearest size, the newest.

    None is ``facts`` itself, or needs a GGUF file that the advice would not try.
    """
    size = facts.parameters or max((model.parameters for model in models.values()), default=0)

    def key(model: CuratedModel) -> tuple[bool, int, int, str]:
        other = family(model.title) != family(facts.name)
        return other, abs(model.parameters - size), -model.day.toordinal(), model.repo

    known = best.estimates(host, models)
    suitable = [models[each.name] for each in known if each.fits and each.keeps_pace and not each.split]
    free = best.room(host)
    on_gpus = best.ROOM * free.bytes if free.on_gpus else 0
    tried = (model for model in suitable if best.published(model) <= on_gpus or gguf_files.of_catalog(model.repo))
    return tuple(sorted((model for model in tried if not _same(facts, model)), key=key)[:most])


def _same(facts: ModelFacts, model: CuratedModel) -> bool:
    """Whether ``facts`` is of ``model``, also in a folder."""
    return model.repo == facts.location or model.repo.rpartition("/")[2].casefold() == facts.name.casefold()


def family(name: str) -> str:
    """What a publisher calls its models: ``qwen`` of Qwen3-8B, ``gptoss`` of gpt-oss 20B, ``llama`` of Meta-Llama-3."""
    letters = re.match(r"[a-z]+(?:[ _-][a-z]+)*", name.lower().removeprefix("meta-"))
    return re.sub(r"[^a-z]", "", letters.group()) if letters else ""


def with_models(host: Host, facts: ModelFacts, rejections: Sequence[Rejection]) -> list[Rejection]:
    """``rejections``, of which the first ends with `nearest`; unchanged if another model is no remedy, or none fits."""
    first, *others = rejections
    if first.code not in CODES:
        return list(rejections)
    named = tuple(do("other-model", model=model.repo) for model in nearest(host, facts, curated()))
    return [replace(first, remedies=(*first.remedies, *named)), *others]
