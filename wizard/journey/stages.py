"""From the probe to the chat."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Set
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

from wizard.workshop.progress import followed, reported

if TYPE_CHECKING:
    import threading

    from wizard.advise.advice import Advice, Choice, Constraints, Speed
    from wizard.advise.calibration import Calibration
    from wizard.advise.pareto import Front
    from wizard.advise.setup import Setup
    from wizard.advise.speed import Load
    from wizard.catalog.presets import Preset
    from wizard.catalog.recipes import Recipe
    from wizard.chat.chunk import Chunk
    from wizard.chat.conversation import Conversation
    from wizard.chat.history import History
    from wizard.chat.meter import Meter
    from wizard.chat.nearby import Nearby
    from wizard.chat.served import ServedModel
    from wizard.chat.snippet import Request
    from wizard.chat.tools.loop import ToolUse
    from wizard.kernel.errors import UsageError
    from wizard.kernel.paths import ServerFolder, Workspace
    from wizard.model.facts import ModelFacts
    from wizard.model.on_disk import Entry
    from wizard.plan.offers import Suggestion
    from wizard.plan.plan import Plan
    from wizard.probe.cpu_rates import CpuRates
    from wizard.probe.host import Host
    from wizard.probe.live import Monitor
    from wizard.repository.lint import Report
    from wizard.repository.linting.finding import Server
    from wizard.run.build import Build
    from wizard.run.clean import Image, Item
    from wizard.run.events import Event
    from wizard.serve.care import Care
    from wizard.serve.causes import Finding
    from wizard.serve.endpoint import Endpoint
    from wizard.serve.exposure import Exposure
    from wizard.serve.service import Service
    from wizard.serve.status import Status


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


async def run(
    plan: Plan,
    *,
    redo: Set[str] = frozenset(),
    skip: Set[str] = frozenset(),
    exposure: Exposure | None = None,
    keep: bool | None = None,
    leaving: threading.Event | None = None,
) -> AsyncGenerator[Event, None]:
    """Stage 5. Run the plan in a separate process. Closing the generator (or cancelling its task) stops the build.

    Steps with an ID in ``redo`` run again even if completed, with all steps that depend on them; those in ``skip`` are
    skipped. ``exposure`` is who can reach the OpenAI-compatible address (None: unchanged, or this machine only).
    ``keep``: restart the server when it fails (None: unchanged, or not). Without ``leaving``, the build ends with this
    process; with it, the build outlives this process, and closing the generator leaves it running once ``leaving`` is
    set.

    Raises:
        ModelError: TW-M80, as in `plan`: a saved plan has its own template.
        WizardError: See `wizard.run.build.run`.
    """
    import asyncio

    from wizard.chat.rendering import try_out
    from wizard.run.build import run as carry_out

    await asyncio.to_thread(try_out, plan.facts.ref, plan.facts.chat)
    events = carry_out(plan, redo=redo, skip=skip, exposure=exposure, keep=keep, leaving=leaving)
    async with aclosing(events):
        async for event in events:
            yield event


def building(workspace: Workspace) -> Build | None:
    """Stage 5. The build that is running, in whatever process; immediate."""
    from wizard.run.build import building as find

    return find(workspace)


def build(workspace: Workspace, name: str | None = None) -> Build:
    """Stage 5. The build of the server ``name``, running or not; by default the running one, else the last; immediate.

    Raises:
        UsageError: TW-R103 if there is none.
    """
    from wizard.run.build import find

    return find(workspace, name)


def attach(workspace: Workspace, name: str | None = None, *, leaving: threading.Event) -> AsyncGenerator[Event, None]:
    """Stage 5. The events of a build from its beginning, live while it is running; then its error, if it has one.

    Closing the generator stops the build, unless ``leaving`` is set. Without a name it is the running build, else the
    last one (TW-R103 if there is none).
    """
    from wizard.run.build import attach as follow

    return follow(workspace, name, leaving=leaving)


def cancel(workspace: Workspace, name: str | None = None) -> Build | None:
    """Stage 5. Stop the running build (of the server ``name``) and return it; None if there is none.

    It waits for the running step to stop (seconds). Do not call it in a running event loop: use a thread.

    Raises:
        WorkspaceError: TW-R104 if it cannot be stopped.
    """
    import asyncio

    from wizard.run.build import cancel as end

    return asyncio.run(end(workspace, name))


def statuses(workspace: Workspace) -> list[Status]:
    """Stage 6. Every server of the workspace, with whether it is running and ready (≤ 2 s each)."""
    from wizard.serve.status import statuses as look

    return look(workspace)


def verify(workspace: Workspace, name: str, progress: Callable[[float], None]) -> str:
    """Read all files of the model that the server ``name`` was set up with, and compare them with its manifest; return
    what they were compared with, empty if nothing is recorded. Minutes for a large model.

    Raises:
        ModelError: TW-M60 a file is damaged, TW-M61 it is missing, TW-M17 it is not readable.
    """
    from wizard.serve.proof import verify as read_all

    return read_all(workspace.server(name), progress)


def endpoint(workspace: Workspace, name: str | None = None) -> Endpoint:
    """The running server ``name``, or the only running one, with its OpenAI-compatible address."""
    from wizard.serve.find import endpoint as find
    from wizard.serve.gateway import with_address

    return with_address(workspace, find(workspace, name))


def care(workspace: Workspace, name: str) -> Care | None:
    """What keeps the server ``name`` running, or has given up; immediate."""
    from wizard.serve.care import shown

    return shown(workspace.server(name))


def service(workspace: Workspace, name: str | None = None) -> Service:
    """The systemd unit that starts the server ``name`` (the only one, if no name is given) with the machine (≤ 1 s).

    It is also found if the server's folder is gone.

    Raises:
        UsageError: TW-S09 if no server of the workspace has that name, TW-S08 if none is given and there are several.
    """
    from wizard.serve.service import service as look

    return look(_with_unit(workspace, name))


def install_service(workspace: Workspace, name: str | None = None) -> Service:
    """Let systemd start the server with the machine and keep it running; starts nothing now. See `service`.

    Raises:
        UsageError: TW-S32 if the server was never set up.
        HostError: TW-S31 if systemd does not manage this user's services.
    """
    from wizard.serve.service import install

    return install(_named(workspace, name))


def remove_service(workspace: Workspace, name: str | None = None) -> bool:
    """Remove the unit, whether there was one; a running server keeps running. See `service`."""
    from wizard.serve.service import remove

    return remove(_with_unit(workspace, name))


def _with_unit(workspace: Workspace, name: str | None) -> ServerFolder:
    """The server ``name``, or the only one; one with a unit needs no folder."""
    from wizard.serve.service import installed

    units = {server.name: server for server in installed(workspace)}
    name = name or (next(iter(units)) if len({*workspace.names(), *units}) == len(units) == 1 else None)
    return units.get(name or "") or _named(workspace, name)


def _named(workspace: Workspace, name: str | None) -> ServerFolder:
    from wizard.serve.find import known
    from wizard.serve.log import only

    known(workspace, name)
    return only(workspace, name)


@reported("down")
def stop(workspace: Workspace, name: str | None = None) -> Status:
    """Stop a server (the only one, if no name is given) and wait until its ports are free (a few seconds).

    Fails while another wizard runs a plan here, because that may be starting the same server. Do not call it in a
    running event loop: use a thread.

    Raises:
        UsageError: TW-S01 if the name is ambiguous, TW-S09 if no server of the workspace has it.
        ServerError: TW-S02 if no name is given and none is running, TW-S07 if it cannot be stopped.
        WorkspaceError: TW-K03, TW-K04 if the workspace cannot be locked.
    """
    import asyncio

    from wizard.kernel.lock import STOPPING, writing
    from wizard.run.engine import end_strays
    from wizard.serve import gateway
    from wizard.serve.find import endpoint as find
    from wizard.serve.find import known
    from wizard.serve.status import status
    from wizard.serve.stop import stop as end

    known(workspace, name)
    server = workspace.server(name or find(workspace).name)
    with writing(workspace, STOPPING):
        asyncio.run(end_strays(workspace))
        asyncio.run(end(server))
        gateway.stop_unused(workspace)
    return status(server)


@reported("down")
def stop_all(workspace: Workspace) -> list[Status]:
    """Stop every server and the OpenAI-compatible address (a few seconds each); returns those that were running.

    Servers are also found if their note was lost. If one cannot be stopped, the others are stopped first. See `stop`.

    Raises:
        ServerError: TW-S07 or TW-S10 for the first server that cannot be stopped.
        WorkspaceError: TW-K03, TW-K04 if the workspace cannot be locked.
    """
    import asyncio

    from wizard.kernel.lock import STOPPING, writing
    from wizard.run.engine import end_strays
    from wizard.serve import gateway, leftovers
    from wizard.serve.status import status
    from wizard.serve.stop import stop_all as end

    servers = leftovers.servers(workspace)
    if not servers:
        return []
    with writing(workspace, STOPPING):
        asyncio.run(end_strays(workspace))
        try:
            stopped = asyncio.run(end(servers))
        finally:
            gateway.stop_unused(workspace)
            leftovers.remove_shared_memory()
    return [status(server) for server in stopped]


def chat(endpoint: Endpoint, conversation: Conversation, *, protocol: str = "grpc") -> AsyncGenerator[Chunk, None]:
    """Stage 7. Stream the answer to the conversation's last message. Closing the generator cancels it in the server."""
    from wizard.chat.stream import answer

    return followed("chat", answer(endpoint, conversation, protocol=protocol))


def tools(
    workspace: Workspace, file: Path | None = None, *, allowed: Iterable[str] = (), asks: bool = True
) -> ToolUse | None:
    """The tools of the MCP servers in ``file``, or in the user's configuration; None if there is none. Starts nothing.

    Args:
        workspace: It has the file with what the user decided about tools.
        file: Instead of the user's configuration.
        allowed: Tools that may be called without a question (``SERVER/TOOL``).
        asks: Whether there is a user to ask about the others, which cannot be called otherwise.

    Raises:
        UsageError: TW-C40 if the file is not a configuration, TW-C30 if the package ``mcp`` is not installed.
    """
    from wizard.chat.tools import config, mcp_client
    from wizard.chat.tools.consent import Consent
    from wizard.chat.tools.loop import ToolUse
    from wizard.chat.tools.toolbox import Toolbox

    if file is None and not config.path().exists():
        return None
    servers = config.load(file or config.path())
    if not servers.servers and not servers.problems:
        return None
    mcp_client.check()
    return ToolUse(Toolbox(servers), Consent(workspace.tools, frozenset(allowed), asks))


def tools_file() -> Path:
    """The user's configuration of MCP servers."""
    from wizard.chat.tools.config import path

    return path()


def chat_with_tools(
    endpoint: Endpoint, conversation: Conversation, use: ToolUse, *, protocol: str = "grpc"
) -> AsyncGenerator[Chunk, None]:
    """Stage 7 with tools: like `chat`, with the calls before the answer, each after the user's consent."""
    from wizard.chat.tools.answer import answer

    return followed("chat", answer(endpoint, conversation, use, protocol=protocol))


def served(endpoint: Endpoint) -> ServedModel:
    """The served model's description: supported questions, context, settings (≤ 5 s)."""
    from wizard.chat.client import described

    return described(endpoint)


def history(workspace: Workspace) -> History:
    """The workspace's saved conversations; creates no file before one is saved."""
    from wizard.chat.history import History

    return History.of(workspace)


def presets() -> list[Preset]:
    """Presets (system prompts with settings), the user's first; `wizard.catalog.presets` saves and removes them."""
    from wizard.catalog.presets import presets as read

    return read()


def meter(served: ServedModel) -> Meter:
    """Counts how much of the model's context a conversation uses (reading a tokenizer: ≤ 1 s)."""
    from wizard.chat.meter import meter as make

    return make(served)


def request(endpoint: Endpoint, conversation: Conversation, served: ServedModel) -> Request:
    """The request for the conversation's last question; `wizard.chat.snippet` turns it into commands."""
    from wizard.chat.stream import request as make

    return make(endpoint, conversation, served)


def at(url: str, model: str | None = None) -> Endpoint:
    """The endpoint of a model on a server that runs elsewhere, OpenAI-compatible or another Triton (≤ 5 s a request);
    it is not stored.

    Raises:
        UsageError, ServerError: See `wizard.chat.openai.at`.
    """
    from wizard.chat.nearby import at as find

    return find(url, model)


def models(url: str) -> list[Endpoint]:
    """All models of the server at ``url`` (≤ 5 s a request).

    Raises:
        UsageError, ServerError: See `wizard.chat.openai.endpoints`.
    """
    from wizard.chat.nearby import endpoints

    return endpoints(url)


def nearby(known: Iterable[Endpoint] = ()) -> list[Nearby]:
    """Servers of other programs on this machine's usual ports, besides the ``known`` ones (≤ 0.5 s)."""
    from wizard.chat.nearby import nearby as look

    return look(known)


def diagnose(log: str) -> list[Finding]:
    """Known causes of failure in any log, the best explanation first (a GB takes about a minute).

    Args:
        log: A file, or ``-`` for standard input.

    Raises:
        UsageError: TW-S17 if it cannot be read.
    """
    from wizard.serve.causes import in_log

    return in_log(log)


def logs(
    workspace: Workspace,
    name: str | None = None,
    *,
    lines: int = 100,
    step: str | None = None,
    raw: bool = False,
    times: bool = False,
) -> list[str]:
    """The last lines of a server's log, or of a step's; without ``raw``, Triton's noise is filtered.

    With ``times``, a step's lines begin with the time when they came.

    Raises:
        UsageError: TW-S09 if ``name`` is not a server of the workspace, TW-S08 if the log does not exist.
    """
    from wizard.serve.find import known
    from wizard.serve.log import view

    known(workspace, name)
    return view(workspace, name, lines=lines, step=step, raw=raw, times=times)


def made(workspace: Workspace) -> list[Item]:
    """Everything that the wizard created in the workspace, with sizes."""
    from wizard.run.clean import items

    return items(workspace)


def images(workspace: Workspace) -> list[Image]:
    """Images that the workspace's servers use (≤ 3 s); the wizard does not remove them."""
    from wizard.run.clean import images as look

    return look(workspace)


def clean(workspace: Workspace, items: list[Item]) -> None:
    """Remove the items; fails while a server is running."""
    from wizard.run.clean import remove

    remove(workspace, items)
