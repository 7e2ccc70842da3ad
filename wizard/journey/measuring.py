"""Stage 8: benchmarks, comparisons, searches, and their reports."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wizard.journey.planning import calibration, earlier_plan, monitor, probe
from wizard.workshop.progress import followed

if TYPE_CHECKING:
    from wizard.bench.bench import Agree, BenchItem
    from wizard.bench.compare import CompareItem
    from wizard.bench.comparison import Comparison
    from wizard.bench.environment import Program
    from wizard.bench.opened import Opened
    from wizard.bench.order import Wanted
    from wizard.bench.report import Report as BenchReport
    from wizard.bench.run import Run
    from wizard.bench.tune import TuneItem
    from wizard.kernel.paths import Workspace
    from wizard.plan.plan import Step
    from wizard.plan.runtimes.venv import Venv
    from wizard.probe.host import Host
    from wizard.serve.endpoint import Endpoint


def load_generator(workspace: Workspace, *, hardware: str | None = None) -> Step | None:
    """Stage 8. The step that `bench` begins with if the load generator has no environment yet (≤ 2 s).

    Raises:
        HostError: TW-C61 if this machine cannot run it.
    """
    from wizard.bench.environment import AIPERF

    return installation(AIPERF, workspace, hardware)


def installation(program: Program, workspace: Workspace, hardware: str | None = None) -> Step | None:
    """The step that creates the environment of ``program``; None if it exists. Raises as `machine`."""
    from wizard.bench.environment import is_made, step

    _, venv = machine(workspace, program, hardware)
    return None if is_made(workspace, venv) else step(venv)


def machine(workspace: Workspace, program: Program, hardware: str | None = None) -> tuple[Host, Venv]:
    """This machine, or ``hardware``, and where the environment of ``program`` is or will be on it (≤ 2 s).

    Raises:
        HostError: TW-C61 if it cannot run the program.
    """
    from wizard.bench.environment import of
    from wizard.texts.errors import user_errors

    host = probe(workspace, hardware=hardware)
    with user_errors():
        return host, of(host, workspace, program)


def bench(
    workspace: Workspace, endpoint: Endpoint, wanted: Wanted, folder: Path | None, agree: Agree, command: str = ""
) -> AsyncGenerator[BenchItem, None]:
    """Stage 8. Measure a served model: events of the steps and runs, what was measured so far after each run, and the
    report last.

    It is also in ``folder`` (default: a new one in the workspace), from the first run on and marked as partial until
    the end; closing the generator stops the load generator and keeps what was measured. ``agree`` is asked if it takes
    long. ``command`` is kept in the report.

    Raises:
        HostError: TW-C61 if this machine cannot run the load generator.
        StepError: TW-C62 if its environment cannot be created, TW-C63 if it fails.
        ServerError: TW-C64, TW-C65 if the server does not answer.
        UsageError: TW-C66, TW-C67, TW-C69 if the dataset, the options or the folder cannot be used.
        WorkspaceError: TW-C68 if the folder is not writable; TW-K03, TW-K04 if the workspace is not.
    """
    return followed("bench", _bench(workspace, endpoint, wanted, folder, agree, command))


async def _bench(
    workspace: Workspace, endpoint: Endpoint, wanted: Wanted, folder: Path | None, agree: Agree, command: str
) -> AsyncGenerator[BenchItem, None]:
    import asyncio
    from contextlib import aclosing, closing

    from wizard.bench.bench import bench as measure
    from wizard.bench.environment import AIPERF, prepared
    from wizard.bench.folder import Folder
    from wizard.bench.order import folder_of, ordered, rig_of
    from wizard.bench.report import Report

    host, venv = await asyncio.to_thread(machine, workspace, AIPERF)
    order, prompts = ordered(workspace, endpoint, wanted, host, venv, command)
    order = _with_estimates(workspace, endpoint, order, host)
    async with aclosing(prepared(workspace, venv)) as events:
        async for event in events:
            yield event
    with closing(monitor()) as readings:
        rig = rig_of(workspace, endpoint, order.target, venv, host.cpu.cores, readings.read)
        place = Folder(folder or folder_of(workspace, order.target.name))
        async with aclosing(measure(order, prompts, place, rig, agree)) as items:
            async for item in items:
                _learn(workspace, host, [item] if isinstance(item, Report) else [])
                yield item


def compare(
    workspace: Workspace,
    names: Sequence[str],
    wanted: Wanted,
    folder: Path,
    agree: Agree,
    command: str = "",
    *,
    per_gpu_hour: float | None = None,
) -> AsyncGenerator[CompareItem, None]:
    """Stage 8. Measure several servers under the same load, in alternating runs; the comparison comes last.

    ``names`` are servers of the workspace or URLs. If all servers of the workspace are stopped, each is started for its
    runs and stopped again. Everything else is as in `bench`. ``per_gpu_hour`` is what a GPU costs per hour.

    Raises:
        UsageError: TW-C80, TW-C81 if the servers cannot be compared.
        WizardError: As `bench`; if servers are started, as `run`.
    """
    return followed("compare", _compare(workspace, names, wanted, folder, agree, command, per_gpu_hour))


async def _compare(
    workspace: Workspace,
    names: Sequence[str],
    wanted: Wanted,
    folder: Path,
    agree: Agree,
    command: str,
    per_gpu_hour: float | None,
) -> AsyncGenerator[CompareItem, None]:
    import asyncio
    from contextlib import aclosing, closing

    from wizard.bench.compare import compare as measure
    from wizard.bench.compare import planned, servers
    from wizard.bench.comparison import Comparison
    from wizard.bench.environment import AIPERF, prepared

    named = await asyncio.to_thread(servers, workspace, names)
    host, venv = await asyncio.to_thread(machine, workspace, AIPERF)
    subjects = planned(named, wanted, host, venv, folder, command)
    async with aclosing(prepared(workspace, venv)) as events:
        async for event in events:
            yield event
    with closing(monitor()) as readings:
        items = measure(workspace, named, subjects, folder, agree, readings.read, venv, per_gpu_hour)
        async with aclosing(items):
            async for item in items:
                _learn(workspace, host, item.reports if isinstance(item, Comparison) else ())
                yield item


def tune(
    workspace: Workspace, name: str, wanted: Wanted, folder: Path, agree: Agree, command: str = ""
) -> AsyncGenerator[TuneItem, None]:
    """Stage 8. Find the settings of a server that meet a service level with the most tokens per second.

    The server is started and stopped several times. The result comes last: it is also in ``folder``, with the plan of
    the best settings as ``plan.json``, from the first run on. Everything else is as in `bench`.

    Raises:
        UsageError: TW-S09 if the workspace has no such server, TW-C85 if it runs or has no plan, TW-C86 without a
            service level, TW-C87 if no setting meets it.
        WizardError: As `bench` and `run`.
    """
    return followed("tune", _tune(workspace, name, wanted, folder, agree, command))


async def _tune(
    workspace: Workspace, name: str, wanted: Wanted, folder: Path, agree: Agree, command: str
) -> AsyncGenerator[TuneItem, None]:
    import asyncio
    from contextlib import aclosing, closing

    from wizard.bench.comparison import Comparison
    from wizard.bench.environment import AIPERF, prepared
    from wizard.bench.settings import Variants
    from wizard.bench.tune import most, planned, search_of
    from wizard.bench.tune import tune as measure
    from wizard.probe.engine_python import with_python

    plan = planned(workspace, name)
    host, venv = await asyncio.to_thread(machine, workspace, AIPERF)
    host = await asyncio.to_thread(with_python, host, plan.choice.engine_python)
    async with aclosing(prepared(workspace, venv)) as events:
        async for event in events:
            yield event
    with closing(monitor()) as readings:
        variants = Variants(host, plan, workspace, calibration(workspace))
        search = search_of(variants, wanted, venv, readings.read, folder, agree, command)
        async with aclosing(measure(search, most(wanted, plan), command)) as items:
            async for item in items:
                _learn(workspace, host, item.reports if isinstance(item, Comparison) else ())
                yield item


def _learn(workspace: Workspace, host: Host, reports: Sequence[BenchReport]) -> None:
    """Keep the measured speeds for later advice, if the wizard started the servers; a full disk loses no report."""
    from contextlib import suppress

    from wizard.bench.learned import learned
    from wizard.serve.calibration import keep_speed

    for report in reports:
        plan = earlier_plan(workspace, report.target.name) if report.target.plan else None
        with suppress(OSError):
            for line in learned(host, plan, report, calibration(workspace)) if plan else ():
                keep_speed(workspace, line)


def compared(path: Path) -> Comparison | None:
    """The comparison in the folder or file ``path``; None if it is something else.

    Raises:
        UsageError: TW-C60, TW-K01, TW-K02 if it cannot be read.
    """
    from wizard.bench.comparison import read

    return read(path)


def compare_reports(
    paths: Sequence[Path], folder: Path, command: str = "", *, per_gpu_hour: float | None = None
) -> Comparison:
    """Stage 8. Compare benchmarks that were made before; the comparison is also in ``folder``.

    Raises:
        UsageError: As `benchmark`; TW-C80, TW-C82 if they cannot be compared, TW-C69 if the folder has a report.
        WorkspaceError: TW-C68 if the folder is not writable.
    """
    from wizard.bench.comparison import keep, saved
    from wizard.bench.folder import Folder

    made = saved([benchmark(path) for path in paths], command, per_gpu_hour)
    Folder(folder).make()
    keep(made, folder)
    return made


def comparison_pages(folder: Path, comparison: Comparison, *, pictures: bool = False) -> tuple[Path, ...]:
    """Write its pages into ``folder``, as `bench_pages` does for a report; raises as that does."""
    from wizard.texts.benchmark.files import write_comparison

    return write_comparison(folder, comparison, pictures=pictures)


def _with_estimates(workspace: Workspace, endpoint: Endpoint, order: BenchReport, host: Host) -> BenchReport:
    """``order`` with the wizard's own estimate of each level, if it started the server and knows one."""
    from dataclasses import replace

    from wizard.bench.predicted import predicted

    plan = earlier_plan(workspace, endpoint.name) if order.target.plan else None
    if plan is None:
        return order
    past = calibration(workspace)
    return replace(order, predicted=predicted(host, plan.facts, plan.choice, order.load, order.dataset, past))


def bench_order(workspace: Workspace, endpoint: Endpoint, wanted: Wanted) -> BenchReport:
    """Stage 8. What `bench` would measure: the report without results (≤ 2 s). Raises as `bench` does."""
    from wizard.bench.environment import AIPERF
    from wizard.bench.order import ordered

    host, venv = machine(workspace, AIPERF)
    return ordered(workspace, endpoint, wanted, host, venv, "")[0]


def benchmark(path: Path) -> tuple[BenchReport, tuple[Run, ...]]:
    """The report in the folder or file ``path``, and its runs if they are beside it.

    Raises:
        UsageError: TW-C60, TW-C69, TW-K01, TW-K02 if it cannot be read.
    """
    from wizard.bench.opened import opened

    return opened(path)


def open_report(path: Path) -> Opened:
    """The report in the folder or file ``path``, of any kind; raises as `benchmark`."""
    from wizard.bench.opened import any_opened

    return any_opened(path)


def benchmarks(workspace: Workspace) -> list[Opened]:
    """The workspace's reports of every kind without their runs, the latest first, without damaged ones."""
    from wizard.bench.opened import earlier

    return earlier(workspace)


def bench_pages(folder: Path, *, pictures: bool = False) -> tuple[Path, ...]:
    """Write the report in ``folder`` as ``report.html`` and ``report.md`` beside it, with ``pictures`` also its charts
    as PNG, in the current language; returns the paths.

    Raises:
        WorkspaceError: TW-C68 if they cannot be written.
        UsageError: As `benchmark`, and TW-U66 if the extra for PNG is not installed.
        HostError: TW-U67 if there is no font for PNG.
    """
    from wizard.texts.benchmark.files import write

    return write(folder, *benchmark(folder), pictures=pictures)
