"""The flow's transitions: what comes first, next, and again. Pure: no I/O happens here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from wizard.flow import choosing, effects, measuring, serving
from wizard.flow.moves import Go, Move, ask, go, with_answers, without
from wizard.flow.values import Answer, Back, Next, Outcome, Stage, State


def begin(state: State) -> tuple[State, Next]:
    """The first move.

    Screens start with the welcome unless a model was named; there a pinned model is offered below running servers.
    """
    named = bool(state.given.get("model")) and "model" not in state.workshop.pin
    state = replace(state, first=state.given, take=named)
    return _settled(*go(state, "welcome" if state.manner == "screens" and not named else "machine"))


def resume(state: State) -> tuple[State, Next]:
    """The move that continues a saved state."""
    return _settled(*go(state, state.at))


def step(state: State, reply: Answer | Back | Outcome) -> tuple[State, Next]:
    """The move after ``reply``."""
    if isinstance(reply, Outcome):
        return _settled(*OUTCOMES[type(reply.effect)](state, reply))
    state = with_answers(state, reply.given)
    if isinstance(reply, Back):
        return _settled(*_back(state, reply.to))
    return _settled(*ANSWERS[state.at](replace(state, shown=None), reply))


def _settled(state: State, following: Next | Go) -> tuple[State, Next]:
    """Go from stage to stage until there is a question or an effect."""
    while isinstance(following, Go):
        state, following = ENTRANCES.get(following.stage, ask)(replace(state, at=following.stage))
    return state, following


def _back(state: State, to: Stage | None) -> Move:
    """Go to the last stage that was shown, or ``to`` one of them; dependent values are read again."""
    trail = state.trail
    if to is None:
        to = trail[-1] if trail else "welcome" if state.manner == "screens" else state.at
    trail = trail[: len(trail) - 1 - trail[::-1].index(to)] if to in trail else trail
    state = replace(without(state, "accept"), trail=trail, shown=to, advice=None)
    if to == "model" and state.manner == "questions":
        state = replace(without(state, "model"), offered=None)
    return go(state, to)


ENTRANCES: Mapping[Stage, Callable[[State], Move]] = {
    "welcome": choosing.to_welcome,
    "machine": choosing.to_machine,
    "model": choosing.to_model,
    "engine": choosing.to_engine,
    "advice": choosing.to_advice,
    "review": serving.to_review,
    "build": serving.to_build,
    "bench": measuring.to_bench,
    "measure": measuring.to_measure,
    "report": measuring.to_report,
}
"""Stage → what to do before asking about it; the other stages ask at once."""
ANSWERS: Mapping[Stage, Callable[[State, Answer], Move]] = {
    "welcome": choosing.welcomed,
    "recipes": choosing.recipe_chosen,
    "machine": choosing.machine_seen,
    "model": choosing.model_chosen,
    "token": choosing.token_given,
    "engine": choosing.engine_chosen,
    "advice": choosing.choice_made,
    "review": serving.reviewed,
    "build": serving.build_seen,
    "chat": serving.chatted,
    "bench": measuring.bench_chosen,
    "measure": measuring.measure_seen,
    "report": measuring.report_seen,
}
OUTCOMES: Mapping[type, Callable[[State, Outcome], Move]] = {
    effects.Probe: choosing.probed,
    effects.Look: choosing.looked,
    effects.Suggest: choosing.suggested,
    effects.Inspect: choosing.inspected,
    effects.FindGguf: choosing.gguf_found,
    effects.Recipe: choosing.settled,
    effects.Advise: choosing.advised,
    effects.MakePlan: serving.planned,
    effects.RunPlan: serving.plan_run,
    effects.FollowBuild: serving.plan_run,
    effects.Recall: serving.recalled,
    effects.Find: serving.restarted,
    effects.Measure: measuring.measured,
    effects.ReadReport: measuring.report_read,
}
