"""The charts of a report on quality: of each part that it has. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wizard.bench.measured import Interval
from wizard.bench.quality.proportions import wilson
from wizard.bench.quality.report import Perplexity, Quality
from wizard.kernel.language import mark, tr
from wizard.texts.benchmark import intervals, scale
from wizard.texts.benchmark.chart import Axis, Chart, LeftOut, Limit, axis
from wizard.texts.benchmark.intervals import Place
from wizard.texts.benchmark.quality_words import name, points, task
from wizard.texts.benchmark.scale import Scale, drawable
from wizard.texts.benchmark.words import interval, interval_of_shares, number

BARS = mark("Bars are 95% intervals.")


def charts(report: Quality) -> tuple[Chart | LeftOut, ...]:
    """Scores and their differences, perplexity and KL divergence, votes."""
    return (*_scores(report), *_differences(report), *_perplexity(report.perplexity), *_votes(report))


def _scores(report: Quality) -> Iterator[Chart]:
    places = [
        Place(
            task(score.task, score.filter),
            name(subject),
            _percent(score.value),
            tr(
                "{task}, {name}: {value}.",
                task=task(score.task, score.filter),
                name=name(subject),
                value=interval_of_shares(score.value),
            ),
        )
        for subject in report.subjects
        for score in subject.scores
        if score.value and 0 <= score.value.value <= 1
    ]
    if places:
        yield intervals.chart("scores", tr("Scores"), tr(BARS), _shares(tr("Score")), tr("Task"), places)


def _percent(value: Interval) -> Interval:
    low, high = (None if each is None else 100 * each for each in (value.low, value.high))
    return Interval(100 * value.value, low, high)


def _shares(title: str) -> Axis:
    return axis(title, Scale(0.0, 100.0), 5, unit="%")


def _differences(report: Quality) -> Iterator[Chart]:
    if not report.differences:
        return
    first, second = map(name, report.subjects)
    places = [
        Place(
            task(row.task, row.filter) or tr("all"),
            "",
            _percent(row.value),
            tr("{task}: {points} points.", task=task(row.task, row.filter) or tr("all"), points=points(row.value)),
        )
        for row in report.differences
    ]
    about = tr("{first} minus {second}, on the same questions. Bars are 95% intervals.", first=first, second=second)
    across = intervals.around_zero(tr("Percentage points"), [each.value for each in places])
    none = [Limit(0.0, tr("no difference"))]
    yield intervals.chart("differences", tr("Difference"), about, across, tr("Task"), places, none)


def _perplexity(measured: Perplexity | None) -> Iterator[Chart]:
    if measured is None:
        return
    other = measured.divergence
    files = [(measured.file, measured.value)] + ([(other.reference, other.perplexity)] if other else [])
    places = [
        Place(Path(path).name, "", value, tr("{file}: {value}.", file=Path(path).name, value=interval(value)))
        for path, value in files
        if value and drawable(value.value)
    ]
    if places:
        across = axis(tr("Perplexity"), scale.suited(intervals.ends([each.value for each in places])))
        yield intervals.chart("perplexity", tr("Perplexity"), tr(BARS), across, tr("File"), places)
    if other is None or other.mean is None or not drawable(other.mean.value):
        return
    values = [(tr("mean"), other.mean, interval(other.mean))]
    if drawable(other.p99):
        values.append((tr("99% of tokens"), Interval(other.p99 or 0.0), number(other.p99)))
    places = [Place(row, "", value, f"{row}: {text}.") for row, value, text in values]
    across = axis(tr("KL divergence per token (nats)"), scale.suited(intervals.ends([value for _, value, _ in values])))
    about = tr("The mean with its 95% interval, and the value that 99% of the tokens do not exceed.")
    yield intervals.chart("kl-divergence", tr("KL divergence"), about, across, tr("Tokens"), places)


def _votes(report: Quality) -> Iterator[Chart | LeftOut]:
    choices = [vote.choice for vote in report.votes if vote.choice is not None]
    if not choices or report.partial:
        return
    decided = len(choices) - choices.count(-1)
    if not decided:
        yield LeftOut("votes", tr("Votes"), tr("You found no difference."))
        return
    places = [
        Place(
            name(subject),
            "",
            _percent(wilson(choices.count(at), decided)),  # type: ignore[arg-type]
            tr(
                "{name}: {share} of {count} votes without ties.",
                name=name(subject),
                share=interval_of_shares(wilson(choices.count(at), decided)),  # type: ignore[arg-type]
                count=decided,
            ),
        )
        for at, subject in enumerate(report.subjects)
    ]
    about = tr("Share of the votes without ties (ties: {count}). Bars are 95% intervals.", count=choices.count(-1))
    even = [Limit(50.0, tr("even"))]
    yield intervals.chart("votes", tr("Votes"), about, _shares(tr("Better answer")), tr("Server"), places, even)
