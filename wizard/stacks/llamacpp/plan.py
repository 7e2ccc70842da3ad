"""The stack `llamacpp`: a GGUF model on llama.cpp behind Triton's Python backend; the default without an NVIDIA GPU."""

from __future__ import annotations

from wizard.advise.advice import Choice
from wizard.kernel.language import tr
from wizard.kernel.values import fingerprint
from wizard.model.facts import ModelFacts
from wizard.plan.artefacts import MODEL, REPOSITORY
from wizard.plan.fetch import fetch
from wizard.plan.options import Options
from wizard.plan.plan import Estimate, Step
from wizard.plan.ports import Ports
from wizard.plan.runtimes.runtime import Runtime
from wizard.plan.serving import question_step, repository_step, serve_steps
from wizard.plan.stack import StackPlan
from wizard.probe.host import Host
from wizard.stacks.llamacpp import repository

READY_SECONDS = 180.0
"""A large file on a slow disk must be read once."""


def steps(
    choice: Choice, host: Host, facts: ModelFacts, runtime: Runtime, ports: Ports, question: str, options: Options
) -> tuple[Step, ...]:
    """All steps from nothing to a first answer; see `wizard.plan.stack.Steps`."""
    model = runtime.server.name
    get = fetch(facts, runtime.workspace)
    made = repository.repository(model, gguf_path=str(get.path), facts=facts, choice=choice, threads=host.cpu.cores)
    write = repository_step(
        runtime,
        made,
        tr(
            "This repository contains model.py, which streams tokens from llama.cpp. 'decoupled' means that one "
            "request can have many responses, one per piece of text."
        ),
    )
    prepared = (*runtime.prepare(), get.step, write)
    start = runtime.start(model, ports, fingerprint([step.fingerprint for step in prepared]), reads=get.reads)
    reads = (*runtime.server_needs, MODEL, REPOSITORY)
    return (*prepared, *serve_steps(start, reads, READY_SECONDS, Estimate(2)), question_step(runtime, question))


def notes(choice: Choice, host: Host, facts: ModelFacts) -> tuple[str, ...]:
    """None: a GGUF file contains no code."""
    return ()


PORT = StackPlan(steps, notes=notes)
