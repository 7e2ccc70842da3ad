"""The charts of `bench --quality`: scores, and their differences, by task. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from wizard.bench.measured import Interval
from wizard.bench.quality.report import Difference, Quality
from wizard.kernel.language import tr
from wizard.texts.benchmark.chart import Axis, Chart, Dot, LeftOut, Limit, Series, axis
from wizard.texts.benchmark.scale import Scale, linear, ticks
from wizard.texts.benchmark.words import interval_of_shares, points, task

MOST_TASKS = 16
"""Tasks that have room in a chart."""
APART = 0.2
"""Distance between the servers of a task, whose own is 1."""


def charts(report: Quality) -> tuple[Chart | LeftOut, ...]:
    """The scores with their intervals, and the differences between two servers; none without scores."""
    scores = _scores(report)
    return (*([scores] if scores else []), *([_differences(report.differences)] if report.differences else []))


def _scores(report: Quality) -> Chart | LeftOut | None:
    known = [
        (at, subject.target.name, task(score.task, score.filter), score.value)
        for at, subject in enumerate(report.subjects)
        for score in subject.scores
        if score.value
    ]
    names = sorted({name for _, _, name, _ in known})
    title = tr("Scores")
    if not names:
        return None
    if len(names) > MOST_TASKS:
        return LeftOut("quality-scores", title, tr("There are too many tasks for a chart."))
    middle = (len(report.subjects) - 1) / 2
    return Chart(
        "quality-scores",
        title,
        tr("Bars are 95% intervals."),
        axis(tr("Score (%)"), Scale(0.0, 100.0)),
        _rows(names),
        tuple(
            Series(
                subject.target.name,
                tuple(
                    _dot(value, len(names) - 1 - names.index(name) - APART * (at - middle))
                    for at, _, name, value in known
                    if at == number
                ),
                joined=False,
            )
            for number, subject in enumerate(report.subjects)
        ),
        (),
        tuple(f"{name}, {server}: {interval_of_shares(value)}." for _, server, name, value in known),
    )


def _differences(rows: Sequence[Difference]) -> Chart | LeftOut:
    title = tr("Difference")
    names = [task(row.task, row.filter) or tr("all") for row in rows]
    if len(names) > MOST_TASKS:
        return LeftOut("quality-differences", title, tr("There are too many tasks for a chart."))
    ends = [end for row in rows for end in (row.value.value, row.value.low, row.value.high) if end is not None]
    most = linear([100 * abs(end) for end in ends])
    marks = sorted({side * tick for tick in ticks(most, 3)[1:] for side in (-1, 1)} | {0.0})
    labels = tuple((mark, f"{mark:+g}" if mark else "0") for mark in marks)
    return Chart(
        "quality-differences",
        title,
        tr("Bars are 95% intervals."),
        Axis(
            tr("Difference in points"),
            Scale(-most.high, most.high),
            labels,
        ),
        _rows(names),
        (Series("", tuple(_dot(row.value, len(rows) - 1 - at) for at, row in enumerate(rows)), joined=False),),
        (Limit(0.0, tr("no difference")),),
        tuple(f"{name}: {points(row.value)}." for name, row in zip(names, rows, strict=True)),
    )


def _rows(names: Sequence[str]) -> Axis:
    """A vertical axis with the names from top to bottom."""
    places = tuple((float(len(names) - 1 - at), name) for at, name in enumerate(names))
    return Axis(tr("Task"), Scale(-0.5, len(names) - 0.5), places)


def _dot(value: Interval, y: float) -> Dot:
    low, high = (None if end is None else 100 * end for end in (value.low, value.high))
    return Dot(100 * value.value, y, x_low=low, x_high=high)
