"""The benchmark of a fake journey: one run, whose report is always the same."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

from tests.bench.test_values import example
from wizard.bench.bench import Agree, BenchItem
from wizard.bench.folder import Folder
from wizard.bench.order import Wanted
from wizard.bench.report import Report
from wizard.bench.run import Run
from wizard.kernel.paths import Workspace
from wizard.run.events import StepFinished, StepStarted
from wizard.serve.endpoint import Endpoint

BENCHMARK = example()


class FakeBench:
    """`wizard.journey.bench` and `benchmark`."""

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

    def benchmark(self, path: Path) -> tuple[Report, tuple[Run, ...]]:
        return Folder(path).read()
