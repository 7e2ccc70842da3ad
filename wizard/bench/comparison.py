"""The value of a comparison: the reports of several servers under the same load, and the ratios of their figures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from wizard.advise.reasons import Note
from wizard.bench import statistics
from wizard.bench.derive import derived
from wizard.bench.folder import REPORT, write
from wizard.bench.load import Point
from wizard.bench.measured import Interval, Measured
from wizard.bench.opened import LARGEST_BYTES
from wizard.bench.report import FORMAT, Report
from wizard.bench.run import Run
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.values import from_json, to_json

KIND: Literal["comparison"] = "comparison"
Order: TypeAlias = Literal["alternating", "turns", "apart", "search"]
"""How the servers were measured: all running, in alternating runs; started in turn, a round of runs each; in separate
benchmarks at different times; or one after the other, as the settings of one server in a search for the best.
"""
Figure: TypeAlias = Literal["tokens_per_s", "requests_per_s", "ttft_ms", "tpot_ms", "latency_ms"]
Method: TypeAlias = Literal["pairs", "intervals"]
"""What a ratio's interval comes from, see `wizard.bench.statistics`."""
FIGURES: tuple[Figure, ...] = ("tokens_per_s", "requests_per_s", "ttft_ms", "tpot_ms", "latency_ms")
MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times a figure is that of the first server, at a level of load. Times are compared by their medians.

    Attributes:
        server: Number of the server in the comparison; the first one is 0.
        point: The level of load.
        figure: What is compared.
        value: The ratio.
        method: What its interval comes from.
    """

    server: int
    point: Point
    figure: Figure
    value: Interval
    method: Method


@dataclass(frozen=True, slots=True)
class Comparison:
    """Several servers under the same load.

    Attributes:
        kind: ``comparison``; a report of one server has none.
        format: Version of the format, that of reports.
        made: When it began, in ISO 8601 with the zone.
        command: The command that compares the same again.
        order: How the servers were measured.
        reports: Of each server; ratios are to the first.
        names: A short name for each, all different.
        ratios: Of all other servers, at each level that both have.
        per_gpu_hour: What a GPU costs per hour, in any currency; None: unknown.
        warnings: What makes the comparison doubtful.
        chosen: Number of the settings that a search found; None if it found none, or if there was no search.
    """

    kind: Literal["comparison"]
    format: int
    made: str
    command: str
    order: Order
    reports: tuple[Report, ...]
    names: tuple[str, ...]
    ratios: tuple[Ratio, ...] = ()
    per_gpu_hour: float | None = None
    warnings: tuple[Note, ...] = ()
    chosen: int | None = None

    @property
    def partial(self) -> str:
        """Why it is incomplete, as in `Report`; empty if it is complete."""
        return next((report.partial for report in self.reports if report.partial), "")


def value_of(measured: Measured, figure: Figure) -> Interval | None:
    """The figure of a level; of times, the median."""
    value = getattr(measured, figure)
    return value if value is None or isinstance(value, Interval) else value.p50


def ratios(reports: Sequence[Report], runs: Sequence[Sequence[Run]], *, paired: bool) -> tuple[Ratio, ...]:
    """The ratios of all figures to those of the first report.

    Args:
        reports: The baseline first.
        runs: Of each report; needed only if they are ``paired``.
        paired: Whether the runs with the same number were measured one after the other.
    """
    made = []
    for server, report in enumerate(reports[1:], 1):
        for before in reports[0].points:
            after = next((each for each in report.points if each.point == before.point), None)
            pairs = _pairs(report, before.point, runs[0], runs[server]) if paired else []
            for figure in FIGURES if after else ():
                if ratio := _ratio(server, before, after, figure, pairs):
                    made.append(ratio)
    return tuple(made)


def _pairs(
    report: Report, point: Point, before: Sequence[Run], after: Sequence[Run]
) -> list[tuple[Measured, Measured]]:
    """The complete runs of a level in pairs, each measured alone; none with fewer than are needed for an interval."""
    whole = [
        {run.number: run for run in runs if run.point == point and run.requests and not run.partial}
        for runs in (before, after)
    ]
    numbers = sorted(whole[0].keys() & whole[1].keys())
    if len(numbers) < statistics.ENOUGH_RUNS:
        return []
    first, second = ([derived([runs[number]], report.level, report.target, 1) for number in numbers] for runs in whole)
    return list(zip(first, second, strict=True))


def _ratio(
    server: int, before: Measured, after: Measured | None, figure: Figure, pairs: Sequence[tuple[Measured, Measured]]
) -> Ratio | None:
    values = [(value_of(first, figure), value_of(second, figure)) for first, second in pairs]
    known = [(first.value, second.value) for first, second in values if first and second]
    if len(known) >= statistics.ENOUGH_RUNS and (ratio := statistics.paired_ratio(known)):
        return Ratio(server, before.point, figure, ratio, "pairs")
    first = value_of(before, figure)
    second = value_of(after, figure) if after else None
    apart = statistics.ratio(first, second) if first and second else None
    return Ratio(server, before.point, figure, apart, "intervals") if apart else None


def cost(measured: Measured, per_gpu_hour: float | None) -> float | None:
    """Money for a million output tokens at this level; None if the price, the GPUs or the rate is unknown."""
    if per_gpu_hour is None or not measured.gpus or not measured.tokens_per_s or not measured.tokens_per_s.value:
        return None
    return per_gpu_hour * len(measured.gpus) / 3600 / measured.tokens_per_s.value * MILLION


def short_names(reports: Sequence[Report]) -> tuple[str, ...]:
    """A name for each report: of the server; with the stack, and with a number, where servers have the same."""
    names = [report.target.name for report in reports]
    if len({*names}) < len(names):
        names = [f"{report.target.name} ({report.target.stack})" for report in reports]
    return tuple(f"{name} #{at}" if names.count(name) > 1 else name for at, name in enumerate(names, 1))


def saved(
    reports: Sequence[tuple[Report, Sequence[Run]]], command: str, per_gpu_hour: float | None = None
) -> Comparison:
    """The comparison of ``reports`` that were made at different times.

    Raises:
        UsageError: TW-C82 if they have no level of load in common.
    """
    alone = [report for report, _ in reports]
    for report in alone[1:]:
        if not {each.point for each in report.points} & {each.point for each in alone[0].points}:
            message = tr(
                "the reports of {first} and {second} have no level of load in common",
                first=alone[0].target.name,
                second=report.target.name,
            )
            raise UsageError("TW-C82", message, tr("Measure both with the same --concurrency or --request-rate."))
    made = Comparison(
        KIND, FORMAT, max(each.made for each in alone), command, "apart", tuple(alone), short_names(alone)
    )
    compared = ratios(alone, [runs for _, runs in reports], paired=False)
    return replace(made, ratios=compared, per_gpu_hour=per_gpu_hour, warnings=tuple(_different(alone)))


def _different(reports: Sequence[Report]) -> list[Note]:
    """What was not the same, besides the servers: prompts, the way of sending, the machine."""
    first, notes = reports[0], [Note("compare-apart")]
    for report in reports[1:]:
        name = report.target.name
        if (report.dataset, report.load.seed) != (first.dataset, first.load.seed):
            notes.append(Note("compare-prompts", {"name": name}))
        if report.target.api != first.target.api:
            notes.append(Note("compare-api", {"name": name}))
        if report.machine != first.machine:
            notes.append(Note("compare-machine", {"name": name}))
    return notes


def read(path: Path) -> Comparison | None:
    """The comparison in the folder or file ``path``; None if it is something else.

    Raises:
        UsageError: TW-K01, TW-K02, TW-C60 if it is damaged, or of another format.
    """
    file = path / REPORT if path.is_dir() else path
    try:
        if file.stat().st_size > LARGEST_BYTES:
            return None
        data = file.read_bytes()
        there = json.loads(data)
    except (OSError, ValueError, RecursionError):
        return None  # reading it as a report says what is wrong with it
    if not isinstance(there, dict) or there.get("kind") != KIND:
        return None
    comparison = from_json(Comparison, data, where=str(file))
    if comparison.format != FORMAT:
        message = tr("{where} has format {format}, not {known}", where=file, format=comparison.format, known=FORMAT)
        raise UsageError("TW-C60", message, tr("Use the version of the wizard that wrote it, or measure again."))
    return comparison


def keep(comparison: Comparison, folder: Path) -> None:
    """Write it as ``report.json`` in ``folder``.

    Raises:
        WorkspaceError: TW-C68 if it cannot be written.
    """
    write(folder / REPORT, to_json(comparison, indent=2) + "\n")
