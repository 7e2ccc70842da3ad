"""The flow of commands without questions: flags answer, or an answers file, or the defaults."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from wizard.cli.workshop import answers_of
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr

if TYPE_CHECKING:
    from wizard.flow.effects import Effect
    from wizard.flow.values import State
    from wizard.plan.plan import Plan


def constraints_given(arguments: argparse.Namespace) -> dict[str, Any]:
    """The constraints given as flags, by name."""
    from wizard.plan.questions import CONSTRAINTS, SETUP

    flags = {question.name: getattr(arguments, question.name, None) for question in (*CONSTRAINTS, *SETUP)}
    return {name: value for name, value in flags.items() if value is not None}


def walked(arguments: argparse.Namespace, until: type[Effect]) -> State:
    """Run the flow with the flags alone, up to the first effect of type ``until``.

    Raises:
        UsageError: TW-U04 if no model is named, and none can be suggested.
    """
    from wizard import journey
    from wizard.flow.perform import unattended
    from wizard.flow.values import Ask, State
    from wizard.kernel.paths import Workspace

    server = {name: getattr(arguments, name, None) for name in ("name", "http_port")}
    given = {"model": arguments.ref, **server, **constraints_given(arguments)}
    state = State(given, hardware=arguments.hardware, offline=arguments.offline, at="machine")
    state, following = unattended(journey, Workspace.at(arguments.workspace), state, until)
    if isinstance(following, Ask) and following.stage == "model":
        todo = tr("Pass a model: `triton-wizard up MODEL`.")
        raise UsageError("TW-U04", tr("no model can be recommended for this machine"), todo)
    return state


def make_plan(arguments: argparse.Namespace) -> Plan:
    """The plan for the arguments: a flag overrides an answers file, which overrides the defaults.

    Raises:
        InfeasibleError: TW-A01 if no configuration can serve the model.
        WizardError: See `walked` and the stages.
    """
    from wizard import journey
    from wizard.flow.effects import RunPlan
    from wizard.flow.known import there
    from wizard.kernel.paths import Workspace

    if arguments.answers:
        from wizard.plan.answers import read_answers

        for name, value in read_answers(arguments.answers).items():
            flag = {"model": "ref", "accept": "yes"}.get(name, name)
            if not getattr(arguments, flag, None):  # a flag overrides the file
                setattr(arguments, flag, value)
    answers_of(arguments)
    if arguments.ref and (earlier := journey.earlier_model(Workspace.at(arguments.workspace), arguments.ref)):
        arguments.name, arguments.ref = arguments.name or arguments.ref, earlier
    state = walked(arguments, RunPlan)
    if state.plan is None:
        journey.recommended(there(state.advice))
    return there(state.plan)
