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


def _without_others(app: WizardApp, ref: str, wished: Wishes) -> Wishes:
    """``wished`` for the model ``ref``: an engine that was accepted for another model is dropped."""
    if app.offered is None or app.offered[0] == ref:
        return wished
    answer, app.offered = app.offered[1], None
    return replace(wished, engine_python=None) if wished.engine_python == answer else wished


async def asked(app: WizardApp, host: Host, facts: ModelFacts, known: Answers, wished: Wishes) -> Wishes:
    """``wished`` with the answer, if there is something to ask; "never mind" leaves it as it is."""
    wished = _without_others(app, facts.ref, wished)
    if wished.engine_python or app.offered or "advice" in app.guide.workshop.hide:
        return wished
    found = offer(host, facts, {**known, **app.answers, **app.guide.workshop.pin})
    if found is None:
        return wished
    answer = await app.push_screen_wait(AskScreen(found.question, found.ways))
    if answer is None:
        return wished
    app.offered = (facts.ref, answer)
    return replace(wished, engine_python=wishes({ENGINE_PYTHON.name: answer}).engine_python)
