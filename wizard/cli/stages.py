"""The commands that inspect and plan: probe, model, advise, speed, plan. None of them changes anything."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from wizard.cli.command_lines import fit
from wizard.cli.workshop import explanations_of
from wizard.kernel.errors import UsageError
from wizard.kernel.language import ntr, tr

if TYPE_CHECKING:
    from wizard.kernel.paths import Workspace
    from wizard.probe.host import Host


def print_json(data: Any) -> None:
    """Print a value on a single line of standard output, the same in every language."""
    from wizard.kernel.values import to_json
    from wizard.texts.data import data as user_errors

    print(to_json(user_errors(data)), flush=True)


def workspace_of(arguments: argparse.Namespace) -> Workspace:
    """The workspace of the command."""
    from wizard.kernel.paths import Workspace

    return Workspace.at(arguments.workspace)


def host_of(arguments: argparse.Namespace) -> Host:
    """The machine of the command."""
    from wizard import journey

    return journey.probe(workspace_of(arguments), hardware=arguments.hardware)


BUSY = 0.75
"""Share of the cores below which other programs may have used them."""


def probe(arguments: argparse.Namespace) -> int:
    """`triton-wizard probe`."""
    from pathlib import Path

    if arguments.watch:
        return _watch(arguments)
    if arguments.measure and arguments.hardware:
        raise UsageError("TW-U10", tr("--measure measures only this machine"), tr("Omit --hardware."))
    from wizard import journey

    host = host_of(arguments)
    if arguments.measure:
        rates = journey.measure_cpu(host, workspace_of(arguments))
        cores = ntr("{count} core", "{count} cores", rates.cores, count=rates.cores)
        speed = f"{rates.bandwidth / 1e9:.1f} GB/s"
        print(tr("Memory bandwidth of {cores}: {speed}", cores=cores, speed=speed), file=sys.stderr)
        together = tr("Together they compute {times:.1f} times as much as one alone.", times=rates.computing)
        print(together, file=sys.stderr)
        if rates.computing < BUSY * rates.cores:
            print(tr("If other programs are running, measure again without them."), file=sys.stderr)
    if arguments.save:
        journey.save_host(host, Path(arguments.save))
        print(tr("Saved to {file}; use it with --hardware {file}", file=arguments.save), file=sys.stderr)
    if arguments.json:
        print_json(host)
    else:
        from wizard.probe.report import text

        print(text(host))
    return 0


def _watch(arguments: argparse.Namespace) -> int:
    """Print live readings until Ctrl-C, as text or as an object per line."""
    from wizard import journey
    from wizard.kernel.text import is_terminal
    from wizard.prompts.live_readings import reading_text, readings
    from wizard.prompts.speech import say

    if arguments.hardware or arguments.save or arguments.measure:
        message = tr("--watch monitors only this machine and saves nothing")
        raise UsageError("TW-U10", message, tr("Omit --hardware, --save and --measure."))
    for reading in readings(journey.monitor(), arguments.watch):
        if arguments.json:
            print_json(reading)
        elif is_terminal(sys.stdout):
            say(reading_text(reading))
        else:
            print(reading_text(reading), flush=True)
    return 0


def model(arguments: argparse.Namespace) -> int:
    """`triton-wizard model`."""
    from wizard import journey

    facts = journey.model(arguments.ref, offline=arguments.offline)
    if arguments.json:
        print_json(facts)
    else:
        from wizard.model.report import text

        print(text(facts))
    return 0


def advise(arguments: argparse.Namespace) -> int:
    """`triton-wizard advise`."""
    from dataclasses import replace

    from wizard.cli.walk import walked
    from wizard.flow.effects import MakePlan
    from wizard.flow.known import there
    from wizard.kernel.errors import InfeasibleError

    if arguments.cases and arguments.ref:
        todo = tr("Pass one: `triton-wizard advise MODEL`, or --cases FILE.yaml.")
        raise UsageError("TW-U08", tr("both a model and a cases file were given"), todo)
    if arguments.pareto:
        return _pareto(arguments)
    if arguments.cases:
        return _cases(arguments)
    if arguments.ref is None:
        return _models(arguments)
    state = walked(arguments, MakePlan)
    host, facts, advice = there(state.host), there(state.facts), there(state.advice)
    if arguments.json:
        print_json(replace(advice, choices=advice.choices[: arguments.top]))
    else:
        from wizard.prompts.value_text import advice_text
        from wizard.texts.explain import figures

        why = figures(host, facts, advice.choices[0]) if arguments.explain and advice.choices else ()
        print(advice_text(advice, facts, top=arguments.top, figures=why, fit=fit(arguments)))
    return 0 if advice.feasible else InfeasibleError.exit_code


def _models(arguments: argparse.Namespace) -> int:
    """The well-known models for this machine, the most suitable first."""
    from wizard import journey
    from wizard.flow.perform import models as offered
    from wizard.flow.values import State
    from wizard.plan.offer_list import shortened
    from wizard.prompts.options import models_text

    state = State({}, hardware=arguments.hardware, offline=arguments.offline, at="machine")
    models = offered(journey, workspace_of(arguments), state)
    if arguments.json:
        print_json(models)
    else:
        print(models_text(models if arguments.top is None else shortened(models, arguments.top), fit(arguments)))
    return 0


def _pareto(arguments: argparse.Namespace) -> int:
    """The Pareto front instead of the recommendation."""
    from wizard import journey
    from wizard.cli.walk import walked
    from wizard.flow.effects import MakePlan
    from wizard.flow.perform import front as computed
    from wizard.kernel.errors import InfeasibleError

    if arguments.cases or arguments.top or arguments.explain:
        raise UsageError("TW-U08", tr("--pareto excludes --cases, --top and --explain"), tr("Omit them."))
    if arguments.ref is None:
        todo = tr("Pass one: `triton-wizard advise MODEL --pareto`.")
        raise UsageError("TW-U08", tr("--pareto needs a model"), todo)
    front = computed(journey, workspace_of(arguments), walked(arguments, MakePlan))
    if arguments.json:
        print_json(front)
    else:
        from wizard.prompts.value_text import pareto_text

        print(pareto_text(front, fit=fit(arguments)))
    return InfeasibleError.exit_code if front.rejections else 0


def _cases(arguments: argparse.Namespace) -> int:
    """A line per case; a case that cannot be served is only in its line, an invalid case also in the exit status."""
    from dataclasses import replace
    from pathlib import Path

    from wizard import journey
    from wizard.kernel.text import plain
    from wizard.texts import reasons
    from wizard.texts.report import choice_room, choice_title

    status = 0
    for name, advice in journey.cases(Path(arguments.cases)):
        if isinstance(advice, UsageError):
            status = advice.exit_code
            wrong = {"id": name, "error": {"code": advice.code, "text": advice.what}}
            if arguments.json:
                print_json(wrong)
            else:
                print(plain(f"{name}: {advice.code}: {advice.what}"))
            continue
        if arguments.json:
            print_json({"id": name, "advice": replace(advice, choices=advice.choices[: arguments.top])})
            continue
        first = advice.choices[0] if advice.feasible else None
        verdict = f"{choice_title(first)}: {choice_room(first)}" if first else reasons.text(advice.rejections[0].reason)
        print(plain(f"{name}: {verdict}"))
    return status


def speed(arguments: argparse.Namespace) -> int:
    """`triton-wizard speed`."""
    from wizard import journey
    from wizard.advise.providers import text
    from wizard.advise.setup import Setup
    from wizard.advise.speed import Load
    from wizard.catalog.stacks import names

    facts = journey.model(arguments.ref, offline=arguments.offline)
    setup = Setup(
        arguments.stack or names()[0],
        arguments.dtype or ("float16" if facts.dtype == "float16" else "bfloat16"),
        arguments.quantization or (facts.quantization and facts.quantization.format) or "none",
        arguments.kv_dtype or "auto",
        arguments.tp or 1,
        arguments.pp or 1,
    )
    load = Load(arguments.concurrency, arguments.isl, arguments.osl)
    estimate = journey.speed(host_of(arguments), facts, setup, load, provider=arguments.provider)
    if arguments.json:
        print_json(estimate)
    else:
        print(text(estimate, load))
    return 0


def plan(arguments: argparse.Namespace) -> int:
    """`triton-wizard plan`."""
    from wizard.cli.walk import make_plan

    plan = make_plan(arguments)
    if arguments.json:
        print_json(plan)
    elif arguments.shell:
        from wizard import journey

        print(journey.export(plan, "shell"), end="")
    else:
        from wizard.prompts.value_text import plan_text

        print(plan_text(plan, files=arguments.full, workshop=explanations_of(arguments), fit=fit(arguments)))
    return 0
