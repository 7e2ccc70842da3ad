"""What to ask, from servers and options: a report without results, and what the evaluation runs with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

from wizard.bench.dataset import Dataset
from wizard.bench.order import key_of, lives_of, machine_of, target_of, versions_of
from wizard.bench.prompts import kind_of, read
from wizard.bench.quality import tasks
from wizard.bench.quality.evaluate import Evaluator
from wizard.bench.quality.report import FORMAT, Quality, Subject
from wizard.bench.quality.votes import PROMPTS
from wizard.bench.report import Api, Target
from wizard.catalog import profiles
from wizard.kernel.paths import Workspace
from wizard.plan.runtimes.venv import Venv
from wizard.plan.server_plan import earlier_plan
from wizard.probe.host import Host
from wizard.serve.endpoint import Endpoint

CONCURRENCY = 8
"""Requests at once to a server whose slots are unknown, and to others at most."""


def subject_of(workspace: Workspace, endpoint: Endpoint, api: Api | None = "openai") -> Target:
    """The server as a report names it; ``api`` is None if any way to ask it will do.

    Raises:
        UsageError: TW-C67 if it has no OpenAI-compatible address.
    """
    plan = None if endpoint.url else earlier_plan(workspace, endpoint.name)
    return target_of(endpoint, plan, api)


def ordered(
    host: Host, targets: Sequence[Target], command: str, *, known: Subject | None = None, programs: dict[str, str]
) -> Quality:
    """The report to be: of ``targets``, and of a reference that is ``known`` from an earlier report."""
    subjects = [Subject(target) for target in told_apart(targets)]
    return Quality(
        kind="quality",
        format=FORMAT,
        made=datetime.now().astimezone().isoformat(timespec="seconds"),
        command=command,
        machine=machine_of(host),
        versions=versions_of(None, programs),
        subjects=(*subjects, *((known,) if known else ())),
    )


def told_apart(targets: Sequence[Target]) -> list[Target]:
    """The servers with different names: one that is not of the workspace is called after its model, as others are."""
    names = [target.name for target in targets]
    return [
        replace(target, name=f"{target.name} ({urlsplit(target.url).netloc})")
        if names.count(target.name) > 1 and not target.plan
        else target
        for target in targets
    ]


def prompts_of(dataset: str) -> list[str]:
    """The first prompts of a file; ``generated``: those that the wizard has for votes.

    Raises:
        UsageError: As `wizard.bench.prompts.read`.
    """
    name = str(shipped_prompts()) if dataset == "generated" else dataset
    _, prompts = read(Dataset(kind_of(name), 1, path=name), 0, 0)
    return [prompt.text for prompt in prompts[:PROMPTS]]


def evaluator_of(workspace: Workspace, endpoints: Sequence[Endpoint], venv: Venv) -> Evaluator:
    """What the evaluation of ``endpoints`` runs with."""
    return Evaluator(
        program=(venv.python, "-P", str(tasks.PROGRAM)),
        own=tasks_folder(),
        cache=workspace.bench / "datasets",
        mark=str(workspace.root),
        keys=tuple(key_of(endpoint) for endpoint in endpoints),
        lives=tuple((lambda: True) if endpoint.url else lives_of(endpoint) for endpoint in endpoints),
    )


def concurrency_of(given: int, targets: Sequence[Target]) -> int:
    """Requests at once: as ``given``, or if that is 0, as many as all servers run at once."""
    return given or min(CONCURRENCY, *(target.slots or CONCURRENCY for target in targets))


def tasks_folder() -> Path:
    """The folder of our tasks."""
    return profiles.find("quality/wizard_facts.yaml").parent.resolve()


def shipped_text() -> Path:
    """The text for perplexity."""
    return profiles.find("quality/text.txt").resolve()


def shipped_prompts() -> Path:
    """The prompts for votes."""
    return profiles.find("quality/prompts.txt").resolve()
