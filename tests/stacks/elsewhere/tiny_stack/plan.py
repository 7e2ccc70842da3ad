"""The port `plan`."""

from __future__ import annotations

from pathlib import Path

from wizard.kernel.values import fingerprint
from wizard.plan.artefacts import MODEL, REPOSITORY
from wizard.plan.fetch import fetch
from wizard.plan.serving import question_step, repository_step, serve_steps
from wizard.plan.stack import StackPlan
from wizard.repository import proxy

ENGINE = proxy.Engine(Path(__file__).parent / "engine" / "tiny_engine.py")


def steps(choice, host, facts, runtime, ports, question, options):
    get = fetch(facts, runtime.workspace)
    made = proxy.repository(
        runtime.server.name, engine=ENGINE, python=runtime.python, settings={}, env={}, facts=facts, choice=choice
    )
    prepared = (*runtime.prepare(), get.step, repository_step(runtime, made, "It counts."))
    made_from = fingerprint([step.fingerprint for step in prepared])
    start = runtime.start(runtime.server.name, ports, made_from, reads=get.reads)
    reads = (*runtime.server_needs, MODEL, REPOSITORY)
    return (*prepared, *serve_steps(start, reads, 60.0), question_step(runtime, question))


PORT = StackPlan(steps, options=frozenset({"max_num_seqs"}))
