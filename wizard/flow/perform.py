"""The effects of the walk, performed through `wizard.journey`; errors come back as outcomes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wizard.flow import effects
from wizard.flow.values import Ask, Do, Finished, Outcome, State
from wizard.flow.walk import resume, step
from wizard.kernel.errors import WizardError

if TYPE_CHECKING:
    from wizard.catalog.recipes import Recipe
    from wizard.flow.effects import Effect
    from wizard.flow.port import JourneyPort
    from wizard.kernel.paths import Workspace
    from wizard.model.facts import ModelFacts
    from wizard.plan.plan import Plan
    from wizard.serve.endpoint import Endpoint

TOKEN = "HF_TOKEN"  # noqa: S105 - the variable's name
"""The environment variable that the hub's clients read."""


def perform(journey: JourneyPort, workspace: Workspace, effect: Effect) -> Outcome:
    """Perform ``effect`` (blocking; see `wizard.journey` for how long), all but `Carry`, whose events are shown."""
    try:
        return Outcome(effect, PERFORMERS[type(effect)](journey, workspace, effect))
    except WizardError as error:
        return Outcome(effect, error)


def _recipe(journey: JourneyPort, _workspace: Workspace, effect: effects.Recipe) -> Recipe | None:
    return next((recipe for recipe in journey.recipes() if recipe.name == effect.ref), None)


def _inspect(journey: JourneyPort, _workspace: Workspace, effect: effects.Inspect) -> ModelFacts:
    """Look with the token, which then stays this process's own and its children's, unless it is refused."""
    before = os.environ.get(TOKEN)
    set_token(effect.token or before)
    try:
        return journey.model(effect.ref, offline=effect.offline)
    except WizardError:
        set_token(before)  # one that is refused would close what is open to everybody
        raise


def set_token(token: str | None) -> None:
    """Make ``token`` this process's own, or have none."""
    if token is None:
        os.environ.pop(TOKEN, None)
    else:
        os.environ[TOKEN] = token


def ready(journey: JourneyPort, workspace: Workspace) -> list[Endpoint]:
    """Servers of the workspace that answer now (blocking)."""
    statuses = journey.statuses(workspace)
    return [status.endpoint for status in statuses if status.endpoint and status.state == "ready"]


def running(journey: JourneyPort, workspace: Workspace, name: str) -> Endpoint | None:
    """The server ``name`` as it runs now; None if it does not."""
    try:
        return journey.endpoint(workspace, name)
    except WizardError:
        return None


def unattended(journey: JourneyPort, workspace: Workspace, state: State, until: type[Effect]) -> tuple[State, Ask | Do]:
    """Walk on without asking, up to the first effect of the kind ``until``, or to a question that has no best answer.

    Raises:
        WizardError: What an effect failed with.
    """
    state, following = resume(replace(state, manner="unattended"))
    while isinstance(following, Do) and not isinstance(following.effect, until):
        state, following = step(state, perform(journey, workspace, following.effect))
    if isinstance(following, Finished):
        raise following.error or NotImplementedError(state.at)
    return state, following


def earlier(
    journey: JourneyPort, workspace: Workspace, state: State, stopped: Iterable[str]
) -> tuple[Callable[[str], bool], Plan | None]:
    """Which servers a workshop allows, and of those that are ``stopped`` the plan to offer again (blocking).

    None is offered where another machine is planned for, or where the model is decided but not by a pin.
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
    effects.Look: lambda journey, workspace, _: ready(journey, workspace),
    effects.Suggest: lambda journey, workspace, it: journey.suggestions(it.host, workspace, offline=it.offline),
    effects.Inspect: _inspect,
    effects.Recipe: _recipe,
    effects.Advise: lambda journey, workspace, it: journey.advise(
        it.host, it.facts, it.constraints, journey.calibration(workspace)
    ),
    effects.MakePlan: lambda journey, workspace, it: journey.plan(
        it.host, it.facts, it.choice, workspace, name=it.name, http_port=it.http_port
    ),
    effects.Recall: lambda journey, workspace, it: journey.earlier_plan(workspace, it.name),
    effects.Find: lambda journey, workspace, it: running(journey, workspace, it.name),
}
"""Kind of effect → the function of the journey that performs it."""
