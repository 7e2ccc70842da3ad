"""The final steps of every plan: write the repository, start Triton, wait for it, send a first question."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from wizard.kernel.language import tr
from wizard.plan.artefacts import ENDPOINT, READY, REPOSITORY, SERVER
from wizard.plan.plan import Command, Done, Estimate, Start, Step, Wait, Write
from wizard.plan.runtimes.runtime import Runtime
from wizard.repository.repository import Repository


def repository_step(
    runtime: Runtime, repository: Repository, why: str, *before: Command, reads: Sequence[str] = ()
) -> Step:
    """The step that writes the complete model repository; ``before`` copies files that we do not write, from
    ``reads``.
    """
    files = tuple(Write(str(runtime.server.repository / file.path), file.text) for file in repository.files)
    return Step(
        id="repository",
        title=tr("Create the model repository"),
        why=(
            tr(
                "Triton serves a model repository: one folder per model, with config.pbtxt (its inputs, outputs and "
                "settings) and numbered version folders. {why}",
                why=why,
            )
        ),
        actions=(*before, *files),
        done=Done(files=tuple(file.path for file in files)),
        estimate=Estimate(0.1, disk_bytes=sum(len(file.text) for file in files)),
        reads=tuple(reads),
        writes=(REPOSITORY,),
    )


LOADING = Estimate(0, unknown=True)
"""Loading the weights takes from seconds to many minutes, depending on their size and the disk."""


def serve_steps(
    start: Start, reads: Sequence[str], ready_seconds: float, loading: Estimate = LOADING
) -> tuple[Step, ...]:
    """Start the server, which reads the artifacts ``reads``, and wait at most ``ready_seconds`` until it is ready."""
    return (
        Step(
            id="start",
            title=tr("Start Triton"),
            why=(
                tr(
                    "tritonserver loads the repository and listens only on 127.0.0.1: HTTP, gRPC and Prometheus "
                    "metrics on three ports. It keeps running when you close the wizard; stop it with `triton-wizard "
                    "down`."
                )
            ),
            actions=(start,),
            done=Done(server=True),
            estimate=Estimate(0.5),
            reads=tuple(reads),
            writes=(SERVER, ENDPOINT),
        ),
        Step(
            id="ready",
            title=tr("Wait until the model is ready"),
            why=tr(
                "Triton opens its ports once every model is loaded; from then on, /v2/models/NAME/ready returns 200."
            ),
            actions=(Wait(start.model, start.ports, ready_seconds),),
            done=Done(),
            estimate=loading,
            reads=(SERVER,),
            writes=(READY,),
        ),
    )


def question_step(runtime: Runtime, question: str) -> Step:
    """Send a question to the served model, as a user would."""
    argv: Sequence[str] = (
        *(sys.executable, "-m", "wizard", "chat", runtime.server.name),
        *("--workspace", str(runtime.workspace.root), "--max-tokens", "128", "--message", question),
    )
    return Step(
        id="question",
        title=tr("Send a first question"),
        why=tr("Ready means loaded. Only an answer proves that prompt, template, engine and streaming work together."),
        actions=(Command(tuple(argv)),),
        done=Done(),
        estimate=Estimate(2),
        reads=(READY, ENDPOINT),
    )
