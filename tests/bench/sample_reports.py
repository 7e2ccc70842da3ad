"""Made-up reports of other kinds, to test how they are shown. No measurements: their figures follow formulas."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.bench.sample import LEVELS, REPORT, RUNS, measured
from wizard.bench.comparison import saved
from wizard.bench.measured import Interval, Measured
from wizard.bench.quality.paired import differences, scored
from wizard.bench.quality.report import Divergence, Item, Perplexity, Quality, Subject, Vote
from wizard.bench.report import Machine, Target
from wizard.kernel.values import to_json

TASKS = ("wizard_arithmetic", "wizard_copy", "wizard_facts", "wizard_format")


def faster(level: int) -> Measured:
    """As `measured`, but with 1.4 times the throughput."""
    each = measured(level)
    rate = each.tokens_per_s
    assert rate is not None
    assert rate.low is not None
    assert rate.high is not None
    return replace(each, tokens_per_s=Interval(1.4 * rate.value, 1.4 * rate.low, 1.4 * rate.high))


OTHER = replace(REPORT, target=replace(REPORT.target, name="faster"), points=tuple(map(faster, LEVELS)))
COMPARISON = saved([(REPORT, RUNS), (OTHER, ())], "triton-wizard bench --compare sample faster", 2.5)


def subject(name: str, of_ten: tuple[int, ...]) -> Subject:
    """Of each ten questions of each task, so many are right."""
    return Subject(
        Target(name, name, f"http://127.0.0.1:{9000 + len(name)}/v1", plan="0" * 16),
        tuple(
            scored(task, "exact_match", "answer", "1", [Item(at, f"{at}", float(at % 10 < right)) for at in range(50)])
            for task, right in zip(TASKS, of_ten, strict=True)
        ),
    )


SUBJECTS = (subject("small", (4, 9, 3, 6)), subject("full", (7, 9, 5, 7)))
QUALITY = Quality(
    "quality",
    1,
    "2026-11-26T12:00:00+00:00",
    "triton-wizard bench small --quality --reference full",
    Machine("Example CPU", 16),
    {"lm_eval": "0.4.13"},
    SUBJECTS,
    differences(*SUBJECTS),
)
PERPLEXITY = replace(
    QUALITY,
    command="triton-wizard bench small-q4.gguf --quality --reference small-f16.gguf",
    subjects=(),
    differences=(),
    perplexity=Perplexity(
        "/models/small-q4.gguf",
        "/texts/text.txt",
        "0" * 64,
        512,
        20,
        Interval(6.2, 6.0, 6.4),
        Divergence(
            "/models/small-f16.gguf",
            Interval(5.0, 4.9, 5.1),
            Interval(1.24, 1.21, 1.27),
            Interval(0.03, 0.02, 0.04),
            0.26,
            Interval(0.92, 0.91, 0.93),
        ),
        20,
    ),
)
VOTED = replace(
    QUALITY,
    command="triton-wizard bench --quality --vote small full",
    subjects=tuple(Subject(each.target) for each in SUBJECTS),
    differences=(),
    votes=tuple(
        Vote(f"Question {at}?", (f"small says {at}", f"full says {at}"), 1 if at % 2 else 0, (1, 0, 1, -1)[at % 4])  # type: ignore[arg-type]
        for at in range(20)
    ),
)


def keep_each(bench: Path) -> None:
    """One report of each kind in the folder of a workspace's reports, and two that are not listed."""
    reports = {
        "1-quality": QUALITY,
        "2-perplexity": PERPLEXITY,
        "3-votes": VOTED,
        "4-comparison": COMPARISON,
        "5-tune": replace(COMPARISON, order="search", chosen=0),
        "6-speed": REPORT,
        "nothing": replace(REPORT, points=()),
    }
    for name, report in reports.items():
        (bench / name).mkdir(parents=True)
        made = replace(report, made=f"2026-11-2{name[0]}T12:00:00+00:00" if name[0].isdigit() else report.made)
        (bench / name / "report.json").write_text(to_json(made))
    (bench / "damaged").mkdir()
    (bench / "damaged" / "report.json").write_text('{"kind": "quality"')
