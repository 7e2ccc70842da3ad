"""The journey's functions with fixed answers: nothing is probed, fetched, started or asked."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from tests.bench.fake_bench import FakeBench
from tests.tui.values import (
    ADVICE,
    ANSWER,
    CPU_HOST,
    ELSEWHERE,
    ENDPOINT,
    FACTS,
    SUGGESTIONS,
    WORKSPACE,  # noqa: F401 - the walks through the screens take it from here
    events,
    measurement,
    plan,
    reading,
)
from tests.worded import saying
from wizard.advise.advice import Advice, Choice, Constraints
from wizard.advise.calibration import Calibration
from wizard.advise.pareto import Front, front
from wizard.advise.ranking import advise as real_advice
from wizard.advise.verdict import Verdict
from wizard.catalog.presets import Preset
from wizard.catalog.recipes import Recipe
from wizard.chat.ask import lost, unreachable
from wizard.chat.chunk import Chunk
from wizard.chat.conversation import Conversation, Stats, TokenLogprob
from wizard.chat.history import History
from wizard.chat.meter import Meter
from wizard.chat.nearby import Nearby
from wizard.chat.served import ServedModel
from wizard.chat.tools.loop import ToolUse
from wizard.chat.wire import OWN, Wire
from wizard.doctor.finding import Finding
from wizard.kernel.errors import ModelError, ServerError, WizardError
from wizard.kernel.language import localized
from wizard.kernel.paths import Workspace
from wizard.model.chat_format import ChatFormat
from wizard.model.facts import ModelFacts
from wizard.model.on_disk import Entry
from wizard.plan.offers import Suggestion
from wizard.plan.plan import Plan
from wizard.probe.host import Host
from wizard.probe.live import Monitor, Reading
from wizard.run.build import Build
from wizard.run.events import Event
from wizard.serve.care import Care
from wizard.serve.endpoint import Endpoint
from wizard.serve.status import Status

T = TypeVar("T")


class FakeMonitor(Monitor):
    """Reads what the journey says: the same every time, unless a test changes it."""

    def __init__(self, journey: FakeJourney) -> None:
        super().__init__()
        self._journey = journey

    def read(self) -> Reading:
        host = self._journey.host if isinstance(self._journey.host, Host) else CPU_HOST
        return _or_raise(self._journey.reading or reading(host))

    def close(self) -> None:
        self._journey.closed.append("monitor")


@dataclass
class FakeJourney(FakeBench):
    """Set a field to change an answer; an exception in place of an answer is raised."""

    host: Host | WizardError = CPU_HOST
    reading: Reading | WizardError | None = None
    """None is an idle `host`."""
    findings: tuple[Finding, ...] = ()
    """Of the checks of the machine."""
    offered: tuple[Suggestion, ...] | WizardError = SUGGESTIONS
    known: tuple[Suggestion, ...] | None = None
    """What is offered before the hub is asked; None: the same."""
    hits: tuple[Suggestion, ...] | WizardError = ()
    """What a search on the hub finds."""
    judgement: Suggestion | WizardError | None = None
    """None: whatever it is, it fits."""
    entries: tuple[Entry, ...] = ()
    """Every path that there is."""
    searched: list[str] = field(default_factory=list)
    judged_refs: list[str] = field(default_factory=list)
    facts: ModelFacts = FACTS
    advice: Advice | WizardError | Callable[[Constraints], Advice] | None = ADVICE
    """None computes it."""
    planned: Plan | WizardError = field(default_factory=plan)
    earlier: Plan | None = None
    elsewhere_built: Build | None = None
    """A build that another process runs, of the plan that is `earlier`."""
    attached: list[str | None] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """Names of the builds that were left running."""
    script: Callable[[Plan], list[Event]] = events
    run_error: WizardError | None = None
    hold_run: bool = False
    "stopped Whether a run stays in its last event until it, or `held` is set."
    held: asyncio.Event | None = None
    running: tuple[Endpoint, ...] = ()
    off: tuple[str, ...] = ()
    """Names of the servers that do not run."""
    dead: tuple[str, ...] = ()
    """Names of those that were stopped elsewhere, unnoticed."""
    again: tuple[Endpoint, ...] = ()
    """Those of them that were started again elsewhere."""
    answer: str = ANSWER
    hold_chat: bool = False
    """Whether an answer never ends by itself, unless `chat_held` is set."""
    chat_held: asyncio.Event | None = None
    context: int = 1024
    """Tokens that the served model takes."""
    chats: ChatFormat | None = None
    """The served model's template."""
    wire: Wire = OWN
    """How the served model is asked."""
    chat_error: WizardError | None = None
    chat_stats: dict[str, Stats] = field(default_factory=dict)
    """Name of a server → what its answers are measured at, if not as all others'."""
    vanishes: str = ""
    """Name of a server that dies in the middle of its answers."""
    logprobs: tuple[TokenLogprob, ...] = ()
    """Given with the first piece of an answer, if they are asked for."""
    keeps: list[Care] = field(default_factory=list)
    """What keeps each server running, one look after the other; the last one stays."""
    stop_error: WizardError | None = None
    gate: threading.Event | None = None
    """If set, probing and reading a model wait for it."""
    constraints: list[Constraints] = field(default_factory=list)
    asked: list[Conversation] = field(default_factory=list)
    asked_servers: list[Endpoint] = field(default_factory=list)
    """The server of each of them."""
    closed: list[str] = field(default_factory=list)
    """Names of the generators that were closed before their end."""
    stopped: list[str | None] = field(default_factory=list)
    elsewhere: Endpoint | WizardError = ELSEWHERE
    strangers: tuple[Nearby, ...] = ()
    """Servers of other programs on this machine."""
    own_presets: tuple[Preset, ...] = ()
    token: str | None = None
    """If set, the model is gated, and only this token opens it."""
    read: list[str] = field(default_factory=list)
    runs: int = 0
    otherwise: tuple[Set[str], Set[str]] = (frozenset(), frozenset())
    """The steps that the last run was to do again, and to leave out."""
    past: Calibration = field(default_factory=lambda: Calibration((measurement(),)))

    def probe(self, workspace: Workspace, *, hardware: str | None = None) -> Host:
        self._wait()
        host = _or_raise(self.host)
        return replace(host, source=hardware) if hardware else host

    def doctor(
        self, workspace: Workspace, host: Host | None = None, *, quick: bool = False, offline: bool = False
    ) -> tuple[Finding, ...]:
        return self.findings

    def monitor(self) -> FakeMonitor:
        return FakeMonitor(self)

    def recipes(self) -> list[Recipe]:
        return [Recipe("demo", "Offline demo", "", "models/demo.gguf", "", answers={"users": 2, "temperature": 0.0})]

    def suggestions(
        self, host: Host, workspace: Workspace | None = None, *, offline: bool = False, ask: bool = True
    ) -> list[Suggestion]:
        return list(_or_raise(self.offered if ask or self.known is None else self.known))

    def search(self, text: str, *, offline: bool = False) -> list[Suggestion]:
        self.searched.append(text)
        self._wait()
        return list(_or_raise(self.hits))

    def with_verdict(self, host: Host, suggestion: Suggestion, *, offline: bool = False) -> Suggestion:
        self.judged_refs.append(suggestion.ref)
        self._wait()
        return _or_raise(self.judgement or replace(suggestion, verdict=Verdict("fits", saying("on 1 GPU"))))

    def browse(self, text: str) -> list[Entry]:
        return [entry for entry in self.entries if entry.path.startswith(text)]

    def model(self, ref: str, *, offline: bool = False) -> ModelFacts:
        self.read.append(ref)
        self._wait()
        if ref.startswith("no/"):
            raise ModelError(
                "TW-M01", f"no model {ref!r} on the hub", "Check the spelling, or name a folder or a .gguf file."
            )
        if self.token is not None and os.environ.get("HF_TOKEN") != self.token:
            raise ModelError("TW-M12", f"{ref} is gated", "Accept its licence, then log in.")
        return replace(self.facts, ref=ref)

    def with_gguf(self, facts: ModelFacts) -> ModelFacts:
        return facts

    def calibration(self, workspace: Workspace) -> Calibration:
        return self.past

    def pareto(
        self,
        host: Host,
        facts: ModelFacts,
        constraints: Constraints,
        past: Calibration | None = None,
        *,
        offline: bool = False,
    ) -> Front:
        return front(host, facts, constraints)

    def advise(
        self,
        host: Host,
        facts: ModelFacts,
        constraints: Constraints,
        past: Calibration | None = None,
        *,
        offline: bool = False,
    ) -> Advice:
        self.constraints.append(constraints)
        if self.advice is None:
            return real_advice(host, facts, constraints)
        return self.advice(constraints) if callable(self.advice) else _or_raise(self.advice)

    def plan(
        self,
        host: Host,
        facts: ModelFacts,
        choice: Choice,
        workspace: Workspace,
        *,
        name: str | None = None,
        http_port: int | None = None,
    ) -> Plan:
        made = localized(_or_raise(self.planned))
        return replace(made, name=name or made.name, facts=facts, choice=choice, host=host.source)

    def logs(
        self,
        workspace: Workspace,
        name: str | None = None,
        *,
        lines: int = 100,
        step: str | None = None,
        raw: bool = False,
    ) -> list[str]:
        return ["a line of the log"]

    def earlier_plan(self, workspace: Workspace, name: str) -> Plan | None:
        return self.earlier

    def latest_plan(self, workspace: Workspace, names: Iterable[str]) -> Plan | None:
        return self.earlier if self.earlier and self.earlier.name in names else None

    async def run(
        self,
        plan: Plan,
        *,
        redo: Set[str] = frozenset(),
        skip: Set[str] = frozenset(),
        leaving: threading.Event | None = None,
    ) -> AsyncGenerator[Event, None]:
        self.runs += 1
        self.otherwise = (redo, skip)
        try:
            for event in self.script(plan):
                yield event
            if self.hold_run:
                self.held = asyncio.Event()
                await self.held.wait()
            if self.run_error is not None:
                raise self.run_error
        except (GeneratorExit, asyncio.CancelledError):
            if leaving is not None and leaving.is_set():
                self.left.append(plan.name)
            else:
                self.closed.append("run")
            raise

    def building(self, workspace: Workspace) -> Build | None:
        return self.elsewhere_built

    def attach(
        self, workspace: Workspace, name: str | None = None, *, leaving: threading.Event
    ) -> AsyncGenerator[Event, None]:
        self.attached.append(name)
        assert self.earlier is not None
        return self.run(self.earlier, leaving=leaving)

    def statuses(self, workspace: Workspace) -> list[Status]:
        off = [Status(name, "stopped", None, "") for name in self.off]
        return [*(Status(endpoint.name, "ready", endpoint, "") for endpoint in self.running), *off]

    def served(self, endpoint: Endpoint) -> ServedModel:
        if endpoint.name in self.dead and endpoint not in self.again:
            raise unreachable(endpoint.http, "refused")
        return ServedModel(endpoint.model, self.chats, self.facts.questions, self.context, 0.0, self.wire)

    def endpoint(self, workspace: Workspace, name: str | None = None) -> Endpoint:
        known = (*self.again, *(endpoint for endpoint in (*self.running, ENDPOINT) if name not in self.dead))
        for endpoint in known:
            if endpoint.name == name:
                return endpoint
        raise ServerError("TW-S02", f"the server {name} is not running", "Start it.")

    def care(self, workspace: Workspace, name: str) -> Care | None:
        return self.keeps.pop(0) if len(self.keeps) > 1 else next(iter(self.keeps), None)

    def stop(self, workspace: Workspace, name: str | None = None) -> Status:
        if self.stop_error is not None:
            raise self.stop_error
        self.stopped.append(name)
        return Status(name or "demo", "stopped", None, "")

    def at(self, url: str, model: str | None = None) -> Endpoint:
        return replace(_or_raise(self.elsewhere), model=model or "far")

    def models(self, url: str) -> list[Endpoint]:
        return [endpoint for server in self.strangers for endpoint in server.endpoints if endpoint.url == url]

    def nearby(self, known: Iterable[Endpoint] = ()) -> list[Nearby]:
        return list(_or_raise(self.strangers))

    def meter(self, served: ServedModel) -> Meter:
        return Meter(served.max_seq_len)

    def presets(self) -> list[Preset]:
        return [Preset("precise", "The likeliest words", "Be precise.", {"temperature": 0.0}), *self.own_presets]

    def history(self, workspace: Workspace) -> History:
        return History(Path.home() / "chats" / "chats.sqlite3")

    def tools(self, workspace: Workspace) -> None:
        """No tools are configured."""

    def chat_with_tools(
        self, endpoint: Endpoint, conversation: Conversation, use: ToolUse
    ) -> AsyncGenerator[Chunk, None]:
        raise AssertionError("no tools are configured")

    async def chat(self, endpoint: Endpoint, conversation: Conversation) -> AsyncGenerator[Chunk, None]:
        self.asked.append(conversation)
        self.asked_servers.append(endpoint)
        try:
            if self.chat_error is not None:
                raise self.chat_error
            for start in range(0, len(self.answer), 7):
                given = self.logprobs if start == 0 and conversation.sampling.logprobs is not None else ()
                yield Chunk(
                    self.answer[start : start + 7],
                    tokens=start // 7 + 1,
                    logprobs=given,
                    ttft_s=0.031,
                    at_s=0.031 + start / 1000,
                )
                if endpoint.name == self.vanishes and start:
                    raise lost(endpoint.http, "connection reset")
            if self.hold_chat:
                self.chat_held = asyncio.Event()
                await self.chat_held.wait()
            yield Chunk("", self.chat_stats.get(endpoint.name, Stats(48, 0.031, 0.531, "stop")))
        except (GeneratorExit, asyncio.CancelledError):
            self.closed.append("chat")
            raise

    def _wait(self) -> None:
        if self.gate is not None:
            assert self.gate.wait(30)


def _or_raise(answer: T | WizardError) -> T:
    if isinstance(answer, WizardError):
        raise answer
    return answer
