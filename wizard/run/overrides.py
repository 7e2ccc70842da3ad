"""Steps for which the user overrides the journal: run again, or skipped."""

from __future__ import annotations

from collections.abc import Collection

from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.plan.artefacts import READY, SERVER
from wizard.plan.plan import Plan, Step


def needed(step: Step) -> bool:
    """Whether no server can start without this step, so that it cannot be skipped."""
    return not {SERVER, READY}.isdisjoint(step.writes)


def check(plan: Plan, redo: Collection[str], skip: Collection[str]) -> None:
    """Check that these steps can run again, and those be skipped.

    Raises:
        UsageError: TW-R07 if a step is unknown, TW-R08 if one cannot be skipped.
    """
    known = {step.id: step for step in plan.steps}
    for name in (*redo, *skip):
        if name not in known:
            raise UsageError(
                "TW-R07",
                tr("the plan has no step {name!r}", name=name[:60]),
                tr("Available steps: {steps}.", steps=", ".join(known)),
            )
    for name in skip:
        if needed(known[name]):
            raise UsageError(
                "TW-R08",
                tr("the step '{title}' cannot be skipped: the server requires it", title=known[name].title),
                tr("Fix the cause of the failure, or change the plan."),
            )
