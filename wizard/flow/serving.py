"""The stages after the choice: plan, build, chat. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wizard.flow import effects
from wizard.flow.known import NAMES, hides, server, there
from wizard.flow.moves import Move, ask, failed, go, passed, without
from wizard.flow.values import Answer, Do, Finished, Measure, Outcome, Redo, Skip, State, Talk
from wizard.kernel.errors import UsageError, WizardError

if TYPE_CHECKING:
    from wizard.serve.endpoint import Endpoint


# -- plan, build, chat -------------------------------------------------------------------------------------------------


def to_review(state: State) -> Move:
    """Create the plan first, unless the screen does."""
    if state.manner == "screens" and not hides(state, "review"):
        return ask(state)
    own: Any = server(state)
    about = there(state.host), there(state.facts), there(state.choice)
    return state, Do(effects.MakePlan(*about, own.get("name"), own.get("http_port")))


def planned(state: State, outcome: Outcome) -> Move:
    """Continue with the plan, or with the error; a hidden question accepts a plan that can run here."""
    plan = outcome.value
    if not isinstance(plan, WizardError):
        state = replace(state, plan=plan)
        return reviewed(state, Answer(plan)) if hides(state, "review") and plan.is_for_here else ask(state)
    if state.manner != "questions":
        return failed(state, plan)
    if isinstance(plan, UsageError):  # another name or port
        return ask(replace(without(state, *NAMES), plan=None), plan)
    return ask(replace(state, at="advice"), plan)


def reviewed(state: State, answer: Answer) -> Move:
    """The plan was accepted; without a plan it is created again."""
    if answer.value is None:
        return to_review(replace(state, shown="review"))
    if not answer.value.is_for_here:
        return state, Finished()
    return go(replace(passed(state, "review"), plan=answer.value, left_out=(), conversation=None), "build")


def to_build(state: State) -> Move:
    """Run the plan, unless the screen does."""
    return (
        ask(state)
        if state.manner == "screens"
        else (state, Do(effects.RunPlan(there(state.plan), skip=state.left_out)))
    )


def plan_run(state: State, outcome: Outcome) -> Move:
    """The server is ready, or the user is asked what to do."""
    if not isinstance(outcome.value, WizardError):
        return go(replace(state, endpoint=outcome.value), "chat")
    return (state, Finished(outcome.value)) if state.manner == "unattended" else ask(state, outcome.value)


def build_seen(state: State, answer: Answer) -> Move:
    """Retry, change a step, build in the background, or continue to the chat."""
    how = answer.value
    if how == "background":
        return go(state, "welcome")
    if isinstance(how, Talk):
        return go(replace(state, endpoint=how.endpoint), "chat")
    if isinstance(how, Skip):
        state = replace(state, left_out=(*state.left_out, how.step))
    redo = (how.step,) if isinstance(how, Redo) else ()
    state = replace(state, left_out=tuple(step for step in state.left_out if step not in redo))
    return state, Do(effects.RunPlan(there(state.plan), redo, state.left_out))


def talk(state: State, endpoint: Endpoint) -> Move:
    """Chat with a server that is already running."""
    state = replace(state, endpoint=endpoint, plan=None, at="chat")
    return (state, Do(effects.Recall(endpoint.name))) if state.manner == "screens" else ask(state)


def recalled(state: State, outcome: Outcome) -> Move:
    """The plan of a running server, so that it can be restarted."""
    return ask(replace(state, plan=None if isinstance(outcome.value, WizardError) else outcome.value))


def chatted(state: State, answer: Answer) -> Move:
    """The server is measured, or a screen continues with a restart, another model or the welcome; elsewhere the chat
    is the end.
    """
    state = replace(state, conversation=answer.conversation or state.conversation)
    if isinstance(answer.value, Measure):
        return go(replace(state, endpoint=answer.value.endpoint), "bench")
    if state.manner != "screens":
        return state, Finished()
    if answer.value == "home":
        return go(replace(state, conversation=None), "welcome")
    if answer.value == "restart" and state.endpoint is not None:
        return state, Do(effects.Find(state.endpoint.name))
    return _another(state)


def _another(state: State) -> Move:
    """Choose another model: it gets another server, and the machine's free memory is probed again."""
    state = replace(without(state, *NAMES), server=None, host=None, facts=None, offered=None, trail=("welcome",))
    return go(state, "machine")


def restarted(state: State, outcome: Outcome) -> Move:
    """The server to restart may have been restarted elsewhere."""
    there = outcome.value
    if there is not None and there != state.endpoint:
        return talk(state, there)
    return _another(state) if state.plan is None else go(replace(state, trail=("welcome",)), "build")
