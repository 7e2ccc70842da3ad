"""The façade that the interfaces share, and their only way to what a stage does. No user interface, no SDK.

One function for each thing that a stage does, values in and values out.

Blocking functions say how long they may take; asynchronous ones stream.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator, Set
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wizard.advise.advice import Advice, Choice, Constraints, Speed
    from wizard.advise.calibration import Calibration
    from wizard.advise.setup import Setup
    from wizard.advise.speed import Load
    from wizard.catalog.presets import Preset
    from wizard.catalog.recipes import Recipe
    from wizard.chat.chunk import Chunk
    from wizard.chat.conversation import Conversation
    from wizard.chat.history import History
    from wizard.chat.meter import Meter
    from wizard.chat.served import ServedModel
    from wizard.chat.snippet import Request
    from wizard.kernel.errors import UsageError
    from wizard.kernel.paths import Workspace
    from wizard.model.facts import ModelFacts
    from wizard.model.on_disk import Entry
    from wizard.plan.offers import Suggestion
    from wizard.plan.plan import Plan
    from wizard.probe.host import Host
    from wizard.probe.live import Monitor
    from wizard.repository.lint import Report
    from wizard.repository.linting.finding import Server
    from wizard.run.clean import Image, Item
    from wizard.run.events import Event
    from wizard.serve.endpoint import Endpoint
    from wizard.serve.status import Status


def probe(workspace: Workspace, *, hardware: str | None = None) -> Host:
    """Stage 1. Describe this machine, or the one that ``hardware`` names: ``host.json``, ``4xA6000`` (≤ 2 s)."""
    from wizard.probe.hardware import find

    return find(hardware, workspace.root)


def save_host(host: Host, path: Path) -> None:
    """Stage 1. Write ``host`` to a file that `probe` reads as ``hardware``.

    Raises:
        WorkspaceError: TW-P08 if it cannot be written.
    """
    from wizard.probe.hardware import save

    save(host, path)


def monitor() -> Monitor:
    """Stage 1, while it is looked at: readings of what goes on on this machine (a few ms each). Close it afterwards."""
    from wizard.probe.live import Monitor

    return Monitor()


def recipes() -> list[Recipe]:
    """Ready answers from ``profiles/recipes``, checked."""
    from wizard.plan.answers import ready_made

    return ready_made()


def model(ref: str, *, offline: bool = False) -> ModelFacts:
    """Stage 2. Describe the model ``ref``: a recipe, a folder, a .gguf file or a hub id. May ask the hub (≤ 10 s)."""
    from wizard.model.source import find

    return find(ref, offline=offline)


def earlier_plan(workspace: Workspace, name: str) -> Plan | None:
    """The plan that the server ``name`` was last made from, if there is one that can be read."""
    from wizard.plan.server_plan import earlier_plan

    return earlier_plan(workspace, name)


def latest_plan(workspace: Workspace, names: Iterable[str]) -> Plan | None:
    """Of the servers ``names`` the plan that was carried out last, if there is one that can be read."""
    from wizard.plan.server_plan import latest_plan

    return latest_plan(workspace, names)


def served_before(workspace: Workspace, name: str) -> str | None:
    """What the server ``name`` was made from, if ``name`` is a server of the workspace rather than a recipe."""
    from wizard.plan.server_plan import model_origin

    earlier = None if name in {recipe.name for recipe in recipes()} else earlier_plan(workspace, name)
    return model_origin(earlier.facts) if earlier else None


def suggestions(
    host: Host, workspace: Workspace | None = None, *, offline: bool = False, ask: bool = True
) -> list[Suggestion]:
    """Models to offer on this machine, the recommended one first, and those that are on this disk.

    Where the hub answers, the first is a real instruct model that fits; else the offline demo. The hub is asked about
    what is not known here (≤ 10 s); without ``ask`` only this disk is, and the rest is listed as if the hub answered.
    """
    from wizard.plan.offers import suggestions as offer

    return offer(host, workspace.models if workspace else None, offline=offline, ask=ask)


def search(text: str, *, offline: bool = False) -> list[Suggestion]:
    """What the hub finds under ``text``, those first that are downloaded most (≤ 10 s).

    Raises:
        NetworkError: TW-M13, TW-M14 if the hub cannot be asked.
    """
    from wizard.plan.offers import search as find

    return find(text, offline=offline)


def with_verdict(host: Host, suggestion: Suggestion, *, offline: bool = False) -> Suggestion:
    """``suggestion`` with what its files say and whether it fits (≤ 10 s); errors as `model`."""
    from wizard.plan.offers import with_verdict as look

    return look(host, suggestion, offline=offline)


def browse(text: str) -> list[Entry]:
    """The folders and .gguf files that ``text``, the beginning of a path, may mean; immediate."""
    from wizard.model.on_disk import browse as look

    return look(text)


def calibration(workspace: Workspace) -> Calibration:
    """What servers on this machine really took, for `advise`: one measurement for each start, oldest first."""
    from wizard.serve.calibration import kept

    return kept(workspace)


def advise(host: Host, facts: ModelFacts, constraints: Constraints, past: Calibration | None = None) -> Advice:
    """Stage 3. What to run here and why, corrected by what was measured here; immediate.

    A Python of the user's (``constraints.engine_python``) is asked what it has, unless ``host`` knows it (some 0.1 s).

    Raises:
        UsageError: TW-P15 if that is no Python, TW-A20 if it is asked for together with what it cannot serve.
        HostError: TW-A21 to TW-A23 if its engine is missing, too old, or of a CUDA that the driver does not run.
    """
    from wizard.advise import engine_python
    from wizard.advise.calibration import NOTHING
    from wizard.advise.ranking import advise as rank
    from wizard.probe.engine_python import with_python
    from wizard.texts.errors import worded

    host = with_python(host, constraints.engine_python)
    with worded():
        engine_python.check(host, constraints)
    return rank(host, facts, constraints, past or NOTHING)


def recommended(advice: Advice) -> Choice:
    """Stage 3. The first choice; immediate.

    Raises:
        InfeasibleError: TW-A01 if there is none, with the first rejection's reason and remedies.
    """
    from wizard.advise.ranking import recommended as first
    from wizard.texts.errors import worded

    with worded():
        return first(advice)


def cases(path: Path) -> Iterator[tuple[str, Advice | UsageError]]:
    """Stage 3 for each case of a file: its id and the advice, or what is wrong with the case (TW-A02).

    Raises:
        UsageError: TW-A02 if the file is no file of cases.
    """
    from wizard.advise.cases import cases as read
    from wizard.kernel.errors import UsageError

    return ((name, case if isinstance(case, UsageError) else advise(*case)) for name, case in read(path))


def speed(host: Host, facts: ModelFacts, setup: Setup, load: Load, *, provider: str = "roofline") -> Speed:
    """Stage 3 for one configuration. How fast it answers; ``aiconfigurator`` as the provider takes seconds.

    Raises:
        UsageError: TW-A08 or TW-A09 if the question cannot be asked here.
        InfeasibleError: TW-A10 if the provider has no figure.
    """
    from wizard.advise.providers import ask
    from wizard.texts.errors import worded

    with worded():
        return ask(host, facts, setup, load, provider)


def plan(
    host: Host,
    facts: ModelFacts,
    choice: Choice,
    workspace: Workspace,
    *,
    name: str | None = None,
    http_port: int | None = None,
) -> Plan:
    """Stage 4. Everything that will be done; checks what can be checked beforehand and touches nothing (immediate).

    Raises:
        UsageError: TW-L04 if another model is served under the name that this one would get.
        InfeasibleError: TW-L05 if there is no such stack; others if it cannot serve the model so.
    """
    from wizard.kernel.paths import suggest_name
    from wizard.plan.server_plan import replan as make
    from wizard.serve.find import running
    from wizard.texts.errors import worded

    called = name or suggest_name(facts.ref)
    mine = running(workspace.server(called))
    with worded():
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
    """Stage 4, for a model repository whoever made it: what is wrong with it on ``server`` (reading its files).

    Raises:
        UsageError: As `wizard.repository.lint.lint` says.
    """
    from wizard.repository.lint import lint as check

    return check(repository, server)


def export(plan: Plan, name: str) -> str:
    """Stage 4. The plan as another text: ``shell``, ``plan``, ``answers`` (see `wizard.export.formats.FORMATS`)."""
    from wizard.export.formats import FORMATS

    return next(export_format for export_format in FORMATS if export_format.name == name).text(plan)


def run(plan: Plan, *, redo: Set[str] = frozenset(), skip: Set[str] = frozenset()) -> AsyncGenerator[Event, None]:
    """Stage 5. Carry the plan out. Closing the generator (or cancelling its task) stops the running step.

    Steps with an id in ``redo`` are done again though they are done, with all that use what they make; those in
    ``skip`` are left out.
    """
    from wizard.run.engine import run as carry_out

    return carry_out(plan, redo=redo, skip=skip)


def statuses(workspace: Workspace) -> list[Status]:
    """Stage 6. Every server of the workspace and whether it runs and is ready (≤ 2 s each)."""
    from wizard.serve.status import statuses as look

    return look(workspace)


def endpoint(workspace: Workspace, name: str | None = None) -> Endpoint:
    """The running server ``name``, or the only one that runs."""
    from wizard.serve.find import endpoint as find

    return find(workspace, name)


def stop(workspace: Workspace, name: str | None = None) -> Status:
    """Stop a server (the only one, if no name is given) and wait until its ports are free (a few seconds).

    Refused while another wizard carries a plan out here: it might be starting that very server, whose note would be
    removed under it.

    Not to be called where an event loop runs: hand it to a thread there.

    Raises:
        UsageError: TW-S01, TW-S09 if no server, or none of this workspace, is named.
        ServerError: TW-S02 if no name is given and none runs, TW-S07 if it cannot be stopped.
        WorkspaceError: TW-K03, TW-K04 if the workspace cannot be held.
    """
    import asyncio

    from wizard.kernel.lock import writing
    from wizard.serve.find import endpoint as find
    from wizard.serve.find import known
    from wizard.serve.status import status
    from wizard.serve.stop import stop as end

    known(workspace, name)
    server = workspace.server(name or find(workspace).name)
    with writing(workspace):
        asyncio.run(end(server))
    return status(server)


def chat(endpoint: Endpoint, conversation: Conversation, *, protocol: str = "grpc") -> AsyncGenerator[Chunk, None]:
    """Stage 7. Stream the answer to the conversation's last message. Closing the generator cancels it in the server."""
    from wizard.chat.stream import answer

    return answer(endpoint, conversation, protocol=protocol)


def served(endpoint: Endpoint) -> ServedModel:
    """What the served model says of itself: the questions that it knows, its context, its settings (≤ 5 s)."""
    from wizard.chat.stream import described

    return described(endpoint)


def history(workspace: Workspace) -> History:
    """Conversations that are kept in the workspace; nothing is made before one is saved."""
    from wizard.chat.history import History

    return History.of(workspace)


def presets() -> list[Preset]:
    """System prompts with settings under a name, the user's own first; `wizard.catalog.presets` saves and removes."""
    from wizard.catalog.presets import presets as read

    return read()


def meter(served: ServedModel) -> Meter:
    """What counts how much of the model's context a conversation takes (reading a tokenizer: ≤ 1 s)."""
    from wizard.chat.meter import meter as make

    return make(served)


def request(endpoint: Endpoint, conversation: Conversation, served: ServedModel) -> Request:
    """What is sent for the conversation's last question, as it is now; `wizard.chat.snippet` makes commands of it."""
    from wizard.chat.stream import request as make

    return make(endpoint, conversation, served)


def at(url: str, model: str | None = None) -> Endpoint:
    """The endpoint of a model on an OpenAI-compatible server that runs elsewhere (≤ 5 s); nothing is kept of it.

    Raises:
        UsageError, ServerError: As `wizard.chat.openai.at` says.
    """
    from wizard.chat.openai import at as find

    return find(url, model)


def logs(
    workspace: Workspace, name: str | None = None, *, lines: int = 100, step: str | None = None, raw: bool = False
) -> list[str]:
    """The last lines of a server's own log, or of a step's; without ``raw`` also without Triton's noise.

    Raises:
        UsageError: TW-S09 if ``name`` is no server of the workspace, TW-S08 if there is no such log.
    """
    from wizard.serve.find import known
    from wizard.serve.log import view

    known(workspace, name)
    return view(workspace, name, lines=lines, step=step, raw=raw)


def made(workspace: Workspace) -> list[Item]:
    """Everything that the wizard has made in the workspace, with sizes."""
    from wizard.run.clean import items

    return items(workspace)


def images(workspace: Workspace) -> list[Image]:
    """Images that the workspace's servers run in (≤ 3 s); the wizard removes none of them."""
    from wizard.run.clean import images as look

    return look(workspace)


def clean(workspace: Workspace, items: list[Item]) -> None:
    """Remove what was made; refused while a server runs."""
    from wizard.run.clean import remove

    remove(workspace, items)
