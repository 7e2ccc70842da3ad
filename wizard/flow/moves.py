"""Transitions from a state to the next move, and the changes that answers make to a state. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from wizard.flow.known import NAMES, hides
from wizard.flow.values import Ask, Finished, Next, Stage, State
from wizard.kernel.errors import WizardError


@dataclass(frozen=True, slots=True)
class Go:
    """Go to another stage."""

    stage: Stage


Move: TypeAlias = "tuple[State, Next | Go]"


def go(state: State, stage: Stage) -> Move:
    """Go to ``stage``."""
    return state, Go(stage)


def ask(state: State, error: WizardError | None = None, **about: Any) -> Move:
    """Ask about the state's current stage; see `Ask`."""
    return state, Ask(state.at, error, **about)


def failed(state: State, error: WizardError) -> Move:
    """Handle an error: a screen reaches it again and shows what to do; elsewhere the workflow ends."""
    return ask(state) if state.manner == "screens" else (state, Finished(error))


def with_answers(state: State, given: Mapping[str, Any]) -> State:
    """The state with the answers ``given``; a server that is set up again keeps its name and port."""
    if state.server is not None:
        own = {name: given[name] for name in NAMES if name in given}
        state = replace(state, server={**state.server, **own})
        given = {name: value for name, value in given.items() if name not in NAMES}
    offered = {name: value for name, value in (state.offered or {}).items() if given.get(name, value) == value}
    given = {name: value for name, value in given.items() if name not in offered}
    return replace(state, given={**state.given, **given}, offered=None if state.offered is None else offered)


def without(state: State, *names: str) -> State:
    """The state without the answers to ``names``."""
    return replace(state, given={name: value for name, value in state.given.items() if name not in names})


def passed(state: State, stage: Stage) -> State:
    """The state after ``stage``, which the user can go back to if it was shown (the plan always)."""
    back = stage == "review" or not hides(state, stage)
    return replace(state, trail=(*state.trail, stage)) if back and state.trail[-1:] != (stage,) else state


def started(state: State, model: str) -> State:
    """The state with another model, or none yet: the initial answers and the server's name are kept."""
    given = {**state.first, **{name: state.given[name] for name in NAMES if name in state.given}, "model": model}
    state = replace(state, given=given, take=bool(model), facts=None, recipe=None, offered=None, server=None)
    return replace(state, advice=None, choice=None, plan=None, resumed=None, left_out=())
