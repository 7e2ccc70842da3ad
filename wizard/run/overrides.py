"""Steps that the user wants otherwise than the journal would have it: done again, or left out."""

from __future__ import annotations

from collections.abc import Collection

from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.plan.artefacts import READY, SERVER
from wizard.plan.plan import Plan, Step


def needed(step: Step) -> bool:
    """Whether there is no server without this step, so that it cannot be left out."""
    return not {SERVER, READY}.isdisjoint(step.writes)


def check(plan: Plan, redo: Collection[str], skip: Collection[str]) -> None:
    """See that these steps can be done again, and those left out.

    Raises:
        UsageError: TW-R07 if there is no such step, TW-R08 if one cannot be left out.
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
