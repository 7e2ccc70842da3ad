"""Answers that are changed along the way: a constraint, or those about the server and the chat."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from wizard.advise.advice import Constraints
from wizard.flow.known import known
from wizard.flow.values import State
from wizard.kernel.language import tr
from wizard.plan.question import Answers, Question
from wizard.plan.questions import CONSTRAINTS, SETUP, constraints
from wizard.prompts.ask import Ask, ask_question
from wizard.prompts.options import as_value, now


def changed(ask: Ask, state: State) -> Answers:
    """The changed constraint, or all constraints reset."""
    answers = known(state)
    options: list[tuple[str, Question | Literal["nothing", "back"]]] = [
        (f"{tr(question.text).rstrip('?')}: {now(question, answers)}", question)
        for question in (*CONSTRAINTS, *SETUP)
        if question.name not in state.workshop.pin
    ]
    given = {**(state.offered or {}), **state.given}
    if constraints({name: value for name, value in given.items() if value is not None}) != Constraints():
        options.append((tr("Reset all constraints"), "nothing"))
    picked = ask.choose(tr("What do you want to change?"), [*options, (tr("Change nothing"), "back")])
    if picked == "nothing":
        return dict.fromkeys(question.name for question in (*CONSTRAINTS, *SETUP))
    return {} if picked == "back" else {picked.name: ask_question(ask, picked, as_value(answers.get(picked.name)))}


def asked_all(ask: Ask, questions: Iterable[Question], state: State, typed: Answers, kept: Answers) -> None:
    """Ask those ``questions`` that apply and are not pinned, and store each answer in ``typed``.

    Enter selects the answer ``kept`` from an earlier run, unless there is a newer one.
    """
    for question in questions:
        answers = {**known(state), **typed}
        if question.when(answers) and question.name not in state.workshop.pin:
            default = as_value(answers.get(question.name, kept.get(question.name)))
            answer = ask_question(ask, question, default)
            if answer is not None:
                typed[question.name] = answer
