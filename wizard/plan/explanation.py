"""Step explanations for every interface: of a stage or a step, with the plan's reason and a facilitator's notes."""

from __future__ import annotations

from wizard.catalog import explanations
from wizard.catalog.explanations import Part
from wizard.catalog.workshops import Workshop
from wizard.kernel.language import localized
from wizard.plan.plan import Plan, Step


def of_stage(name: str, workshop: Workshop) -> tuple[Part, ...]:
    """The explanation of a stage, one of `wizard.catalog.explanations.STAGES` or `START`.

    Raises:
        UsageError: TW-D01, TW-D02 or TW-K01 if the explanations are not readable.
    """
    return explanations.parts(explanations.stage(name), added=workshop.say.stages.get(name, ""))


def of_step(plan: Plan, step: Step, workshop: Workshop, *, why: bool = True) -> tuple[Part, ...]:
    """The explanation of a step of ``plan``; without the reason if ``why`` is False.

    Raises:
        UsageError: TW-D02 or TW-K01 if the explanations are not readable.
    """
    return explanations.parts(
        explanations.step(plan.choice.stack, step.id),
        why=localized(step.why) if why else "",
        model=plan.facts.ref,
        added=workshop.say.steps.get(step.id, ""),
    )
