"""Stages 1 to 4: the machine, the model, recommendations and the plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from wizard.workshop.progress import reported

if TYPE_CHECKING:
    from wizard.advise.advice import Advice, Choice, Constraints, Speed
    from wizard.advise.calibration import Calibration
    from wizard.advise.pareto import Front
    from wizard.advise.setup import Setup
    from wizard.advise.speed import Load
    from wizard.catalog.recipes import Recipe
    from wizard.kernel.errors import UsageError
    from wizard.kernel.paths import Workspace
    from wizard.model.facts import ModelFacts
    from wizard.model.on_disk import Entry
    from wizard.plan.offers import Suggestion
    from wizard.plan.plan import Plan
    from wizard.probe.cpu_rates import CpuRates
    from wizard.probe.host import Host
    from wizard.probe.live import Monitor
    from wizard.repository.lint import Report
    from wizard.repository.linting.finding import Server


@reported("probe")
def probe(workspace: Workspace, *, hardware: str | None = None) -> Host:
    """Stage 1. Describe this machine, or the one specified by ``hardware``: ``host.json``, ``4xA6000`` (≤ 2 s)."""
    from wizard.probe.hardware import find

    return find(hardware, workspace.root)


def save_host(host: Host, path: Path) -> None:
    """Stage 1. Write ``host`` to a file that `probe` accepts as ``hardware``.

    Raises:
        WorkspaceError: TW-P08 if it cannot be written.
    """
    from wizard.probe.hardware import save

    save(host, path)


def monitor() -> Monitor:
    """Stage 1, continuous: live readings of this machine (a few ms each). Close it afterwards."""
    from wizard.probe.live import Monitor

    return Monitor()


def recipes() -> list[Recipe]:
    """Ready-made recipes from ``profiles/recipes``, checked."""
    from wizard.plan.answers import ready_made

    return ready_made()


@reported("model")
def model(ref: str, *, offline: bool = False) -> ModelFacts:
    """Stage 2. Describe the model ``ref``: a recipe, a folder, a .gguf file or a Hub model ID (the Hub: ≤ 10 s)."""
    from wizard.model.source import find

    return find(ref, offline=offline)


def with_gguf(facts: ModelFacts) -> ModelFacts:
    """``facts`` with the GGUF files of the model, asked of the Hub (≤ 10 s), for a machine without GPUs."""
    from wizard.model.source import with_gguf

    return with_gguf(facts)


def earlier_plan(workspace: Workspace, name: str) -> Plan | None:
    """The last plan of the server ``name``, if there is a readable one."""
    from wizard.plan.server_plan import earlier_plan

    return earlier_plan(workspace, name)


def latest_plan(workspace: Workspace, names: Iterable[str]) -> Plan | None:
    """The most recently run plan of the servers ``names``, if there is a readable one."""
    from wizard.plan.server_plan import latest_plan

    return latest_plan(workspace, names)


def earlier_model(workspace: Workspace, name: str) -> str | None:
    """The model of the server ``name``, if there is one and ``name`` is not a recipe."""
    from wizard.plan.server_plan import model_origin

    earlier = None if name in {recipe.name for recipe in recipes()} else earlier_plan(workspace, name)
    return model_origin(earlier.facts) if earlier else None


def suggestions(
    host: Host, workspace: Workspace | None = None, *, offline: bool = False, ask: bool = True
) -> list[Suggestion]:
    """Models to offer on this machine, the recommended one first, those on this disk, then by size.

    If the Hub responds, the first is a real instruct model that fits; otherwise the offline demo. Missing information
    is requested from the Hub (≤ 10 s); without ``ask`` only this disk is read, and the rest is listed as if the Hub
    responded.
    """
    from wizard.plan.offers import suggestions as offer

    past = calibration(workspace) if workspace else None
    return offer(host, workspace.models if workspace else None, offline=offline, ask=ask, past=past)


def search(text: str, *, offline: bool = False) -> list[Suggestion]:
    """Hub search results for ``text``, the most downloaded first (≤ 10 s).

    Raises:
        NetworkError: TW-M13, TW-M14 if the Hub is not reachable.
    """
    from wizard.plan.offers import search as find

    return find(text, offline=offline)


def with_verdict(host: Host, suggestion: Suggestion, *, offline: bool = False) -> Suggestion:
    """``suggestion`` completed from its files, with whether it fits (≤ 10 s); raises as `model` does."""
    from wizard.plan.offers import with_verdict as look

    return look(host, suggestion, offline=offline)


def browse(text: str) -> list[Entry]:
    """Folders and .gguf files that complete ``text``, the beginning of a path; immediate."""
    from wizard.model.on_disk import browse as look

    return look(text)


def calibration(workspace: Workspace) -> Calibration:
    """Measured memory of servers on this machine, for `advise`: one measurement per start, oldest first."""
    from wizard.serve.calibration import kept

    return kept(workspace)


def measure_cpu(host: Host, workspace: Workspace) -> CpuRates:
    """Measure how fast this machine's processor reads memory and computes, and store it for `advise`; some 5 seconds.

    Raises:
        HostError: TW-P16 if it cannot be measured.
        WorkspaceError: TW-K03 if the workspace is not writable.
    """
    from wizard.advise.calibration import processor
    from wizard.kernel.errors import HostError, WorkspaceError
    from wizard.kernel.language import tr
    from wizard.probe.cpu_rates import measured
    from wizard.serve.calibration import keep_rates

    try:
        rates = measured(processor(host), host.cpu.cores)
    except (OSError, MemoryError) as error:
        message = tr("cannot measure the processor: {error}", error=str(error) or tr("not enough memory"))
        raise HostError("TW-P16", message, tr("Free some memory and try again.")) from error
    try:
        keep_rates(workspace, rates)
    except OSError as error:
        message = tr("cannot write to the workspace {folder}: {error}", folder=workspace.root, error=error.strerror)
        raise WorkspaceError("TW-K03", message, tr("Choose another folder with --workspace DIR.")) from error
    return rates


@reported("advise")
def advise(
    host: Host,
    facts: ModelFacts,
    constraints: Constraints,
    past: Calibration | None = None,
    *,
    offline: bool = False,
) -> Advice:
    """Stage 3. What to run here and why, corrected by measurements on this machine; immediate.

    The user's Python (``constraints.engine_python``) is inspected, unless ``host`` already describes it (some 0.1 s),
    and the draft model (``constraints.draft``) is described as `model` does (the Hub: ≤ 10 s, once).

    Raises:
        UsageError: TW-P15 if that is not a Python, TW-A20 if other constraints conflict with it.
        HostError: TW-A21 to TW-A23 if its engine is missing, too old, or built for a CUDA version that the driver does
            not support.
        InfeasibleError: TW-A24 if the model does not generate text.
        WizardError: As `model`, for the draft model.
    """
    from wizard.advise.not_chat import check
    from wizard.texts.errors import user_errors

    with user_errors():
        check(facts)
    return _ranked(host, _with_draft(facts, constraints, offline), constraints, past)


def _ranked(host: Host, facts: ModelFacts, constraints: Constraints, past: Calibration | None = None) -> Advice:
    """`advise` for any model."""
    from wizard.advise.calibration import NOTHING
    from wizard.advise.ranking import advise as rank

    return rank(_inspected(host, constraints), facts, constraints, past or NOTHING)


def _inspected(host: Host, constraints: Constraints) -> Host:
    """``host`` with the user's Python, if one was named and it can serve."""
    from wizard.advise import engine_python
    from wizard.probe.engine_python import with_python
    from wizard.texts.errors import user_errors

    host = with_python(host, constraints.engine_python)
    with user_errors():
        engine_python.check(host, constraints)
    return host


def _with_draft(facts: ModelFacts, constraints: Constraints, offline: bool) -> ModelFacts:
    """``facts`` with those of the draft model, if one was named."""
    from dataclasses import replace

    from wizard.model.source import draft

    return replace(facts, draft=draft(constraints.draft, offline)) if constraints.draft else facts


def pareto(
    host: Host,
    facts: ModelFacts,
    constraints: Constraints,
    past: Calibration | None = None,
    *,
    offline: bool = False,
) -> Front:
    """Stage 3 for several numbers of users: the Pareto front of speed per user and throughput (a fraction of a second).

    Raises as `advise` does.
    """
    from wizard.advise.calibration import NOTHING
    from wizard.advise.not_chat import check
    from wizard.advise.pareto import front
    from wizard.texts.errors import user_errors

    with user_errors():
        check(facts)
    return front(_inspected(host, constraints), _with_draft(facts, constraints, offline), constraints, past or NOTHING)


def recommended(advice: Advice) -> Choice:
    """Stage 3. The first choice; immediate.

    Raises:
        InfeasibleError: TW-A01 if there is none, with the first rejection's reason and remedies.
    """
    from wizard.advise.ranking import recommended as first
    from wizard.texts.errors import user_errors

    with user_errors():
        return first(advice)


def cases(path: Path) -> Iterator[tuple[str, Advice | UsageError]]:
    """Stage 3 for each case of a file: its ID and the advice, or the error in the case (TW-A02).

    Raises:
        UsageError: TW-A02 if the file is not a valid cases file.
    """
    from wizard.advise.cases import cases as read
    from wizard.kernel.errors import UsageError

    return ((name, case if isinstance(case, UsageError) else _ranked(*case)) for name, case in read(path))


def speed(host: Host, facts: ModelFacts, setup: Setup, load: Load, *, provider: str = "roofline") -> Speed:
    """Stage 3 for one configuration. Its estimated speed; ``aiconfigurator`` as the provider takes seconds.

    Raises:
        UsageError: TW-A08 or TW-A09 if the configuration or the provider is not supported here.
        InfeasibleError: TW-A10 if the provider has no figure, TW-A24 if the model does not generate text.
    """
    from wizard.advise.not_chat import check
    from wizard.advise.providers import ask
    from wizard.texts.errors import user_errors

    with user_errors():
        check(facts)
        return ask(host, facts, setup, load, provider)


@reported("plan")
def plan(
    host: Host,
    facts: ModelFacts,
    choice: Choice,
    workspace: Workspace,
    *,
    name: str | None = None,
    http_port: int | None = None,
) -> Plan:
    """Stage 4. All steps to run, validated in advance; changes nothing (immediate, or 0.75 s for a template that
    computes without end).

    Raises:
        UsageError: TW-L04 if another model is served under the same name.
        InfeasibleError: TW-L05 if the stack is unknown; others if it cannot serve the model this way.
        ModelError: TW-M80 if the model's chat template takes too much time or memory.
    """
    from wizard.chat.rendering import try_out
    from wizard.kernel.paths import suggest_name
    from wizard.plan.server_plan import replan as make
    from wizard.serve.find import running
    from wizard.texts.errors import user_errors

    try_out(facts.ref, facts.chat)
    called = name or suggest_name(facts.ref)
    mine = running(workspace.server(called))
    with user_errors():
        return make(
            host,
            facts,
            choice,
            workspace,
            name=called,
            on_purpose=name is not None,
            http_port=http_port,
            running=mine.ports if mine else None,
        )


def lint(repository: Path, server: Server) -> Report:
    """Stage 4, for any model repository: its problems on ``server`` (reads its files).

    Raises:
        UsageError: See `wizard.repository.lint.lint`.
    """
    from wizard.repository.lint import lint as check

    return check(repository, server)


def export(plan: Plan, name: str) -> str:
    """Stage 4. The plan in another format: ``shell``, ``plan``, ``answers`` (see `wizard.export.formats.FORMATS`)."""
    from wizard.export.formats import FORMATS

    return next(export_format for export_format in FORMATS if export_format.name == name).text(plan)
