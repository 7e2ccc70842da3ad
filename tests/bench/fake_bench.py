"""The benchmark of a fake journey: one run, whose report is always the same."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from pathlib import Path

from tests.bench.test_values import example
from wizard import journey
from wizard.bench.bench import Agree, BenchItem
from wizard.bench.folder import Folder
from wizard.bench.opened import earlier
from wizard.bench.order import Wanted, load_of
from wizard.bench.quality.report import Quality
from wizard.bench.report import Report
from wizard.bench.run import Run
from wizard.kernel.paths import Workspace
from wizard.plan.plan import Step
from wizard.run.events import StepFinished, StepStarted
from wizard.serve.endpoint import Endpoint

BENCHMARK = example()


class FakeBench:
    """The functions of `wizard.journey` about benchmarks; those about votes are the real ones."""

    prompts = 3
    "Of a vote: its first ones."

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

    def benchmarks(self, workspace: Workspace) -> list[tuple[Path, Report]]:
        return earlier(workspace)

    def benchmark(self, path: Path) -> tuple[Report, tuple[Run, ...]]:
        return Folder(path).read()

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
