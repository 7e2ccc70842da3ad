"""The stages after the chat: what to measure, the benchmark, its report. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wizard.flow import effects
from wizard.flow.known import hides, there
from wizard.flow.moves import Move, ask, go
from wizard.flow.serving import talk
from wizard.flow.values import Answer, Do, Finished, Outcome, State
from wizard.kernel.errors import WizardError

if TYPE_CHECKING:
    from wizard.bench.order import Wanted


def to_bench(state: State) -> Move:
    """The chat is over; nothing is asked of users who accepted everything in advance."""
    return _over(state) if hides(state, "bench") or state.given.get("accept") is True else ask(state)


def bench_chosen(state: State, answer: Answer) -> Move:
    """Measure, read an earlier report, or neither."""
    if answer.value is None:
        return _over(replace(state, report=""))
    if isinstance(answer.value, str):
        return go(replace(state, report=answer.value), "report")
    wanted: Wanted = answer.value
    return go(replace(state, wanted=wanted, report=""), "measure")


def _over(state: State) -> Move:
    """A screen goes back to the chat; elsewhere this is the end."""
    return talk(state, there(state.endpoint)) if state.manner == "screens" else (state, Finished())


def to_measure(state: State) -> Move:
    """Measure, unless the screen does."""
    if state.manner == "screens":
        return ask(state)
    return state, Do(effects.Measure(there(state.endpoint), there(state.wanted)))


def measured(state: State, outcome: Outcome) -> Move:
    """Show the report, or the error."""
    if isinstance(outcome.value, WizardError):
        return ask(replace(state, at="bench"), outcome.value)
    return measure_seen(state, Answer(outcome.value))


def measure_seen(state: State, answer: Answer) -> Move:
    """Show the report, if there is one."""
    return go(state, "bench") if answer.value is None else go(replace(state, report=answer.value), "report")


def to_report(state: State) -> Move:
    """Read it."""
    return state, Do(effects.ReadReport(state.report))


def report_read(state: State, outcome: Outcome) -> Move:
    """Show it, or why it cannot be read."""
    if isinstance(outcome.value, WizardError):
        return ask(replace(state, at="bench"), outcome.value)
    return ask(state, options=(outcome.value,))


def report_seen(state: State, _answer: Answer) -> Move:
    """Measure again, or read another one."""
    return go(state, "bench")
