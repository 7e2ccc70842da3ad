"""The benchmark of the workflow: what can be measured, the run, and what is left of it; for every interface."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from wizard.bench.order import Wanted, load_of
from wizard.kernel.errors import UsageError
from wizard.kernel.program import command

if TYPE_CHECKING:
    from wizard.bench.bench import Agree, BenchItem
    from wizard.bench.load import Load
    from wizard.flow.port import JourneyPort
    from wizard.kernel.paths import Workspace
    from wizard.plan.plan import Step
    from wizard.serve.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class Offer:
    """A benchmark that can be chosen."""

    wanted: Wanted
    load: Load


@dataclass(frozen=True, slots=True)
class Offers:
    """The benchmarks to choose from, and what must be installed first; None if nothing."""

    quick: Offer
    full: Offer
    install: Step | None


def offers(journey: JourneyPort, workspace: Workspace, endpoint: Endpoint, wanted: Wanted) -> Offers:
    """The quick and the full benchmark with the options ``wanted`` (blocking, ≤ 4 s).

    Raises:
        HostError: TW-C61 if this machine cannot run the load generator.
        UsageError: TW-C66, TW-C67 if the options do not suit the server.
    """
    quick, full = replace(wanted, quick=True), replace(wanted, quick=False)
    order = journey.bench_order(workspace, endpoint, quick)
    install = journey.load_generator(workspace)
    return Offers(Offer(quick, order.load), Offer(full, load_of(full, order.target.slots)), install)


def shortened(wanted: Wanted, load: Load) -> Wanted:
    """``wanted`` for the shorter ``load`` of a `wizard.bench.bench.Outlook`."""
    return replace(wanted, seconds=load.seconds, repeats=load.repeats)


def benchmark(
    journey: JourneyPort, workspace: Workspace, endpoint: Endpoint, wanted: Wanted, folder: Path, agree: Agree
) -> AsyncGenerator[BenchItem, None]:
    """The items of the benchmark, see `wizard.journey.bench`; its report has the command that measures the same."""
    from wizard.bench.questions import flags_of

    target = (endpoint.name,) if endpoint.url is None else (endpoint.url, "--model", endpoint.model)
    again = command("bench", *target, *flags_of(wanted), workspace=workspace)
    return journey.bench(workspace, endpoint, wanted, folder, agree, again)


def kept(journey: JourneyPort, folder: Path) -> bool:
    """Whether anything was measured; the pages of its report are written (blocking).

    Raises:
        WorkspaceError: TW-C68 if they cannot be written.
    """
    try:
        report, _ = journey.benchmark(folder)
    except UsageError:  # it ended before its first run
        return False
    if report.points:
        journey.bench_pages(folder)
    return bool(report.points)
