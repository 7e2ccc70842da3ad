"""The stages in which everything is chosen: welcome, machine, model, advice. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wizard.flow import effects
from wizard.flow.known import PYTHON, engine_offer, hides, known, nearest, ref, there
from wizard.flow.moves import Move, ask, failed, go, passed, started, with_answers, without
from wizard.flow.serving import talk
from wizard.flow.values import Answer, Do, Finished, Outcome, Resume, Serve, State, Talk, Watch
from wizard.kernel.errors import WizardError

if TYPE_CHECKING:
    from wizard.plan.plan import Plan

GATED = "TW-M12"
"""The error of a model that is gated, or that the present token does not open (`wizard.model.hub_errors`)."""


def _resume(state: State, plan: Plan) -> Move:
    """Set a server up again that does not run any more: its plan is made again, for the machine as it is now."""
    state = replace(started(state, plan.facts.ref), server={"name": plan.name}, resumed=plan)
    if state.host is None or not state.host.runs_triton:
        return go(state, "machine")
    state = replace(state, facts=plan.facts, choice=plan.choice, trail=("welcome",))
    return state, Do(effects.Recipe(plan.facts.ref))


# -- welcome, machine --------------------------------------------------------------------------------------------------


def to_welcome(state: State) -> Move:
    """Nothing comes before it."""
    return ask(replace(state, trail=(), server=None, resumed=None))


def welcomed(state: State, answer: Answer) -> Move:
    """The way on that was chosen: a server that runs, is being built or was set up before, or another one."""
    way, state = answer.value, replace(passed(state, "welcome"), host=answer.host or state.host)
    if isinstance(way, Resume):
        return _resume(state, way.plan)
    if isinstance(way, Watch):
        return go(replace(state, plan=way.plan), "build")
    if isinstance(way, Talk):
        return talk(state, way.endpoint)
    if way == "recipes":
        return go(state, "recipes")
    if isinstance(way, Serve) and state.manner == "screens":
        state = started(state, way.ref)
    lacks = state.host is None or not state.host.runs_triton
    return go(state, "machine" if way == "machine" or (lacks and state.manner == "screens") else "model")


def recipe_chosen(state: State, answer: Answer) -> Move:
    """Its name is that of its model."""
    state = started(passed(state, "recipes"), answer.value)
    return go(state, "model" if state.host is not None and state.host.runs_triton else "machine")


def to_machine(state: State) -> Move:
    """Look at it first, unless the screen does."""
    if state.host is None and (hides(state, "machine") or state.manner != "screens"):
        return state, Do(effects.Probe(state.hardware))
    if hides(state, "machine") and state.host is not None and (state.host.runs_triton or state.manner == "unattended"):
        return _after_machine(state)
    return ask(state)


def probed(state: State, outcome: Outcome) -> Move:
    """It is known, or why it is not."""
    if isinstance(outcome.value, WizardError):
        return failed(state, outcome.value)
    return to_machine(replace(state, host=outcome.value))


def machine_seen(state: State, answer: Answer) -> Move:
    """It was shown, perhaps with newer readings."""
    return _after_machine(passed(replace(state, host=answer.value or state.host), "machine"))


def _after_machine(state: State) -> Move:
    """From the machine on; a running server is offered where no welcome has done it."""
    if state.resumed is not None:
        return _resume(state, state.resumed)
    if state.manner == "questions" and not state.hardware and not ref(state):
        return state, Do(effects.Look())
    return go(state, "model")


def looked(state: State, outcome: Outcome) -> Move:
    """Servers that answer are offered before a model is chosen."""
    if isinstance(outcome.value, WizardError):
        return state, Finished(outcome.value)
    if not outcome.value:
        return go(state, "model")
    return ask(replace(state, at="welcome"), options=tuple(outcome.value))


# -- model -------------------------------------------------------------------------------------------------------------


def to_model(state: State) -> Move:
    """Describe the one that was named, or look for some to offer."""
    name = ref(state)
    if state.manner == "screens" and not hides(state, "model"):
        return ask(replace(state, take=False), take=state.take)
    if name:
        return state, Do(effects.Inspect(name, state.offline))
    return state, Do(effects.Suggest(there(state.host), state.offline))


def suggested(state: State, outcome: Outcome) -> Move:
    """Offer them; a hidden question takes the first that can be used."""
    if isinstance(outcome.value, WizardError):
        return failed(state, outcome.value)
    best = next((suggestion.ref for suggestion in outcome.value if suggestion.usable), None)
    if best is not None and hides(state, "model"):
        return model_chosen(state, Answer(best))
    return ask(state, options=tuple(outcome.value))


def model_chosen(state: State, answer: Answer) -> Move:
    """Describe it, unless the screen has done so."""
    if not isinstance(answer.value, str):
        return inspected(state, Outcome(effects.Inspect(answer.value.ref, state.offline), answer.value))
    state = replace(state, given={**state.given, "model": answer.value})
    return state, Do(effects.Inspect(answer.value, state.offline))


def token_given(state: State, answer: Answer) -> Move:
    """Once more with the token; without one another model is chosen."""
    if answer.value:
        return replace(state, at="model"), Do(effects.Inspect(ref(state), state.offline, answer.value))
    return go(without(state, "model"), "model")


def inspected(state: State, outcome: Outcome) -> Move:
    """It is described, or why it is not."""
    facts = outcome.value
    if isinstance(facts, WizardError):
        return _not_inspected(state, facts)
    if state.facts is None or state.facts.ref != facts.ref:  # what was said of an engine is for its model only
        state = replace(state, offered=None)
    return replace(passed(state, "model"), facts=facts, advice=None, choice=None), Do(effects.Recipe(facts.ref))


def _not_inspected(state: State, error: WizardError) -> Move:
    """What can be answered differently: another model, a token; a pinned model has no other."""
    if state.manner != "questions":
        return failed(state, error)
    if error.code == GATED:
        return ask(replace(state, at="token"), error)
    if "model" in state.workshop.pin:
        return state, Finished(error)
    return replace(without(state, "model"), shown="model"), Do(effects.Suggest(there(state.host), state.offline), error)


# -- advice ------------------------------------------------------------------------------------------------------------


def settled(state: State, outcome: Outcome) -> Move:
    """The recipe is known, and so all answers."""
    if isinstance(outcome.value, WizardError):
        return state, Finished(outcome.value)
    state = replace(state, recipe=outcome.value, shown=None)
    if state.resumed is not None:
        from wizard.advise.advice import Constraints

        free = not Constraints.__dataclass_fields__.keys() & state.workshop.pin.keys()
        state = replace(state, resumed=None, offered={})
        return go(state, "review" if free else "advice")  # it may have been made without what is pinned
    return go(state, "engine")


def to_engine(state: State) -> Move:
    """Only where there is an engine to offer."""
    return ask(state) if engine_offer(state) is not None else go(state, "advice")


def engine_chosen(state: State, answer: Answer) -> Move:
    """It is not asked again for this model, whatever the answer."""
    offered = {PYTHON: answer.value} if answer.value else {}
    return go(replace(state, offered=offered), "advice")


def to_advice(state: State) -> Move:
    """Ask for it first, unless the screen does."""
    if state.manner == "screens" and not hides(state, "advice"):
        return ask(state)
    return _advise(state)


def _advise(state: State, error: WizardError | None = None) -> Move:
    from wizard.plan.questions import constraints

    return state, Do(effects.Advise(there(state.host), there(state.facts), constraints(known(state))), error)


def advised(state: State, outcome: Outcome) -> Move:
    """It is known, or why it is not; a hidden question takes the first choice."""
    advice = outcome.value
    if isinstance(advice, WizardError):
        return _not_advised(state, advice)
    state = replace(state, advice=advice)
    if advice.choices and hides(state, "advice"):
        return go(replace(state, choice=advice.choices[0]), "review")
    return ask(state)


def _not_advised(state: State, error: WizardError) -> Move:
    """A Python that cannot serve is taken back; what else is wrong cannot be answered differently here."""
    python = state.given.get(PYTHON) or (state.offered or {}).get(PYTHON)
    if state.manner != "questions" or not python:
        return failed(state, error)
    return _advise(replace(without(state, PYTHON), offered={}), error)


def choice_made(state: State, answer: Answer) -> Move:
    """A choice leads to the plan; changed answers lead to new advice."""
    if answer.value not in (None, "nearest"):
        return go(replace(passed(state, "advice"), choice=answer.value), "review")
    if answer.value == "nearest" and state.advice is not None:
        state = with_answers(state, nearest(state.advice))
    return _advise(replace(state, shown="advice"))
