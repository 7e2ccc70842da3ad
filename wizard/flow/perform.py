"""Perform the effects of the workflow through `wizard.journey`; errors are returned as outcomes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wizard.flow import effects
from wizard.flow.known import known, there
from wizard.flow.values import Ask, Do, Finished, Outcome, State
from wizard.flow.walk import resume, step
from wizard.kernel.errors import WizardError

if TYPE_CHECKING:
    from wizard.advise.pareto import Front
    from wizard.catalog.recipes import Recipe
    from wizard.chat.nearby import Nearby
    from wizard.flow.effects import Effect
    from wizard.flow.port import JourneyPort
    from wizard.kernel.paths import Workspace
    from wizard.model.facts import ModelFacts
    from wizard.plan.offers import Suggestion
    from wizard.plan.plan import Plan
    from wizard.serve.endpoint import Endpoint

TOKEN = "HF_TOKEN"  # noqa: S105 - the variable's name
"""The environment variable that Hub clients read."""


def perform(journey: JourneyPort, workspace: Workspace, effect: Effect) -> Outcome:
    """Perform ``effect`` (blocking; see `wizard.journey` for how long), except those whose events an interface shows:
    `RunPlan`, `FollowBuild` and `Measure`.
    """
    try:
        return Outcome(effect, PERFORMERS[type(effect)](journey, workspace, effect))
    except WizardError as error:
        return Outcome(effect, error)


def _recipe(journey: JourneyPort, _workspace: Workspace, effect: effects.Recipe) -> Recipe | None:
    return next((recipe for recipe in journey.recipes() if recipe.name == effect.ref), None)


def _inspect(journey: JourneyPort, _workspace: Workspace, effect: effects.Inspect) -> ModelFacts:
    """Inspect with the token, which stays set for this process and its children unless it is rejected."""
    before = os.environ.get(TOKEN)
    set_token(effect.token or before)
    try:
        return journey.model(effect.ref, offline=effect.offline)
    except WizardError:
        set_token(before)  # a rejected token would also block public models
        raise


def set_token(token: str | None) -> None:
    """Set ``token`` for this process, or unset it."""
    if token is None:
        os.environ.pop(TOKEN, None)
    else:
        os.environ[TOKEN] = token


def ready(journey: JourneyPort, workspace: Workspace) -> list[Endpoint]:
    """Running servers of the workspace (blocking)."""
    statuses = journey.statuses(workspace)
    return [status.endpoint for status in statuses if status.endpoint and status.state == "ready"]


def _look(journey: JourneyPort, workspace: Workspace) -> list[Plan | Endpoint | Nearby]:
    build = journey.building(workspace)
    plan = journey.earlier_plan(workspace, build.name) if build and not build.ending else None
    here = ready(journey, workspace)
    others: list[Nearby] = []
    with suppress(WizardError):  # a damaged table of ports is no reason to stop
        others = journey.nearby(here)
    built = [plan] if plan else []
    return [*built, *(each for each in here if not plan or each.name != plan.name), *others]


def running(journey: JourneyPort, workspace: Workspace, name: str) -> Endpoint | None:
    """The running server ``name``; None if it is not running."""
    try:
        return journey.endpoint(workspace, name)
    except WizardError:
        return None


def unattended(journey: JourneyPort, workspace: Workspace, state: State, until: type[Effect]) -> tuple[State, Ask | Do]:
    """Run the workflow without questions, up to the first effect of type ``until``, or a question without a default
    answer.

    Raises:
        WizardError: The error of a failed effect.
    """
    state, following = resume(replace(state, manner="unattended"))
    while isinstance(following, Do) and not isinstance(following.effect, until):
        state, following = step(state, perform(journey, workspace, following.effect))
    if isinstance(following, Finished):
        raise following.error or RuntimeError(f"the workflow ended at {state.at} without an error")
    return state, following


def models(journey: JourneyPort, workspace: Workspace, state: State) -> list[Suggestion]:
    """The models that the workflow offers on the machine of ``state``, the most suitable first (blocking).

    Raises:
        WizardError: The machine cannot be described, or a profile is damaged.
    """
    _, following = unattended(journey, workspace, state, effects.Suggest)
    if not isinstance(following, Do):
        raise LookupError
    offered = perform(journey, workspace, following.effect).value
    if isinstance(offered, WizardError):
        raise offered
    return list(offered)


def front(journey: JourneyPort, workspace: Workspace, state: State) -> Front:
    """The Pareto front for the machine, the model and the constraints of ``state`` (blocking)."""
    from wizard.plan.questions import constraints

    past = journey.calibration(workspace)
    return journey.pareto(there(state.host), there(state.facts), constraints(known(state)), past, offline=state.offline)


def earlier(
    journey: JourneyPort, workspace: Workspace, state: State, stopped: Iterable[str]
) -> tuple[Callable[[str], bool], Plan | None]:
    """The servers that a workshop allows, and of the ``stopped`` ones the plan to offer again (blocking).

    None is offered if the plan is for another machine, or if the model is fixed other than by a pin.
    """
    pin = state.workshop.pin

    def allowed(name: str) -> bool:
        if pin.get("name", name) != name:
            return False
        plan = journey.earlier_plan(workspace, name) if "model" in pin else None
        return plan is None or plan.facts.ref == pin["model"]

    offers = state.hardware is None and ("model" in pin or "model" not in state.workshop.hide)
    return allowed, journey.latest_plan(workspace, filter(allowed, stopped)) if offers else None


PERFORMERS: Mapping[type, Callable[[JourneyPort, Workspace, Any], Any]] = {
    effects.Probe: lambda journey, workspace, it: journey.probe(workspace, hardware=it.hardware),
    effects.Look: lambda journey, workspace, _: _look(journey, workspace),
    effects.Suggest: lambda journey, workspace, it: journey.suggestions(it.host, workspace, offline=it.offline),
    effects.Inspect: _inspect,
    effects.FindGguf: lambda journey, _, it: journey.with_gguf(it.facts),
    effects.Recipe: _recipe,
    effects.Advise: lambda journey, workspace, it: journey.advise(
        it.host, it.facts, it.constraints, journey.calibration(workspace), offline=it.offline
    ),
    effects.MakePlan: lambda journey, workspace, it: journey.plan(
        it.host, it.facts, it.choice, workspace, name=it.name, http_port=it.http_port
    ),
    effects.Recall: lambda journey, workspace, it: journey.earlier_plan(workspace, it.name),
    effects.Find: lambda journey, workspace, it: running(journey, workspace, it.name),
    effects.ReadReport: lambda journey, _, it: journey.open_report(Path(it.folder)),
}
"""Effect type → the journey function that performs it."""
