"""Compare servers: the same load on each, in alternating runs, and the ratios of what was measured."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urldefrag

from wizard.advise.reasons import Note
from wizard.bench import comparison
from wizard.bench.bench import Agree, Ready, Subject, measure
from wizard.bench.comparison import KIND, Comparison
from wizard.bench.folder import Folder
from wizard.bench.measured import Measured
from wizard.bench.order import Wanted, for_all, order_of, plan_of, planned_target, target_of
from wizard.bench.report import FORMAT
from wizard.bench.turns import Turns, prepare
from wizard.chat.nearby import at
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.paths import Workspace
from wizard.plan.plan import Plan
from wizard.plan.runtimes.venv import Venv
from wizard.plan.server_plan import earlier_plan
from wizard.probe.host import Host
from wizard.probe.live import Reading
from wizard.run.events import Event
from wizard.serve import find, gateway
from wizard.serve.endpoint import Endpoint

CompareItem: TypeAlias = Event | Measured | Comparison


@dataclass(frozen=True, slots=True)
class Server:
    """A server to compare.

    Attributes:
        name: As the user named it.
        endpoint: Where it runs; None if it does not.
        plan: What it is started from; None if the wizard does not know.
    """

    name: str
    endpoint: Endpoint | None = None
    plan: Plan | None = None

    @property
    def hardware(self) -> frozenset[int] | None:
        """Indices of its GPUs, none of them for the processor; None if it is not known."""
        return frozenset(self.plan.choice.devices) if self.plan else None


def servers(workspace: Workspace, names: Sequence[str]) -> tuple[Server, ...]:
    """The servers that ``names`` stand for: of the workspace, running or not, or URLs (``URL#MODEL``).

    Raises:
        UsageError: TW-C80 if there are fewer than two or one twice, TW-C81 if some run and others do not, TW-S09 if the
            workspace has none of that name.
        ServerError: If a URL does not answer, see `wizard.chat.openai.at`.
    """
    if len({*names}) < max(2, len(names)):
        message = tr("--compare needs at least two different servers or reports")
        raise UsageError("TW-C80", message, tr("Name them: `triton-wizard bench --compare A B`."))
    named = tuple(_server(workspace, name) for name in names)
    stopped = [server for server in named if server.endpoint is None]
    if stopped and len(stopped) < len(named):
        running = next(server.name for server in named if server.endpoint)
        message = tr("{running} is running, {stopped} is not", running=running, stopped=stopped[0].name)
        todo = tr(
            "Start it: `triton-wizard up {stopped}`. If they do not fit on this machine together, stop all of them: "
            "then they take turns.",
            stopped=stopped[0].name,
        )
        raise UsageError("TW-C81", message, todo)
    return named


def _server(workspace: Workspace, name: str) -> Server:
    if "://" in name:
        url, model = urldefrag(name)
        return Server(name, at(url, model or None))
    find.known(workspace, name)
    running = find.running(workspace.server(name))
    if running:
        return Server(name, gateway.with_address(workspace, running), plan_of(workspace, running))
    plan = earlier_plan(workspace, name)
    if plan is None:
        message = tr("the server {name} is not running, and its plan is not readable", name=name)
        raise UsageError("TW-C81", message, tr("Start it: `triton-wizard up {name}`.", name=name))
    return Server(name, plan=plan)


def planned(
    named: Sequence[Server], wanted: Wanted, host: Host, venv: Venv, folder: Path, command: str
) -> list[Subject]:
    """The servers as subjects of a benchmark, all with the same load and prompts; each has a folder in ``folder``.

    Raises:
        UsageError: TW-C66, TW-C67 if dataset or options cannot be used.
    """
    same = for_all(wanted, [server.plan for server in named])
    orders = []
    for server in named:
        target = (
            target_of(server.endpoint, server.plan, wanted.api)
            if server.endpoint
            else planned_target(_plan(server), wanted.api)
        )
        orders.append(order_of(target, server.plan, same, host, venv, command))
    dataset, prompts = min(((order.dataset, prompts) for order, prompts in orders), key=lambda each: len(each[1]))
    return [
        Subject(replace(order, dataset=dataset), prompts, Folder(folder / f"{number}-{_file_name(order.target.name)}"))
        for number, (order, _) in enumerate(orders, 1)
    ]


def _plan(server: Server) -> Plan:
    if server.plan is None:
        raise LookupError(server.name)
    return server.plan


def _file_name(name: str) -> str:
    bare = name.rpartition("://")[2]
    return "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in bare)[:40]


async def compare(
    workspace: Workspace,
    named: Sequence[Server],
    subjects: Sequence[Subject],
    folder: Path,
    agree: Agree,
    read: Callable[[], Reading],
    venv: Venv,
    per_gpu_hour: float | None = None,
) -> AsyncGenerator[CompareItem, None]:
    """Measure the ``subjects``, in alternating runs if all servers run, otherwise in turn; the comparison comes last.

    It is in ``folder`` after each run, as far as it goes.

    Raises:
        As `wizard.bench.bench.bench`; in turn, as `Turns.start`.
    """
    Folder(folder).check_new()
    turns = None if all(server.endpoint for server in named) else Turns(workspace)

    def begin(at: int, endpoint: Endpoint) -> None:
        prepare(subjects[at], workspace, endpoint, named[at].plan, venv, read)

    for number, server in enumerate(named):
        if server.endpoint:
            begin(number, server.endpoint)

    try:
        ready = _in_turn(turns, named, begin) if turns else None
        async with aclosing(measure(subjects, agree, ready)) as items:
            async for item in items:
                yield item
                if isinstance(item, Measured):
                    comparison.keep(_compared(named, subjects, per_gpu_hour), folder)
    finally:
        try:
            if any(subject.runs for subject in subjects):
                comparison.keep(_compared(named, subjects, per_gpu_hour), folder)
        finally:
            if turns:
                await turns.end()
    yield _compared(named, subjects, per_gpu_hour)


def _in_turn(turns: Turns, named: Sequence[Server], begin: Callable[[int, Endpoint], None]) -> Ready:
    async def ready(at: int) -> AsyncGenerator[Event, None]:
        plan = _plan(named[at])
        if not turns.serves(plan):
            async with aclosing(turns.start(plan)) as events:
                async for event in events:
                    yield event
            begin(at, turns.endpoint())

    return ready


def _compared(named: Sequence[Server], subjects: Sequence[Subject], per_gpu_hour: float | None) -> Comparison:
    reports = tuple(subject.report for subject in subjects)
    running = all(server.endpoint for server in named)
    return Comparison(
        kind=KIND,
        format=FORMAT,
        made=reports[0].made,
        command=reports[0].command,
        order="alternating" if running else "turns",
        reports=reports,
        names=comparison.short_names(reports),
        ratios=comparison.ratios(reports, [subject.runs for subject in subjects], paired=True),
        per_gpu_hour=per_gpu_hour,
        warnings=tuple(shared(named)) if running else (),
    )


def shared(named: Sequence[Server]) -> list[Note]:
    """Which of the running servers have a GPU or the processor in common."""
    notes = []
    for number, server in enumerate(named):
        for other in named[:number]:
            mine, theirs = server.hardware, other.hardware
            if mine is None or theirs is None:
                continue
            if common := sorted(mine & theirs):
                gpus = ", ".join(map(str, common))
                notes.append(Note("compare-shared-gpu", {"first": other.name, "second": server.name, "gpus": gpus}))
            elif not mine and not theirs:
                notes.append(Note("compare-shared-cpu", {"first": other.name, "second": server.name}))
    return notes
