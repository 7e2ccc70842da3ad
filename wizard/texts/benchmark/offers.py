"""What is said before a benchmark: what it measures, how long it takes, what is installed; and earlier reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wizard.bench.bench import Outlook, expected
from wizard.bench.comparison import Comparison
from wizard.bench.environment import LM_EVAL
from wizard.bench.load import Load
from wizard.bench.opened import AnyReport
from wizard.bench.quality.report import Quality
from wizard.bench.report import Report
from wizard.kernel.language import mark, tr
from wizard.kernel.text import one_line
from wizard.kernel.units import duration, size
from wizard.plan.plan import Step
from wizard.texts.benchmark import words
from wizard.texts.benchmark.markup import shown


def load_line(load: Load) -> str:
    """Levels, runs and time of a benchmark."""
    levels = ", ".join(words.level(point) for point in load.points)
    outlook = expected(load)
    time = "" if outlook is None else " · " + tr("about {time}", time=duration(outlook.seconds))
    return f"{levels} · {words.runs(load)}{time}"


def report_kind(report: AnyReport) -> str:
    """What was measured."""
    if isinstance(report, Comparison):
        return tr("Tuning") if report.order == "search" else tr("Comparison")
    if isinstance(report, Quality):
        return tr("Perplexity") if report.perplexity else tr("Blind vote") if report.votes else tr("Quality")
    return tr("Benchmark")


def report_line(report: AnyReport) -> str:
    """When a report was made, and of what; of a benchmark also its best throughput."""
    name, made = one_line(shown(", ".join(_subjects(report)))), report.made[:16].replace("T", " ")
    line = f"{made} · {name}"
    if isinstance(report, Report):
        best = max(report.points, key=lambda point: point.tokens_per_s.value if point.tokens_per_s else 0.0)
        rate = words.number(best.tokens_per_s.value) if best.tokens_per_s else words.unknown()
        text = mark("{made} · {name} · {rate} tokens/s with {level}")
        line = tr(text, made=made, name=name, rate=rate, level=words.level(best.point))
    return f"{line} · {tr('partial')}" if report.partial else line


def _subjects(report: AnyReport) -> Sequence[str]:
    if isinstance(report, Quality):
        names = [subject.target.name for subject in report.subjects]
        return [Path(report.perplexity.file).name] if report.perplexity else names
    if isinstance(report, Comparison) and report.order != "search":
        return report.names
    return [report.reports[0].target.name if isinstance(report, Comparison) else report.target.name]


def install_line(step: Step) -> str:
    """What ``step`` installs before the first benchmark, or the first measurement of quality."""
    text = mark("The load generator AIPerf is not installed yet: {download} to download, {disk} on disk, once.")
    if step.id == LM_EVAL.step:
        text = mark("lm-evaluation-harness is not installed yet: {download} to download, {disk} on disk, once.")
    return tr(text, download=size(step.estimate.download_bytes), disk=size(step.estimate.disk_bytes))


def long_line(outlook: Outlook) -> str:
    """How long a long benchmark takes."""
    return tr("This benchmark takes about {time}.", time=duration(outlook.seconds))


def shorter_line(outlook: Outlook) -> str:
    """The shorter one that is offered instead."""
    return tr(
        "Measure less: one run of {seconds:g} s per level, about {time}",
        seconds=outlook.shorter.seconds or 0.0,
        time=duration(outlook.shorter_s),
    )
