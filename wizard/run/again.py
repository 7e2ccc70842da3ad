"""Steps that the user wants otherwise than the journal would have it: done again, or left out."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import PurePath

from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.plan.plan import Plan, Start, Step, Wait


def followers(plan: Plan, chosen: Collection[str]) -> frozenset[str]:
    """The ids in ``chosen``, and of every later step that uses what one of them makes, directly or not.

    A step uses what another makes if its commands name a folder in which a file lies that the other promises. (What a
    step reads is not declared; its commands are all that is known, and a folder too many only costs time.)
    """
    found = set(chosen)
    for index, step in enumerate(plan.steps):
        said = "\n".join(action.shell() for action in step.actions)
        before = (one for one in plan.steps[:index] if one.id in found)
        if any(folder in said for one in before for folder in _folders(one)):
            found.add(step.id)
    return frozenset(found)


def _folders(step: Step) -> set[str]:
    return {str(PurePath(file).parent) for file in step.done.files}


def needed(step: Step) -> bool:
    """Whether there is no server without this step, so that it cannot be left out."""
    return any(isinstance(action, (Start, Wait)) for action in step.actions)


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
                tr("Its steps are {steps}.", steps=", ".join(known)),
            )
    for name in skip:
        if needed(known[name]):
            raise UsageError(
                "TW-R08",
                tr("the step '{title}' cannot be left out: there is no server without it", title=known[name].title),
                tr("Mend what makes it fail, or change the plan."),
            )
