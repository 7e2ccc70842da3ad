"""The engine in a Python of the user's: offered where there is one, refused in words where it cannot serve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wizard.advise.advice import Advice
from wizard.advise.calibration import Calibration
from wizard.kernel.errors import WizardError
from wizard.model.facts import ModelFacts
from wizard.plan.found import offer
from wizard.plan.questions import ENGINE_PYTHON, Answers, wishes
from wizard.probe.host import Host
from wizard.prompts.ask import Ask
from wizard.prompts.speech import say


def offered(ask: Ask, host: Host, facts: ModelFacts, known: Answers) -> Answers:
    """The answer to the question whether an engine that is there serves; none if there is nothing to ask."""
    found = offer(host, facts, known)
    if found is None:
        return {}
    return {ENGINE_PYTHON.name: ask.choose(found.question, [(text, value) for value, text in found.ways])}


def advised(
    journey: Any,
    host: Host,
    facts: ModelFacts,
    known: Callable[[], Answers],
    given: tuple[Answers, ...],
    past: Calibration,
) -> Advice:
    """The advice; a Python that cannot serve is said and taken out of all that was ``given``.

    Raises:
        WizardError: As `wizard.journey.advise`, where that is not about an answer that was given here.
    """
    while True:
        try:
            found: Advice = journey.advise(host, facts, wishes(known()), past)
            return found
        except WizardError as error:
            if not any([one.pop(ENGINE_PYTHON.name, None) for one in given]):
                raise
            say(f"\n{error}\n")
