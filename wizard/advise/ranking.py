"""From a machine, a model and constraints to ranked choices. Pure: the same values give the same advice."""

from __future__ import annotations

from dataclasses import replace

from wizard.advise import engines, nearest, remedies
from wizard.advise.advice import Advice, Choice, Constraints
from wizard.advise.calibration import NOTHING, Calibration, damaged
from wizard.advise.candidates import candidates
from wizard.advise.comparison import behind, limit
from wizard.advise.criteria import CRITERIA, Key, order
from wizard.advise.reasons import Obstacle, Refused, because, do
from wizard.kernel.errors import InfeasibleError
from wizard.model.facts import ModelFacts
from wizard.probe.host import Host


def advise(host: Host, facts: ModelFacts, constraints: Constraints, past: Calibration = NOTHING) -> Advice:
    """Recommend how to serve ``facts`` on ``host``, best first, with reasons for all rejections.

    Explicit constraints are never changed: if they cannot be met, the first rejection's remedy is the single constraint
    whose change would make it possible. Measurements here (``past``) do not apply to another machine.
    """
    if not host.is_here:
        past = NOTHING
    choices, rejections = candidates(host, facts, constraints, past)
    rejections = remedies.without_futile(host, facts, constraints, choices, rejections, past)
    if not choices:
        if constraints.stack is None:
            rejections = remedies.without_refused(rejections)
        nearest_setup = remedies.with_nearest(host, facts, constraints, rejections, past)
        if not constraints.restricts:  # otherwise an option may be the cause
            nearest_setup = nearest.with_models(host, facts, nearest_setup)
        return Advice(False, rejections=tuple(remedies.with_file(host, facts, constraints, nearest_setup, past)))
    key = order(host, facts, constraints, past)
    notes = {stack: engines.notes(stack, facts) for stack in {choice.stack for choice in choices}}
    ranked = [
        replace(choice, warnings=(*choice.warnings, *notes[choice.stack], *damaged(past)))
        for choice in sorted(choices, key=key)
    ]
    explained = _explained(ranked, facts, constraints, key)
    return Advice(True, tuple(explained), tuple(remedies.with_similar(rejections, ranked, constraints)))


def recommended(advice: Advice) -> Choice:
    """The first choice.

    Raises:
        Refused: TW-A01 if there is none, with the first rejection's reason and remedies.
    """
    if not advice.feasible:
        if not advice.rejections:
            raise Refused("TW-A01", InfeasibleError, Obstacle("none", because("no-setup"), (do("relax"),)))
        why = advice.rejections[0]
        raise Refused("TW-A01", InfeasibleError, Obstacle(why.code, why.reason, why.remedies))
    return advice.choices[0]


def _explained(ranked: list[Choice], facts: ModelFacts, constraints: Constraints, key: Key) -> list[Choice]:
    """Every choice with its limit, and all but the first with the reason for being behind it."""
    names, first = CRITERIA[constraints.goal], ranked[0]
    best = key(first)

    def explained(choice: Choice) -> Choice:
        notes = [limit(choice, facts)]
        if choice is not first:
            pairs = zip(names, best, key(choice), strict=True)
            criterion = next((name for name, mine, theirs in pairs if mine != theirs), None)
            notes.append(behind(constraints.goal, criterion, choice, first))
        return replace(choice, reasons=(*notes, *choice.reasons))

    return [explained(choice) for choice in ranked]
