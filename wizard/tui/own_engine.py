"""The question whether an engine that is there serves; asked once, before the advice."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wizard.plan.found import offer
from wizard.plan.questions import ENGINE_PYTHON, wishes
from wizard.tui.screens.modal import AskScreen

if TYPE_CHECKING:
    from wizard.advise.advice import Wishes
    from wizard.model.facts import ModelFacts
    from wizard.plan.questions import Answers
    from wizard.probe.host import Host
    from wizard.tui.app import WizardApp


async def asked(app: WizardApp, host: Host, facts: ModelFacts, known: Answers, wished: Wishes) -> Wishes:
    """``wished`` with the answer, if there is something to ask; "never mind" leaves it as it is."""
    if wished.engine_python or "advice" in app.guide.workshop.hide:
        return wished
    found = offer(host, facts, {**known, **app.answers, **app.guide.workshop.pin})
    if found is None:
        return wished
    answer = await app.push_screen_wait(AskScreen(found.question, found.ways))
    if answer is None:
        return wished
    app.answers[ENGINE_PYTHON.name] = answer
    return replace(wished, engine_python=wishes({ENGINE_PYTHON.name: answer}).engine_python)
