"""From a choice to a plan: takes names and ports, checks what can be checked beforehand, touches nothing."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

from wizard.advise.advice import Choice
from wizard.advise.calibration import machine
from wizard.advise.report import stack as stack_title
from wizard.kernel.errors import InfeasibleError, UsageError, WorkspaceError
from wizard.kernel.paths import Workspace, suggest_name
from wizard.kernel.units import size
from wizard.model.facts import ModelFacts
from wizard.plan.options import Options
from wizard.plan.plan import Estimate, Plan, Ports, Step
from wizard.plan.ports import free
from wizard.plan.runtimes.select import runtime_of
from wizard.plan.stacks import llamacpp, transformers, trtllm_engine, trtllm_llmapi, vllm
from wizard.probe.host import Host

FIRST_QUESTION = "What is Triton?"
_UNSAFE = re.compile(r"[^\w./+@%=:,-]")
STACKS = {
    "llamacpp": llamacpp.steps,
    "transformers": transformers.steps,
    "trtllm-engine": trtllm_engine.steps,
    "trtllm-llmapi": trtllm_llmapi.steps,
    "vllm": vllm.steps,
}
BUILT = tuple(STACKS)
"""Serving stacks that the wizard sets up."""
HEADROOM_BYTES = 200 * 1024**2
"""Disk that must stay free beside what the plan needs, for logs and temporary files."""


def build(
    host: Host,
    facts: ModelFacts,
    choice: Choice,
    workspace: Workspace,
    *,
    name: str | None = None,
    http_port: int | None = None,
    keep_ports: Ports | None = None,
    question: str = FIRST_QUESTION,
    options: Options | None = None,
) -> Plan:
    """Plan to serve ``facts`` as ``choice``.

    Args:
        host: The machine that the plan is for.
        facts: The model.
        choice: One of the advice's choices.
        workspace: Where everything is made.
        name: Name of the server and of the model in Triton; made from the model's reference if not given.
        http_port: First port to try for HTTP; gRPC and metrics follow it.
        keep_ports: Ports of this same server if it runs already; they are held by it, so they count as free.
        question: The first question.
        options: What a journey settles beyond the choice.

    Raises:
        UsageError: TW-U01 if ``name`` cannot be used.
        UsageError: TW-L03 if Triton cannot be given the workspace's path.
        HostError: TW-L01, TW-L20 to TW-L22 if the machine cannot run what serves.
        WorkspaceError: TW-L02 if the disk has not enough room.
        InfeasibleError: TW-L05 if there is no such stack; others if it cannot serve this model so.
    """
    if choice.stack not in BUILT:
        raise _not_built(choice)
    _check_path(workspace)
    server = workspace.server(name or suggest_name(facts.ref))
    ports, moved = _ports(http_port, keep_ports)
    runtime = runtime_of(host, choice, workspace, server)
    steps = STACKS[choice.stack](choice, host, facts, runtime, ports, question, options or Options())
    plan = Plan(
        name=server.name,
        workspace=str(workspace.root),
        model=server.name,
        facts=facts,
        choice=choice,
        steps=tuple(map(_remaining, steps)),
        notes=(*runtime.notes, *moved),
        host=host.source,
        machine=machine(host, choice),
    )
    if host.source == "this machine":
        _check_disk(plan, workspace.root)
    return plan


def _not_built(choice: Choice) -> InfeasibleError:
    return InfeasibleError(
        "TW-L05",
        f"this version of the wizard does not set up {stack_title(choice.stack)}",
        f"Choose another with --stack: {', '.join(BUILT)}.",
    )


def _check_path(workspace: Workspace) -> None:
    """Triton's Python backend starts its stub by ``bash -c "exec STUB …"`` without quotes (2.51.0, seen in its log)."""
    odd = sorted(set(_UNSAFE.findall(str(workspace.root))))
    if odd:
        raise UsageError(
            "TW-L03",
            f"the workspace {workspace.root} has {' '.join(map(repr, odd))} in its path, which Triton cannot be given",
            "Choose a folder without spaces and shell characters with --workspace DIR.",
        )


def _remaining(step: Step) -> Step:
    """The step with an estimate of nothing where all that it makes is there already."""
    there = step.done.files and all(Path(file).exists() for file in step.done.files)
    return replace(step, estimate=Estimate(0.1)) if there else step


def _ports(http_port: int | None, keep: Ports | None) -> tuple[Ports, list[str]]:
    if keep is not None and http_port in (None, keep.http):
        return keep, []
    first = http_port or Ports().http
    return free(Ports(first, first + 1, first + 2))


def _check_disk(plan: Plan, folder: Path) -> None:
    """The workspace's disk must hold what is not there yet."""
    needed = plan.estimate.disk_bytes
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if needed and free < needed + HEADROOM_BYTES:
        raise WorkspaceError(
            "TW-L02",
            f"{size(needed)} are needed in {plan.workspace} and {size(free)} are free",
            "Free some space, or choose another folder with --workspace DIR.",
        )
