"""What the flow and the screens need of the facade: the module `wizard.journey`, or a fake in the tests."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import threading

    from wizard.advise.advice import Advice, Choice, Constraints
    from wizard.advise.calibration import Calibration
    from wizard.advise.pareto import Front
    from wizard.bench.bench import Agree, BenchItem
    from wizard.bench.compare import CompareItem
    from wizard.bench.opened import Opened
    from wizard.bench.order import Wanted
    from wizard.bench.quality.evaluate import QualityItem
    from wizard.bench.quality.perplexity import Files
    from wizard.bench.quality.report import Quality, Subject
    from wizard.bench.quality.tasks import Evaluation
    from wizard.bench.report import Report
    from wizard.bench.run import Run
    from wizard.bench.tune import TuneItem
    from wizard.catalog.presets import Preset
    from wizard.catalog.recipes import Recipe
    from wizard.chat.chunk import Chunk
    from wizard.chat.conversation import Conversation
    from wizard.chat.history import History
    from wizard.chat.meter import Meter
    from wizard.chat.nearby import Nearby
    from wizard.chat.served import ServedModel
    from wizard.chat.tools.loop import ToolUse
    from wizard.doctor.finding import Finding
    from wizard.kernel.paths import Workspace
    from wizard.model.facts import ModelFacts
    from wizard.model.on_disk import Entry
    from wizard.plan.offers import Suggestion
    from wizard.plan.plan import Plan, Step
    from wizard.probe.host import Host
    from wizard.probe.live import Monitor
    from wizard.run.build import Build
    from wizard.run.events import Event
    from wizard.serve.care import Care
    from wizard.serve.endpoint import Endpoint
    from wizard.serve.status import Status


class JourneyPort(Protocol):
    """The functions of `wizard.journey` that the interfaces call; see there for their documentation."""

    def probe(self, workspace: Workspace, *, hardware: str | None = None) -> Host: ...  # noqa: D102

    def monitor(self) -> Monitor: ...  # noqa: D102

    def doctor(  # noqa: D102
        self, workspace: Workspace, host: Host | None = None, *, quick: bool = False, offline: bool = False
    ) -> tuple[Finding, ...]: ...

    def recipes(self) -> list[Recipe]: ...  # noqa: D102

    def suggestions(  # noqa: D102
        self, host: Host, workspace: Workspace | None = None, *, offline: bool = False, ask: bool = True
    ) -> list[Suggestion]: ...

    def search(self, text: str, *, offline: bool = False) -> list[Suggestion]: ...  # noqa: D102

    def with_verdict(self, host: Host, suggestion: Suggestion, *, offline: bool = False) -> Suggestion: ...  # noqa: D102

    def browse(self, text: str) -> list[Entry]: ...  # noqa: D102

    def model(self, ref: str, *, offline: bool = False) -> ModelFacts: ...  # noqa: D102

    def with_gguf(self, facts: ModelFacts) -> ModelFacts: ...  # noqa: D102

    def calibration(self, workspace: Workspace) -> Calibration: ...  # noqa: D102

    def advise(  # noqa: D102
        self,
        host: Host,
        facts: ModelFacts,
        constraints: Constraints,
        past: Calibration | None = None,
        *,
        offline: bool = False,
    ) -> Advice: ...

    def pareto(  # noqa: D102
        self,
        host: Host,
        facts: ModelFacts,
        constraints: Constraints,
        past: Calibration | None = None,
        *,
        offline: bool = False,
    ) -> Front: ...

    def plan(  # noqa: D102
        self,
        host: Host,
        facts: ModelFacts,
        choice: Choice,
        workspace: Workspace,
        *,
        name: str | None = None,
        http_port: int | None = None,
    ) -> Plan: ...

    def earlier_plan(self, workspace: Workspace, name: str) -> Plan | None: ...  # noqa: D102

    def latest_plan(self, workspace: Workspace, names: Iterable[str]) -> Plan | None: ...  # noqa: D102

    def run(  # noqa: D102
        self,
        plan: Plan,
        *,
        redo: Set[str] = frozenset(),
        skip: Set[str] = frozenset(),
        leaving: threading.Event | None = None,
    ) -> AsyncGenerator[Event, None]: ...

    def building(self, workspace: Workspace) -> Build | None: ...  # noqa: D102

    def attach(  # noqa: D102
        self, workspace: Workspace, name: str | None = None, *, leaving: threading.Event
    ) -> AsyncGenerator[Event, None]: ...

    def statuses(self, workspace: Workspace) -> list[Status]: ...  # noqa: D102

    def endpoint(self, workspace: Workspace, name: str | None = None) -> Endpoint: ...  # noqa: D102

    def care(self, workspace: Workspace, name: str) -> Care | None: ...  # noqa: D102

    def stop(self, workspace: Workspace, name: str | None = None) -> Status: ...  # noqa: D102

    def served(self, endpoint: Endpoint) -> ServedModel: ...  # noqa: D102

    def at(self, url: str, model: str | None = None) -> Endpoint: ...  # noqa: D102

    def models(self, url: str) -> list[Endpoint]: ...  # noqa: D102

    def nearby(self, known: Iterable[Endpoint] = ()) -> list[Nearby]: ...  # noqa: D102

    def meter(self, served: ServedModel) -> Meter: ...  # noqa: D102

    def presets(self) -> list[Preset]: ...  # noqa: D102

    def history(self, workspace: Workspace) -> History: ...  # noqa: D102

    def chat(self, endpoint: Endpoint, conversation: Conversation) -> AsyncGenerator[Chunk, None]: ...  # noqa: D102

    def tools(self, workspace: Workspace) -> ToolUse | None: ...  # noqa: D102

    def chat_with_tools(  # noqa: D102
        self, endpoint: Endpoint, conversation: Conversation, use: ToolUse
    ) -> AsyncGenerator[Chunk, None]: ...

    def logs(  # noqa: D102
        self,
        workspace: Workspace,
        name: str | None = None,
        *,
        lines: int = 100,
        step: str | None = None,
        raw: bool = False,
    ) -> list[str]: ...

    def bench(  # noqa: D102
        self,
        workspace: Workspace,
        endpoint: Endpoint,
        wanted: Wanted,
        folder: Path | None,
        agree: Agree,
        command: str = "",
    ) -> AsyncGenerator[BenchItem, None]: ...

    def compare(  # noqa: D102
        self,
        workspace: Workspace,
        names: Sequence[str],
        wanted: Wanted,
        folder: Path,
        agree: Agree,
        command: str = "",
        *,
        per_gpu_hour: float | None = None,
    ) -> AsyncGenerator[CompareItem, None]: ...

    def tune(  # noqa: D102
        self, workspace: Workspace, name: str, wanted: Wanted, folder: Path, agree: Agree, command: str = ""
    ) -> AsyncGenerator[TuneItem, None]: ...

    def quality(  # noqa: D102
        self,
        workspace: Workspace,
        endpoints: Sequence[Endpoint],
        evaluation: Evaluation,
        folder: Path,
        command: str = "",
        known: Subject | None = None,
    ) -> AsyncGenerator[QualityItem, None]: ...

    def scores(self, path: Path) -> Subject | None: ...  # noqa: D102

    def perplexity(  # noqa: D102
        self, workspace: Workspace, files: Files, folder: Path, command: str = ""
    ) -> AsyncGenerator[QualityItem, None]: ...

    def ballots(  # noqa: D102
        self,
        workspace: Workspace,
        endpoints: Sequence[Endpoint],
        prompts: Sequence[str],
        folder: Path,
        command: str,
        seed: int,
    ) -> AsyncGenerator[Quality, None]: ...

    def benchmark(self, path: Path) -> tuple[Report, tuple[Run, ...]]: ...  # noqa: D102

    def bench_order(self, workspace: Workspace, endpoint: Endpoint, wanted: Wanted) -> Report: ...  # noqa: D102

    def load_generator(self, workspace: Workspace) -> Step | None: ...  # noqa: D102

    def bench_pages(self, folder: Path) -> tuple[Path, ...]: ...  # noqa: D102

    def open_report(self, path: Path) -> Opened: ...  # noqa: D102

    def benchmarks(self, workspace: Workspace) -> list[Opened]: ...  # noqa: D102

    def quality_report(self, path: Path) -> Quality | None: ...  # noqa: D102

    def quality_pages(self, folder: Path) -> tuple[Path, ...]: ...  # noqa: D102
