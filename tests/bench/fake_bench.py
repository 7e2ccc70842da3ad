"""The measurements of a fake journey: each is one run, whose report is always the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.bench.test_values import example
from tests.values import plan_of
from wizard import journey
from wizard.bench import comparison
from wizard.bench.bench import Agree, BenchItem
from wizard.bench.compare import CompareItem
from wizard.bench.folder import Folder
from wizard.bench.measured import Interval
from wizard.bench.opened import Opened, any_opened, earlier
from wizard.bench.order import Wanted, load_of
from wizard.bench.quality.evaluate import QualityItem
from wizard.bench.quality.perplexity import Files
from wizard.bench.quality.report import Item, Quality, Score, Subject
from wizard.bench.quality.tasks import Evaluation
from wizard.bench.report import Report
from wizard.bench.run import Run
from wizard.bench.tune import PLAN, TuneItem
from wizard.kernel.paths import Workspace
from wizard.kernel.values import to_document
from wizard.plan.plan import Step
from wizard.run.events import Progress, StepFinished, StepStarted
from wizard.serve.endpoint import Endpoint

BENCHMARK = example()
TWO = tuple(replace(BENCHMARK, target=replace(BENCHMARK.target, name=name)) for name in ("demo", "other"))
COMPARISON = replace(comparison.saved([(report, ()) for report in TWO], ""), order="alternating")
SCORE = Score("wizard_facts", "exact_match", "answer", "1", (Item(0, "h", 1.0),), Interval(0.5, 0.3, 0.7))
SUBJECT = Subject(BENCHMARK.target, (SCORE,))
QUALITY = Quality("quality", 1, BENCHMARK.made, "", BENCHMARK.machine, {}, (SUBJECT,))


class FakeBench:
    """The functions of `wizard.journey` about benchmarks; those about votes are the real ones. What the others were
    asked for is in ``measured``.

    With ``measures`` as ``hang``, they never end; closing one leaves a file in ``notes``.
    """

    measures = "all"
    notes: Path
    measured: tuple[Any, ...] = ()
    prompts = 3
    "Of a vote: its first ones."

    async def _measure(self, folder: Path, report: Any) -> AsyncGenerator[Any, None]:
        Folder(folder).make()
        yield StepStarted("c4-1", "4 concurrent requests, run 1 of 1", 1, 1, 1.0)
        yield Progress("c4-1", 0.5, 4.0, "50%", 1.0)
        if self.measures == "hang":
            try:
                await asyncio.Event().wait()
            finally:
                self.notes.mkdir(parents=True, exist_ok=True)
                (self.notes / "measuring-stopped").touch()
        yield StepFinished("c4-1", "done", 8.0, "", 9.0)
        Folder(folder).keep(report)
        yield report

    def compare(
        self,
        workspace: Workspace,
        names: Sequence[str],
        wanted: Wanted,
        folder: Path,
        agree: Agree,
        command: str = "",
        *,
        per_gpu_hour: float | None = None,
    ) -> AsyncGenerator[CompareItem, None]:
        self.measured = (tuple(names), wanted, per_gpu_hour)
        return self._measure(folder, replace(COMPARISON, command=command))

    async def tune(
        self, workspace: Workspace, name: str, wanted: Wanted, folder: Path, agree: Agree, command: str = ""
    ) -> AsyncGenerator[TuneItem, None]:
        self.measured = (name, wanted)
        async with aclosing(self._measure(folder, replace(COMPARISON, order="search", chosen=1))) as items:
            async for item in items:
                yield item
        plan = plan_of(workspace.root, name=name)
        best = replace(plan, choice=replace(plan.choice, max_batch_size=16))
        (folder / PLAN).write_text(to_document(best), encoding="utf-8")

    def quality(
        self,
        workspace: Workspace,
        endpoints: Sequence[Endpoint],
        evaluation: Evaluation,
        folder: Path,
        command: str = "",
        known: Subject | None = None,
    ) -> AsyncGenerator[QualityItem, None]:
        self.measured = (tuple(endpoint.name for endpoint in endpoints), evaluation, known)
        return self._measure(folder, replace(QUALITY, command=command))

    def scores(self, path: Path) -> Subject | None:
        return journey.scores(path)

    def perplexity(
        self, workspace: Workspace, files: Files, folder: Path, command: str = ""
    ) -> AsyncGenerator[QualityItem, None]:
        self.measured = (files,)
        return self._measure(folder, QUALITY)

    def ballots(
        self,
        workspace: Workspace,
        endpoints: Sequence[Endpoint],
        prompts: Sequence[str],
        folder: Path,
        command: str,
        seed: int,
    ) -> AsyncGenerator[Quality, None]:
        return journey.ballots(workspace, endpoints, prompts[: self.prompts], folder, command, seed)

    def quality_report(self, path: Path) -> Quality | None:
        return journey.quality_report(path)

    def quality_pages(self, folder: Path) -> tuple[Path, ...]:
        return journey.quality_pages(folder)

    async def bench(
        self,
        workspace: Workspace,
        endpoint: Endpoint,
        wanted: Wanted,
        folder: Path | None,
        agree: Agree,
        command: str = "",
    ) -> AsyncGenerator[BenchItem, None]:
        place = Folder(folder or workspace.bench / "demo")
        place.make()
        yield StepStarted("c4-1", "4 concurrent requests, run 1 of 1", 1, 1, 1.0)
        yield StepFinished("c4-1", "done", 8.0, "", 9.0)
        place.keep(BENCHMARK)
        yield BENCHMARK

    def bench_order(self, workspace: Workspace, endpoint: Endpoint, wanted: Wanted) -> Report:
        return replace(BENCHMARK, points=(), load=load_of(wanted, 4), target=replace(BENCHMARK.target, slots=4))

    def load_generator(self, workspace: Workspace) -> Step | None:
        return None

    def bench_pages(self, folder: Path) -> tuple[Path, ...]:
        return ()

    def benchmarks(self, workspace: Workspace) -> list[Opened]:
        return earlier(workspace)

    def open_report(self, path: Path) -> Opened:
        return any_opened(path)

    def benchmark(self, path: Path) -> tuple[Report, tuple[Run, ...]]:
        return Folder(path).read()
