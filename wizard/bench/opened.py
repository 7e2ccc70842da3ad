"""A report that somebody names: by its folder or its file."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from wizard.bench.comparison import Comparison
from wizard.bench.comparison import read as read_comparison
from wizard.bench.folder import LARGEST_BYTES, REPORT, Folder, text_of
from wizard.bench.order import Wanted
from wizard.bench.quality.report import Quality
from wizard.bench.quality.report import read as read_quality
from wizard.bench.report import Report, read
from wizard.bench.run import Run
from wizard.kernel.errors import UsageError, WizardError
from wizard.kernel.language import tr
from wizard.kernel.paths import Workspace
from wizard.kernel.reasons import unreadable

AnyReport: TypeAlias = Report | Comparison | Quality


@dataclass(frozen=True, slots=True)
class Opened:
    """A report of any kind.

    Attributes:
        report: The report.
        runs: Of a benchmark's report: its runs, as far as their files are there.
        folder: Where ``report.json`` is; None if the file has another name.
    """

    report: AnyReport
    runs: Sequence[Run] = ()
    folder: Path | None = None


def any_opened(path: Path) -> Opened:
    """The report in the folder or file ``path``, of whichever kind.

    Raises:
        UsageError: As `opened`.
    """
    folder = path if path.is_dir() else path.parent if path.name == REPORT else None
    if other := read_comparison(path) or quality_opened(path):
        return Opened(other, (), folder)
    return Opened(*opened(path), folder)


def opened(path: Path) -> tuple[Report, tuple[Run, ...]]:
    """The report in the folder or file ``path``, and its runs if they are beside it.

    Raises:
        UsageError: TW-C60, TW-K01, TW-K02 if a file is damaged, TW-C69 if there is no report.
    """
    folder = Folder(path if path.is_dir() else path.parent)
    if path in (folder.root, folder.report):
        return folder.read()
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise OSError(tr("it is too large"))
        return read(path.read_bytes(), where=str(path)), ()
    except OSError as error:
        message = tr("cannot read {path}: {why}", path=path, why=unreadable(error))
        raise UsageError("TW-C69", message, tr("Choose a report.json that `triton-wizard bench` wrote.")) from error


def quality_opened(path: Path) -> Quality | None:
    """The report of `bench --quality` in the folder or file ``path``; None if it is another one, or none.

    Raises:
        UsageError: TW-C60, TW-K02 if it is damaged.
    """
    text = text_of(path, "quality")
    return None if text is None else read_quality(text, where=str(path))


def wanted_again(report: Report) -> Wanted:
    """The options that measure the same again."""
    load, dataset = report.load, report.dataset
    return Wanted(
        concurrency=tuple(point.concurrency for point in load.points if point.concurrency is not None),
        rates=tuple(point.rate for point in load.points if point.rate is not None),
        requests=load.requests,
        seconds=load.seconds,
        repeats=load.repeats,
        warmup=load.warmup,
        dataset=dataset.path or "generated",
        isl=dataset.isl,
        osl=dataset.osl,
        ttft=report.level.ttft_ms,
        tpot=report.level.tpot_ms,
        seed=load.seed,
        api=report.target.api,
    )


def earlier(workspace: Workspace) -> list[Opened]:
    """The workspace's reports without their runs, the latest first, without those that cannot be read or have no
    results.
    """
    reports: list[Opened] = []
    for path in workspace.bench.glob(f"*/{REPORT}"):
        with suppress(WizardError, OSError):
            report = read_comparison(path) or quality_opened(path) or read(path.read_bytes(), where=str(path))
            reports += [Opened(report, (), path.parent)] if _has_results(report) else []
    return sorted(reports, key=lambda each: each.report.made, reverse=True)


def _has_results(report: AnyReport) -> bool:
    if isinstance(report, Comparison):
        return any(each.points for each in report.reports)
    if isinstance(report, Quality):
        measured = report.perplexity and report.perplexity.value
        return bool(measured or report.votes or any(subject.scores for subject in report.subjects))
    return bool(report.points)
