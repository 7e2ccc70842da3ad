"""Scores and differences from the answered questions. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wizard.bench.quality.proportions import difference, of_scores, sign_test
from wizard.bench.quality.report import Difference, Item, Score, Subject


def scored(task: str, metric: str, filtered: str, version: str, items: Iterable[Item]) -> Score:
    """A score with its interval."""
    kept = tuple(items)
    value = of_scores([item.score for item in kept if item.score is not None])
    return Score(task, metric, filtered, version, kept, value)


def differences(subject: Subject, reference: Subject) -> tuple[Difference, ...]:
    """``subject`` − ``reference`` for all tasks together, then for each; a task with several filters counts once in
    the first.
    """
    theirs = {(score.task, score.metric, score.filter): score for score in reference.scores}
    pairs = [
        (score, _pairs(score.items, theirs[key].items))
        for score in subject.scores
        if (key := (score.task, score.metric, score.filter)) in theirs
    ]
    pairs = [(score, both) for score, both in pairs if both]
    first = {score.task: both for score, both in reversed(pairs)}
    everything = [pair for both in first.values() for pair in both]
    rows = [_difference(score.task, score.filter, both) for score, both in pairs]
    return (_difference("", "", everything), *rows) if len(first) > 1 else tuple(rows)


def _pairs(mine: Sequence[Item], theirs: Sequence[Item]) -> list[tuple[float, float]]:
    known = {(item.id, item.hash): item.score for item in theirs}
    pairs = [(item.score, known.get((item.id, item.hash))) for item in mine]
    return [(score, other) for score, other in pairs if score is not None and other is not None]


def _difference(task: str, filtered: str, pairs: Sequence[tuple[float, float]]) -> Difference:
    better, worse = (sum(score > other for score, other in pairs), sum(score < other for score, other in pairs))
    value = difference([score for score, _ in pairs], [other for _, other in pairs])
    assert value is not None  # there are pairs  # noqa: S101
    return Difference(task, filtered, len(pairs), better, worse, value, sign_test(better, worse))
