"""Encoders of images and sounds, which serving text does not need. Pure.

No figure here includes the memory that they work in; what engines that load them do is in ``profiles/stacks``
(`wizard.catalog.gpu_facts.Encoders`).
"""

from __future__ import annotations

from dataclasses import replace

from wizard.advise.reasons import Note
from wizard.catalog.releases import version
from wizard.catalog.stacks import facts as stack_facts
from wizard.model.facts import ModelFacts


def setting(facts: ModelFacts, stack: str, engine: str) -> str:
    """The argument with which ``stack`` leaves the encoders of ``facts`` out; empty if there are none, or no such
    argument in the version ``engine``.
    """
    known = stack_facts(stack).gpu
    if not facts.encoders or known is None or known.text_only is None or not engine:
        return ""
    has = version(engine.partition("+")[0])
    return known.text_only.setting if has >= version(known.text_only.engine) else ""


def loaded(facts: ModelFacts, stack: str, engine: str) -> ModelFacts:
    """``facts`` without the weights that are not loaded."""
    anatomy = facts.anatomy
    if anatomy is None or not setting(facts, stack, engine) or "anatomy" in facts.unknown:
        return facts
    parts = replace(anatomy.parts, other=0)
    return replace(facts, anatomy=replace(anatomy, parts=parts), stored=facts.stored and replace(facts.stored, other=0))


def notes(facts: ModelFacts, stack: str, engine: str) -> tuple[Note, ...]:
    """A warning about the encoders, if there are any."""
    if not facts.encoders:
        return ()
    if argument := setting(facts, stack, engine):
        return (Note("text-only", {"encoders": facts.encoders, "argument": argument}),)
    counted = facts.anatomy is not None and facts.anatomy.parts.other > 0
    known = stack_facts(stack).gpu
    work = known.encoders.work if known and known.encoders else "profiled"
    return (Note("encoders", {"stack": stack, "encoders": facts.encoders, "counted": counted, "work": work}),)
