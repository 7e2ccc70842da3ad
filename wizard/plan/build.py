"""From a choice to a plan: picks names and ports, validates in advance, changes nothing."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from wizard.advise.advice import Choice
from wizard.advise.calibration import machine
from wizard.advise.titles import stack_title
from wizard.catalog import plugins
from wizard.kernel.errors import InfeasibleError, ModelError, UsageError, WorkspaceError
from wizard.kernel.language import tr
from wizard.kernel.paths import Workspace, suggest_name, unsafe
from wizard.kernel.units import size
from wizard.model.facts import ModelFacts
from wizard.model.manifest import SUFFIX
from wizard.plan.artefacts import MODEL
from wizard.plan.chosen_checkpoint import checkpoint_of
from wizard.plan.engine_offer import hint
from wizard.plan.options import Options
from wizard.plan.options import check as check_options
from wizard.plan.plan import Estimate, Plan, Step
from wizard.plan.ports import Ports, free
from wizard.plan.runtimes.docker import Docker
from wizard.plan.runtimes.runtime import Runtime
from wizard.plan.runtimes.select import runtime_of
from wizard.plan.stack import StackPlan, built, options_read, stack_plan
from wizard.probe.engines import images_folder
from wizard.probe.host import Host

FIRST_QUESTION = "What is Triton?"
HEADROOM_BYTES = 200 * 1024**2
"""Disk space that must stay free in addition to the plan's needs, for logs and temporary files."""


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
    """Create the plan to serve ``facts`` as ``choice``.

    Args:
        host: The machine that the plan is for.
        facts: The model.
        choice: One of the advice's choices.
        workspace: The workspace for all files.
        name: Name of the server and of the model in Triton; derived from the model's reference by default.
        http_port: First port to try for HTTP; gRPC and metrics follow it.
        keep_ports: Ports of this same server if it runs already; it occupies them, so they count as free.
        question: The first question.
        options: A recipe's options beyond the choice.

    Raises:
        UsageError: TW-U01 if ``name`` is not valid.
        UsageError: TW-L03 if Triton does not support the workspace's path, TW-L09 if an option does not apply here.
        HostError: TW-L01, TW-L20 to TW-L22 if the machine cannot run the server.
        WorkspaceError: TW-L02 if a disk has not enough space.
        ModelError: TW-L06 if the model is gated and there is no token, TW-L07 if it is a folder without weights.
        InfeasibleError: TW-L05 if the stack is unknown; others if it cannot serve this model this way.
    """
    options = options or Options()
    facts, other = checkpoint_of(facts, choice)
    stack = _checked(facts, choice, workspace, options)
    server = workspace.server(name or suggest_name(facts.ref))
    here = host.is_here
    ports, moved = _ports(http_port, keep_ports, here=here)
    runtime = runtime_of(host, choice, workspace, server)
    steps = stack.steps(choice, host, facts, runtime, ports, question, options)
    notes = (*other, *moved, *_gate(facts), *stack.notes(choice, host, facts))
    plan = _plan(host, facts, choice, runtime, steps, notes)
    if here:
        _check_token(plan)
        _check_disks(plan, workspace.root, runtime)
    return plan


def _plan(
    host: Host, facts: ModelFacts, choice: Choice, runtime: Runtime, steps: tuple[Step, ...], notes: tuple[str, ...]
) -> Plan:
    return Plan(
        name=runtime.server.name,
        workspace=str(runtime.workspace.root),
        model=runtime.server.name,
        facts=facts,
        choice=choice,
        steps=tuple(map(_remaining, steps)) if host.is_here else steps,
        notes=(*runtime.notes, *_existing_engine(host, choice), *notes),
        host=host.source,
        machine=machine(host, choice),
    )


def _existing_engine(host: Host, choice: Choice) -> tuple[str, ...]:
    """A note about an existing engine that was not requested, if another would be installed."""
    return hint(host, choice.stack) if choice.runtime == "native" and not choice.engine_python else ()


def _checked(facts: ModelFacts, choice: Choice, workspace: Workspace, options: Options) -> StackPlan:
    """The stack; options that no stack reads are rejected."""
    stack = stack_plan(choice.stack)
    if stack is None:
        raise _not_built(choice)
    check_options(options, choice.stack, options_read(choice.stack, options), facts.max_context)
    _check_weights(facts)
    _check_path(workspace)
    return stack


def _gate(facts: ModelFacts) -> tuple[str, ...]:
    if not facts.gated or facts.local:
        return ()
    page = f"https://huggingface.co/{facts.location}"
    return (
        tr(
            "The model is gated: accept its license at {page}, and set up a token (HF_TOKEN, or `hf auth login`).",
            page=page,
        ),
    )


def _check_token(plan: Plan) -> None:
    """A gated model that must be downloaded needs a token; only the Hub knows whether it grants access."""
    from wizard.model.hub.access import has_token

    downloads = [step for step in plan.steps if MODEL in step.writes and not _there(step)]
    if plan.facts.gated and not plan.facts.local and downloads and not has_token():
        raise ModelError(
            "TW-L06",
            tr("{location} is gated, and no Hugging Face token is set on this machine", location=plan.facts.location),
            tr(
                "Accept its license at https://huggingface.co/{location}, then log in with `hf auth login` or set "
                "HF_TOKEN.",
                location=plan.facts.location,
            ),
        )


def _not_built(choice: Choice) -> InfeasibleError:
    title, others = stack_title(choice.stack), ", ".join(built())
    if choice.stack not in plugins.packages():
        return InfeasibleError(
            "TW-L05",
            tr("no installed package provides the serving stack {stack_title}", stack_title=title),
            tr(
                "Install the package that provides the entry point {stack} ({group}); reinstall it if you just "
                "added the entry point. Or choose another stack with --stack: {BUILT}.",
                stack=choice.stack,
                group=plugins.GROUP,
                BUILT=others,
            ),
        )
    return InfeasibleError(
        "TW-L05",
        tr("this version of the wizard cannot set up {stack_title}", stack_title=title),
        tr("Choose another with --stack: {BUILT}.", BUILT=others),
    )


def _check_weights(facts: ModelFacts) -> None:
    """A folder with only a config.json is enough for advice, but has nothing to serve."""
    if facts.source == "folder" and not facts.local:
        raise ModelError(
            "TW-L07",
            tr("{location} contains a config.json but no weights", location=facts.location),
            tr(
                "Run `hf download ORG/NAME --local-dir .` in that folder to download the .safetensors files, or "
                "pass the model ID instead."
            ),
        )


def _check_path(workspace: Workspace) -> None:
    if odd := unsafe(workspace.root):
        raise UsageError(
            "TW-L03",
            tr(
                "the workspace path {root} contains {odd}, which Triton does not support",
                root=workspace.root,
                odd=" ".join(map(repr, odd)),
            ),
            tr("Use --workspace DIR to choose a folder whose path has no spaces, colons or shell metacharacters."),
        )


def _remaining(step: Step) -> Step:
    """The step with a zero estimate if everything that it creates exists."""
    return replace(step, estimate=Estimate(0.1)) if _there(step) else step


def _there(step: Step) -> bool:
    files = [file for file in step.done.files if not file.endswith(SUFFIX)]  # a manifest takes no download
    return bool(files) and all(Path(file).exists() for file in files)


def _ports(http_port: int | None, keep: Ports | None, *, here: bool) -> tuple[Ports, list[str]]:
    """The ports, and notes about them: a port occupied ``here`` does not matter for another machine."""
    if keep is not None and http_port in (None, keep.http):
        return keep, []
    first = http_port or Ports().http
    ports = Ports(first, first + 1, first + 2)
    return free(ports) if here else (ports, [])


def _check_disks(plan: Plan, folder: Path, runtime: Runtime) -> None:
    """The workspace's disk needs space for the missing files, and the container engine's for the image."""
    needed = plan.estimate.disk_bytes
    while not folder.exists():
        folder = folder.parent
    if isinstance(runtime, Docker) and (image := runtime.image_bytes):
        images = images_folder(runtime.engine)
        if images and images.stat().st_dev != folder.stat().st_dev:
            _check_disk(
                images,
                image,
                tr("for the image in {images}", images=images),
                tr("move the container engine's image folder."),
            )
            needed -= image
    _check_disk(
        folder, needed, tr("in {folder}", folder=plan.workspace), tr("choose another folder with --workspace DIR.")
    )


def _check_disk(folder: Path, needed: int, where: str, remedy: str) -> None:
    free = shutil.disk_usage(folder).free
    if needed and free < needed + HEADROOM_BYTES:
        raise WorkspaceError(
            "TW-L02",
            tr(
                "not enough disk space {where}: needs {needed} plus {room} of headroom, but only {free} is free",
                needed=size(needed),
                where=where,
                room=size(HEADROOM_BYTES),
                free=size(free),
            ),
            tr("Free up some space, or {remedy}", remedy=remedy),
        )
