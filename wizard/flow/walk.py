"""The order of the stages: the only place that knows it. Pure: nothing is asked, looked at or done here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from wizard.flow import effects
from wizard.flow.known import (
    NAMES,
    PYTHON,
    engine_offer,
    hides,
    known,
    nearest,
    passed,
    ref,
    server,
    started,
    there,
    with_answers,
)
from wizard.flow.values import (
    Answer,
    Ask,
    Back,
    Do,
    Finished,
    Next,
    Outcome,
    Redo,
    Resume,
    Serve,
    Skip,
    Stage,
    State,
    Talk,
    Watch,
)
from wizard.kernel.errors import UsageError, WizardError

if TYPE_CHECKING:
    from wizard.plan.plan import Plan
    from wizard.serve.endpoint import Endpoint

Move: TypeAlias = "tuple[State, Next]"
GATED = "TW-M12"
"""The error of a model that is gated, or that the present token does not open (`wizard.model.hub_errors`)."""


def begin(state: State) -> Move:
    """The first thing to do.

    Screens begin with the welcome, unless a model was named; a pinned one is offered there, below a server that runs.
    """
    named = bool(state.given.get("model")) and "model" not in state.workshop.pin
    state = replace(state, first=state.given, take=named)
    return _enter(state, "welcome" if state.manner == "screens" and not named else "machine")


def resume(state: State) -> Move:
    """Where a state that was written down continues."""
    return _enter(state, state.at)


def step(state: State, reply: Answer | Back | Outcome) -> Move:
    """What comes next after a ``reply``."""
    if isinstance(reply, Outcome):
        return OUTCOMES[type(reply.effect)](state, reply)
    if isinstance(reply, Back):
        return _back(with_answers(state, reply.given), reply.to)
    state = replace(with_answers(state, reply.given), shown=None)
    return ANSWERS[state.at](state, reply)


# -- from stage to stage -----------------------------------------------------------------------------------------------


def _enter(state: State, stage: Stage) -> Move:
    return ENTRANCES.get(stage, _ask)(replace(state, at=stage))


def _ask(state: State, error: WizardError | None = None, **about: Any) -> Move:
    return state, Ask(state.at, error, **about)


def _back(state: State, to: Stage | None) -> Move:
    """To the last stage that was shown, or ``to`` one of them; what depends on it is looked at again."""
    trail = state.trail
    if to is None:
        to = trail[-1] if trail else "welcome" if state.manner == "screens" else state.at
    trail = trail[: len(trail) - 1 - trail[::-1].index(to)] if to in trail else trail
    given = {name: value for name, value in state.given.items() if name != "accept"}
    state = replace(state, trail=trail, given=given, shown=to, advice=None)
    if to == "model" and state.manner == "questions":
        state = replace(state, given={**given, "model": None}, offered=None)
    return _enter(state, to)


def _resume(state: State, plan: Plan) -> Move:
    """Set a server up again that does not run any more: its plan is made again, for the machine as it is now."""
    state = replace(started(state, plan.facts.ref), server={"name": plan.name}, resumed=plan)
    if state.host is None or not state.host.runs_triton:
        return _enter(state, "machine")
    state = replace(state, facts=plan.facts, choice=plan.choice, trail=("welcome",))
    return state, Do(effects.Recipe(plan.facts.ref))


# -- welcome, machine --------------------------------------------------------------------------------------------------


def _welcome(state: State) -> Move:
    return _ask(replace(state, trail=(), server=None, resumed=None))


def _welcomed(state: State, answer: Answer) -> Move:
    way, state = answer.value, replace(passed(state, "welcome"), host=answer.host or state.host)
    if isinstance(way, Resume):
        return _resume(state, way.plan)
    if isinstance(way, Watch):
        return _enter(replace(state, plan=way.plan), "build")
    if isinstance(way, Talk):
        return _talk(state, way.endpoint)
    if way == "recipes":
        return _enter(state, "recipes")
    if isinstance(way, Serve) and state.manner == "screens":
        state = started(state, way.ref)
    lacks = state.host is None or not state.host.runs_triton
    return _enter(state, "machine" if way == "machine" or (lacks and state.manner == "screens") else "model")


def _recipe_chosen(state: State, answer: Answer) -> Move:
    state = started(passed(state, "recipes"), answer.value)
    return _enter(state, "model" if state.host is not None and state.host.runs_triton else "machine")


def _machine(state: State) -> Move:
    if state.host is None and (hides(state, "machine") or state.manner != "screens"):
        return state, Do(effects.Probe(state.hardware))
    if hides(state, "machine") and state.host is not None and (state.host.runs_triton or state.manner == "unattended"):
        return _to_model(state)
    return _ask(state)


def _probed(state: State, outcome: Outcome) -> Move:
    if isinstance(outcome.value, WizardError):
        return _ask(state) if state.manner == "screens" else (state, Finished(outcome.value))
    return _machine(replace(state, host=outcome.value))


def _machine_seen(state: State, answer: Answer) -> Move:
    return _to_model(passed(replace(state, host=answer.value or state.host), "machine"))


def _to_model(state: State) -> Move:
    """From the machine on; a running server is offered where no welcome has done it."""
    if state.resumed is not None:
        return _resume(state, state.resumed)
    if state.manner == "questions" and not state.hardware and not ref(state):
        return state, Do(effects.Look())
    return _enter(state, "model")


def _looked(state: State, outcome: Outcome) -> Move:
    if isinstance(outcome.value, WizardError):
        return state, Finished(outcome.value)
    if not outcome.value:
        return _enter(state, "model")
    return _ask(replace(state, at="welcome"), options=tuple(outcome.value))


# -- model -------------------------------------------------------------------------------------------------------------


def _model(state: State) -> Move:
    name = ref(state)
    if state.manner == "screens" and not hides(state, "model"):
        return _ask(replace(state, take=False), take=state.take)
    if name:
        return state, Do(effects.Inspect(name, state.offline))
    return state, Do(effects.Suggest(there(state.host), state.offline))


def _suggested(state: State, outcome: Outcome) -> Move:
    if isinstance(outcome.value, WizardError):
        return _ask(state) if state.manner == "screens" else (state, Finished(outcome.value))
    best = next((suggestion.ref for suggestion in outcome.value if suggestion.usable), None)
    if best is not None and hides(state, "model"):
        return _model_chosen(state, Answer(best))
    return _ask(state, options=tuple(outcome.value))


def _model_chosen(state: State, answer: Answer) -> Move:
    if not isinstance(answer.value, str):
        return _inspected(state, Outcome(effects.Inspect(answer.value.ref, state.offline), answer.value))
    state = replace(state, given={**state.given, "model": answer.value})
    return state, Do(effects.Inspect(answer.value, state.offline))


def _token_given(state: State, answer: Answer) -> Move:
    if answer.value:
        return replace(state, at="model"), Do(effects.Inspect(ref(state), state.offline, answer.value))
    return _enter(replace(state, given={**state.given, "model": None}), "model")


def _inspected(state: State, outcome: Outcome) -> Move:
    facts = outcome.value
    if isinstance(facts, WizardError):
        return _not_inspected(state, facts)
    if state.facts is None or state.facts.ref != facts.ref:  # what was said of an engine is for its model only
        state = replace(state, offered=None)
    return replace(passed(state, "model"), facts=facts, advice=None, choice=None), Do(effects.Recipe(facts.ref))


def _not_inspected(state: State, error: WizardError) -> Move:
    """What can be answered differently: another model, a token; a pinned model has no other."""
    if state.manner == "screens":
        return _ask(state)
    if state.manner == "questions" and error.code == GATED:
        return _ask(replace(state, at="token"), error)
    if state.manner == "unattended" or "model" in state.workshop.pin:
        return state, Finished(error)
    state = replace(state, given={**state.given, "model": None}, shown="model")
    return state, Do(effects.Suggest(there(state.host), state.offline), error)


# -- advice ------------------------------------------------------------------------------------------------------------


def _settled(state: State, outcome: Outcome) -> Move:
    """The recipe is known, and so all answers."""
    if isinstance(outcome.value, WizardError):
        return state, Finished(outcome.value)
    state = replace(state, recipe=outcome.value, shown=None)
    if state.resumed is not None:
        from wizard.advise.advice import Wishes

        free = not Wishes.__dataclass_fields__.keys() & state.workshop.pin.keys()
        state = replace(state, resumed=None, offered={})
        return _enter(state, "review" if free else "advice")  # it may have been made without what is pinned
    return _enter(state, "engine")


def _engine(state: State) -> Move:
    return _ask(state) if engine_offer(state) is not None else _enter(state, "advice")


def _engine_chosen(state: State, answer: Answer) -> Move:
    offered = {PYTHON: answer.value} if answer.value else {}
    return _enter(replace(state, offered=offered), "advice")


def _advice(state: State) -> Move:
    if state.manner == "screens" and not hides(state, "advice"):
        return _ask(state)
    return _advise(state)


def _advise(state: State, error: WizardError | None = None) -> Move:
    from wizard.plan.questions import wishes

    return state, Do(effects.Advise(there(state.host), there(state.facts), wishes(known(state))), error)


def _advised(state: State, outcome: Outcome) -> Move:
    advice = outcome.value
    if isinstance(advice, WizardError):
        return _not_advised(state, advice)
    state = replace(state, advice=advice)
    if advice.choices and hides(state, "advice"):
        return _enter(replace(state, choice=advice.choices[0]), "review")
    return _ask(state)


def _not_advised(state: State, error: WizardError) -> Move:
    """A Python that cannot serve is taken back; what else is wrong cannot be answered differently here."""
    if state.manner == "screens":
        return _ask(state)
    if state.manner == "unattended" or not (state.given.get(PYTHON) or (state.offered or {}).get(PYTHON)):
        return state, Finished(error)
    given = {name: value for name, value in state.given.items() if name != PYTHON}
    return _advise(replace(state, given=given, offered={}), error)


def _choice_made(state: State, answer: Answer) -> Move:
    if answer.value not in (None, "nearest"):
        return _enter(replace(passed(state, "advice"), choice=answer.value), "review")
    if answer.value == "nearest" and state.advice is not None:
        state = with_answers(state, nearest(state.advice))
    return _advise(replace(state, shown="advice"))


# -- plan, build, chat -------------------------------------------------------------------------------------------------


def _review(state: State) -> Move:
    if state.manner == "screens" and not hides(state, "review"):
        return _ask(state)
    own: Any = server(state)
    about = there(state.host), there(state.facts), there(state.choice)
    return state, Do(effects.MakePlan(*about, own.get("name"), own.get("http_port")))


def _planned(state: State, outcome: Outcome) -> Move:
    plan = outcome.value
    if not isinstance(plan, WizardError):
        state = replace(state, plan=plan)
        return _reviewed(state, Answer(plan)) if hides(state, "review") and plan.is_for_here else _ask(state)
    if state.manner == "screens":
        return _ask(state)
    if state.manner == "unattended":
        return state, Finished(plan)
    if isinstance(plan, UsageError):  # another name or port
        given = {name: value for name, value in state.given.items() if name not in NAMES}
        return _ask(replace(state, given=given, plan=None), plan)
    return _ask(replace(state, at="advice"), plan)


def _reviewed(state: State, answer: Answer) -> Move:
    if answer.value is None:
        return _review(replace(state, shown="review"))
    if not answer.value.is_for_here:
        return state, Finished()
    return _enter(replace(passed(state, "review"), plan=answer.value, left_out=(), conversation=None), "build")


def _build(state: State) -> Move:
    return (
        _ask(state) if state.manner == "screens" else (state, Do(effects.Carry(there(state.plan), skip=state.left_out)))
    )


def _carried(state: State, outcome: Outcome) -> Move:
    if not isinstance(outcome.value, WizardError):
        return _enter(replace(state, endpoint=outcome.value), "chat")
    return (state, Finished(outcome.value)) if state.manner == "unattended" else _ask(state, outcome.value)


def _build_seen(state: State, answer: Answer) -> Move:
    how = answer.value
    if how == "background":
        return _enter(state, "welcome")
    if isinstance(how, Talk):
        return _enter(replace(state, endpoint=how.endpoint), "chat")
    if isinstance(how, Skip):
        state = replace(state, left_out=(*state.left_out, how.step))
    redo = (how.step,) if isinstance(how, Redo) else ()
    state = replace(state, left_out=tuple(step for step in state.left_out if step not in redo))
    return state, Do(effects.Carry(there(state.plan), redo, state.left_out))


def _talk(state: State, endpoint: Endpoint) -> Move:
    """To the chat with a server that runs already."""
    state = replace(state, endpoint=endpoint, plan=None, at="chat")
    return (state, Do(effects.Recall(endpoint.name))) if state.manner == "screens" else _ask(state)


def _recalled(state: State, outcome: Outcome) -> Move:
    return _ask(replace(state, plan=None if isinstance(outcome.value, WizardError) else outcome.value))


def _chatted(state: State, answer: Answer) -> Move:
    if state.manner != "screens":
        return state, Finished()
    state = replace(state, conversation=answer.conversation or state.conversation)
    if answer.value == "restart" and state.endpoint is not None:
        return state, Do(effects.Find(state.endpoint.name))
    return _another(state)


def _another(state: State) -> Move:
    """Another model: it is another server, too, and what is free of the machine is to be looked at again."""
    given = {name: value for name, value in state.given.items() if name not in NAMES}
    state = replace(state, given=given, server=None, host=None, facts=None, offered=None, trail=("welcome",))
    return _enter(state, "machine")


def _found(state: State, outcome: Outcome) -> Move:
    """A server that is to be restarted may have been started again elsewhere."""
    there = outcome.value
    if there is not None and there != state.endpoint:
        return _talk(state, there)
    return _another(state) if state.plan is None else _enter(replace(state, trail=("welcome",)), "build")


ENTRANCES: Mapping[Stage, Callable[[State], Move]] = {
    "welcome": _welcome,
    "machine": _machine,
    "model": _model,
    "engine": _engine,
    "advice": _advice,
    "review": _review,
    "build": _build,
}
"""Stage → what is to be done before it is asked about; the others are asked about at once."""
ANSWERS: Mapping[Stage, Callable[[State, Answer], Move]] = {
    "welcome": _welcomed,
    "recipes": _recipe_chosen,
    "machine": _machine_seen,
    "model": _model_chosen,
    "token": _token_given,
    "engine": _engine_chosen,
    "advice": _choice_made,
    "review": _reviewed,
    "build": _build_seen,
    "chat": _chatted,
}
OUTCOMES: Mapping[type, Callable[[State, Outcome], Move]] = {
    effects.Probe: _probed,
    effects.Look: _looked,
    effects.Suggest: _suggested,
    effects.Inspect: _inspected,
    effects.Recipe: _settled,
    effects.Advise: _advised,
    effects.MakePlan: _planned,
    effects.Carry: _carried,
    effects.Recall: _recalled,
    effects.Find: _found,
}
