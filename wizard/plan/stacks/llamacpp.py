"""The stack `llamacpp`: a GGUF model on llama.cpp behind Triton's Python backend; the default without an NVIDIA GPU."""

from __future__ import annotations

import sys
from pathlib import Path

from wizard.advise.advice import Choice
from wizard.kernel.paths import suggest_name
from wizard.kernel.values import fingerprint
from wizard.model.facts import ModelFacts
from wizard.plan.plan import Command, Done, Estimate, Ports, Step, Wait, Write
from wizard.plan.runtimes.native import Native
from wizard.probe.host import Host
from wizard.repository import llamacpp as repository

READY_SECONDS = 180.0
"""A large file on a slow disk has to be read once."""


def steps(
    choice: Choice, host: Host, facts: ModelFacts, runtime: Native, ports: Ports, question: str
) -> tuple[Step, ...]:
    """All steps from nothing to a first answer.

    Args:
        choice: What was chosen.
        host: The machine.
        facts: The model.
        runtime: Where and how the commands run.
        ports: Ports that are free now.
        question: The first question.
    """
    model = runtime.server.name
    check = 'import numpy, xllamacpp; print("numpy", numpy.__version__, "· llama.cpp loads")'
    get, gguf = _get_model(facts, runtime)
    prepared = (runtime.create(check), get, _repository(choice, host, facts, runtime, gguf))
    return (*prepared, *_serve(runtime, ports, model, prepared), _first_question(runtime, question))


def _get_model(facts: ModelFacts, runtime: Native) -> tuple[Step, Path]:
    """The step that puts the weights where the server finds them, and that path."""
    name = next((file.name for file in facts.weights if file.format == "gguf"), f"{suggest_name(facts.name)}.gguf")
    mark = fingerprint([facts.location, facts.revision])[:8]  # two models may have the same short name
    folder = runtime.workspace.models / f"{suggest_name(facts.ref)}-{mark}"
    target = folder / Path(name).name
    if facts.local:
        # A link, not a copy: the weights may be many GiB, and the file is the user's.
        actions: tuple[Command, ...] = (
            Command(("mkdir", "-p", str(folder))),
            Command(("ln", "-sfn", str(Path(facts.location).absolute()), str(target))),
        )
        estimate, why = Estimate(0.1), "The weights are on this machine already; the server gets a link to the file."
    else:
        from wizard.model.hub import download_command

        argv = download_command(facts.location, name, facts.revision, str(folder))
        actions, target = (
            (Command(argv, env=(("HF_HUB_DISABLE_UPDATE_CHECK", "1"),), secrets=("HF_TOKEN",)),),
            folder / name,
        )
        size = facts.weight_bytes or 0
        estimate = Estimate(5 + size / 20e6, size, size)
        why = "The weights come from the Hugging Face hub, one GGUF file with tokenizer and chat template inside."
    step = Step("model", "Get the model", why, actions, Done(files=(str(target),)), estimate)
    return step, target


def _repository(choice: Choice, host: Host, facts: ModelFacts, runtime: Native, gguf: Path) -> Step:
    model = runtime.server.name
    made = repository.repository(model, gguf_path=str(gguf), facts=facts, choice=choice, threads=host.cpu.cores)
    files = tuple(Write(str(runtime.server.repository / file.path), file.text) for file in made.files)
    return Step(
        id="repository",
        title="Write the model repository",
        why=(
            "Triton serves what it finds in a model repository: a folder for each model with config.pbtxt (its inputs, "
            "outputs and settings) and numbered version folders. Ours holds model.py, which streams tokens from "
            "llama.cpp: 'decoupled' means one request may have many responses, one for each piece of text."
        ),
        actions=files,
        done=Done(files=tuple(file.path for file in files)),
        estimate=Estimate(0.1, disk_bytes=sum(len(file.text) for file in files)),
    )


def _serve(runtime: Native, ports: Ports, model: str, prepared: tuple[Step, ...]) -> tuple[Step, ...]:
    start = runtime.start(model, ports, fingerprint([step.fingerprint for step in prepared]))
    return (
        Step(
            id="start",
            title="Start Triton",
            why=(
                "tritonserver loads the repository and listens on 127.0.0.1 only: HTTP, gRPC and Prometheus metrics on "
                "three ports. It keeps running when you close the wizard; `triton-wizard down` stops it."
            ),
            actions=(start,),
            done=Done(server=True),
            estimate=Estimate(0.5),
        ),
        Step(
            id="ready",
            title="Wait until the model is ready",
            why="Triton opens its ports when every model is loaded; then /v2/models/NAME/ready answers 200.",
            actions=(Wait(model, ports, READY_SECONDS),),
            done=Done(),
            estimate=Estimate(2),
        ),
    )


def _first_question(runtime: Native, question: str) -> Step:
    workspace = ("--workspace", str(runtime.workspace.root))
    argv = (
        sys.executable,
        "-m",
        "wizard",
        "chat",
        runtime.server.name,
        *workspace,
        "--max-tokens",
        "128",
        "--message",
        question,
    )
    return Step(
        id="question",
        title="Ask a first question",
        why="Ready means loaded; only an answer proves that prompt, template, engine and streaming work together.",
        actions=(Command(argv),),
        done=Done(),
        estimate=Estimate(2),
    )
