"""The stages with choices: welcome, machine, model, advice. Pure."""

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

UNKNOWN = ("TW-M01", "TW-M11", "TW-M15")
"""Error codes of a name that is no model ID, not on the Hub, or not on this disk while offline."""
GATED = "TW-M12"
"""Error code of a model that is gated, or that the current token cannot access (`wizard.model.hub.errors`)."""


def _resume(state: State, plan: Plan) -> Move:
    """Set up a stopped server again: its plan is rebuilt for the machine as it is now."""
    state = replace(started(state, plan.facts.ref), server={"name": plan.name}, resumed=plan)
    if state.host is None or not state.host.runs_triton:
        return go(state, "machine")
    state = replace(state, facts=plan.facts, choice=plan.choice, trail=("welcome",))
    return state, Do(effects.Recipe(plan.facts.ref))


def _watch(state: State, plan: Plan) -> Move:
    """Show a build that is running; a screen does that itself."""
    if state.manner == "screens":
        return go(replace(state, plan=plan), "build")
    state = replace(started(state, plan.facts.ref), at="build", server={"name": plan.name})
    state = replace(state, facts=plan.facts, choice=plan.choice, plan=plan)
    return state, Do(effects.FollowBuild(plan))


# -- welcome, machine --------------------------------------------------------------------------------------------------


def to_welcome(state: State) -> Move:
    """The first stage; it needs no preparation."""
    return ask(replace(state, trail=(), server=None, resumed=None))


def welcomed(state: State, answer: Answer) -> Move:
    """Handle the selection: a server that is running, being built or set up earlier, or another entry."""
    selection, state = answer.value, replace(passed(state, "welcome"), host=answer.host or state.host)
    if isinstance(selection, Resume):
        return _resume(state, selection.plan)
    if isinstance(selection, Watch):
        return _watch(state, selection.plan)
    if isinstance(selection, Talk):
        return talk(state, selection.endpoint)
    if selection == "recipes":
        return go(state, "recipes")
    if isinstance(selection, Serve) and state.manner == "screens":
        state = started(state, selection.ref)
    lacks = state.host is None or not state.host.runs_triton
    return go(state, "machine" if selection == "machine" or (lacks and state.manner == "screens") else "model")


def recipe_chosen(state: State, answer: Answer) -> Move:
    """Use the recipe, whose name is also its model's name."""
    state = started(passed(state, "recipes"), answer.value)
    return go(state, "model" if state.host is not None and state.host.runs_triton else "machine")


def to_machine(state: State) -> Move:
    """Probe the machine first, unless the screen does."""
    if state.host is None and (hides(state, "machine") or state.manner != "screens"):
        return state, Do(effects.Probe(state.hardware))
    if hides(state, "machine") and state.host is not None and (state.host.runs_triton or state.manner == "unattended"):
        return _after_machine(state)
    return ask(state)


def probed(state: State, outcome: Outcome) -> Move:
    """Continue with the probed machine, or with the error."""
    if isinstance(outcome.value, WizardError):
        return failed(state, outcome.value)
    return to_machine(replace(state, host=outcome.value))


def machine_seen(state: State, answer: Answer) -> Move:
    """The machine was shown, perhaps with newer readings."""
    return _after_machine(passed(replace(state, host=answer.value or state.host), "machine"))


def _after_machine(state: State) -> Move:
    """Continue after the machine; offers what is running if no welcome did."""
    if state.resumed is not None:
        return _resume(state, state.resumed)
    if state.manner == "questions" and not state.hardware and not ref(state):
        return state, Do(effects.Look())
    return go(state, "model")


def looked(state: State, outcome: Outcome) -> Move:
    """Offer a running build and running servers before a model is chosen."""
    if isinstance(outcome.value, WizardError):
        return state, Finished(outcome.value)
    if not outcome.value:
        return go(state, "model")
    return ask(replace(state, at="welcome"), options=tuple(outcome.value))


# -- model -------------------------------------------------------------------------------------------------------------


def to_model(state: State) -> Move:
    """Inspect the named model, or look for models to offer."""
    name = ref(state)
    if state.manner == "screens" and not hides(state, "model"):
        return ask(replace(state, take=False), take=state.take)
    if name:
        return state, Do(effects.Inspect(name, state.offline))
    return state, Do(effects.Suggest(there(state.host), state.offline))


def suggested(state: State, outcome: Outcome) -> Move:
    """Offer the suggestions; a hidden question takes the first usable one."""
    if isinstance(outcome.value, WizardError):
        return failed(state, outcome.value)
    from wizard.plan.offer_list import meant

    best = next((suggestion.ref for suggestion in outcome.value if suggestion.usable), None)
    if best is not None and hides(state, "model"):
        return model_chosen(state, Answer(best))
    similar = meant(state.mistyped, outcome.value) if state.mistyped else []
    refs = {suggestion.ref for suggestion in similar}
    rest = (suggestion for suggestion in outcome.value if suggestion.ref not in refs)
    return ask(replace(state, mistyped=""), options=(*similar, *rest))


def model_chosen(state: State, answer: Answer) -> Move:
    """Inspect the chosen model, unless the screen already did."""
    if not isinstance(answer.value, str):
        return inspected(state, Outcome(effects.Inspect(answer.value.ref, state.offline), answer.value))
    state = replace(state, given={**state.given, "model": answer.value})
    return state, Do(effects.Inspect(answer.value, state.offline))


def token_given(state: State, answer: Answer) -> Move:
    """Retry with the token; without a token choose another model."""
    if answer.value:
        return replace(state, at="model"), Do(effects.Inspect(ref(state), state.offline, answer.value))
    return go(without(state, "model"), "model")


def inspected(state: State, outcome: Outcome) -> Move:
    """Continue with the inspected model, or with the error."""
    facts = outcome.value
    if isinstance(facts, WizardError):
        return _not_inspected(state, facts)
    if state.facts is None or state.facts.ref != facts.ref:  # the answer about an engine applies to its model only
        state = replace(state, offered=None)
    state = replace(passed(state, "model"), facts=facts, advice=None, choice=None)
    from wizard.advise.best import room

    named = facts.source != "hub" or any(file.format == "gguf" for file in facts.weights)
    if not state.offline and not named and state.host and room(state.host).wants_file(facts.weight_bytes or 0):
        return state, Do(effects.FindGguf(facts))
    return state, Do(effects.Recipe(facts.ref))


def gguf_found(state: State, outcome: Outcome) -> Move:
    """Continue with the GGUF files of the model, if there are any."""
    if isinstance(outcome.value, WizardError):
        return failed(state, outcome.value)
    return replace(state, facts=outcome.value), Do(effects.Recipe(outcome.value.ref))


def _not_inspected(state: State, error: WizardError) -> Move:
    """What the user can change: the model or the token; a pinned model has no alternative."""
    if state.manner != "questions":
        return failed(state, error)
    if error.code == GATED:
        return ask(replace(state, at="token"), error)
    if "model" in state.workshop.pin:
        return state, Finished(error)
    again = replace(without(state, "model"), shown="model", mistyped=ref(state) if error.code in UNKNOWN else "")
    return again, Do(effects.Suggest(there(state.host), state.offline), error)


# -- advice ------------------------------------------------------------------------------------------------------------


def settled(state: State, outcome: Outcome) -> Move:
    """Continue with the recipe, which completes the answers."""
    if isinstance(outcome.value, WizardError):
        return state, Finished(outcome.value)
    state = replace(state, recipe=outcome.value, shown=None)
    if state.resumed is not None:
        from wizard.advise.advice import Constraints

        free = not Constraints.__dataclass_fields__.keys() & state.workshop.pin.keys()
        state = replace(state, resumed=None, offered={})
        return go(state, "review" if free else "advice")  # it may have been created without the pinned options
    return go(state, "engine")


def to_engine(state: State) -> Move:
    """Ask about an engine only if there is one to offer."""
    return ask(state) if engine_offer(state) is not None else go(state, "advice")


def engine_chosen(state: State, answer: Answer) -> Move:
    """Store the answer; the question is not repeated for this model."""
    offered = {PYTHON: answer.value} if answer.value else {}
    return go(replace(state, offered=offered), "advice")


def to_advice(state: State) -> Move:
    """Request the advice first, unless the screen does."""
    if state.manner == "screens" and not hides(state, "advice"):
        return ask(state)
    return _advise(state)


def _advise(state: State, error: WizardError | None = None) -> Move:
    from wizard.plan.questions import constraints

    effect = effects.Advise(there(state.host), there(state.facts), constraints(known(state)), state.offline)
    return state, Do(effect, error)


def advised(state: State, outcome: Outcome) -> Move:
    """Continue with the advice, or with the error; a hidden question takes the first choice."""
    advice = outcome.value
    if isinstance(advice, WizardError):
        return _not_advised(state, advice)
    state = replace(state, advice=advice)
    if advice.choices and hides(state, "advice"):
        return go(replace(state, choice=advice.choices[0]), "review")
    return ask(state)


def _not_advised(state: State, error: WizardError) -> Move:
    """Drop a Python that cannot serve, or a model that does not chat; other errors have no different answer here."""
    if state.manner == "questions" and there(state.facts).task:
        return _not_inspected(replace(state, at="model", facts=None), error)
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
