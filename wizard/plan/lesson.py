"""Lessons as every door shows them: a stage's or a step's, with its plan's reason and a facilitator's words."""

from __future__ import annotations

from wizard.catalog import lessons
from wizard.catalog.lessons import Part
from wizard.catalog.workshops import Workshop
from wizard.kernel.language import localized
from wizard.plan.plan import Plan, Step


def of_stage(name: str, workshop: Workshop) -> tuple[Part, ...]:
    """The lesson of a stage, one of `wizard.catalog.lessons.STAGES` or `START`.

    Raises:
        UsageError: TW-D01, TW-D02 or TW-K01 if the lessons cannot be read.
    """
    return lessons.parts(lessons.stage(name), added=workshop.say.stages.get(name, ""))


def of_step(plan: Plan, step: Step, workshop: Workshop, *, why: bool = True) -> tuple[Part, ...]:
    """The lesson of a step of ``plan``; without ``why`` where the reason is shown anyway.

    Raises:
        UsageError: TW-D02 or TW-K01 if the lessons cannot be read.
    """
    return lessons.parts(
        lessons.step(plan.choice.stack, step.id),
        why=localized(step.why) if why else "",
        model=plan.facts.ref,
        added=workshop.say.steps.get(step.id, ""),
    )
