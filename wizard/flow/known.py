"""All answers so far, by precedence, and what a workshop hides. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from wizard.advise.advice import Advice
    from wizard.flow.values import Stage, State
    from wizard.kernel.errors import WizardError
    from wizard.plan.engine_offer import Offer
    from wizard.plan.question import Answers

T = TypeVar("T")
NAMES = ("name", "http_port")
"""Answers that apply to a single server (`wizard.plan.questions.SERVER`)."""
PYTHON = "engine_python"
"""The answer that may be offered (`wizard.plan.questions.ENGINE_PYTHON`)."""


def ref(state: State) -> str:
    """The named model; empty if none was named."""
    return str({**state.given, **state.workshop.pin}.get("model") or "")


def known(state: State) -> Answers:
    """All answers: pinned ones take precedence over given ones, and those over the recipe's."""
    from wizard.catalog.recipes import answered

    name = state.facts.ref if state.facts else ref(state)
    given = {**(state.offered or {}), **state.given, **state.workshop.pin}
    merged = answered(name, given, [state.recipe] if state.recipe else [])
    return {name: value for name, value in merged.items() if value is not None}


def server(state: State) -> Answers:
    """Name and port of the server, if given."""
    own = known(state) if state.server is None else {**state.server, **state.workshop.pin}
    return {name: own[name] for name in NAMES if own.get(name) is not None}


def engine_offer(state: State) -> Offer | None:
    """The question about an existing engine, if it must be asked."""
    from wizard.plan.engine_offer import offer

    settled = state.offered is not None or state.manner == "unattended" or hides(state, "advice")
    return None if settled else offer(there(state.host), there(state.facts), known(state))


def hides(state: State, stage: Stage) -> bool:
    """Whether ``stage`` is skipped automatically; a stage that the user came back to is shown."""
    return (state.manner == "unattended" or stage in state.workshop.hide) and state.shown != stage


def there(value: T | None) -> T:
    """The values that earlier stages produced, in the order of the stages."""
    if value is None:
        raise LookupError
    return value


def accepted(state: State) -> bool:
    """Whether the plan was accepted in advance and can run here."""
    return state.given.get("accept") is True and state.plan is not None and state.plan.is_for_here


def nearest(advice: Advice) -> Answers:
    """The changes of the first remedy if the setup is not possible as requested; None if there is no remedy."""
    from wizard.advise import refusals

    remedies = advice.rejections[0].remedies if not advice.choices and advice.rejections else ()
    return dict(refusals.changes(remedies))


def fixes(state: State, error: WizardError | None) -> Answers:
    """Answers that avoid the known failure behind ``error``: those that would change the setup; pinned ones stay."""
    from wizard.catalog.failures import failures

    failure = failures().get(error.known) if error is not None else None
    if failure is None or state.choice is None or state.facts is None or state.host is None:
        return {}
    given, choice = known(state), state.choice
    present = {"max_len": choice.max_seq_len, "users": choice.max_batch_size, "tp": choice.tp}
    answers: Answers = {}
    for name, value in failure.changes.items():
        smaller = isinstance(value, int) and name in present and present[name] > value > 0
        other = not isinstance(value, int) or value is False
        if name not in state.workshop.pin and (smaller or (other and given.get(name) not in (None, value))):
            answers[name] = None if value is False else value
    return answers
