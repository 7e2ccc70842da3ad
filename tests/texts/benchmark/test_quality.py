"""What a report on quality says in words; names of servers and errors are never interpreted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wizard.bench.measured import Interval
from wizard.bench.quality.paired import differences, scored
from wizard.bench.quality.report import Divergence, Item, Perplexity, Quality, Subject, Vote
from wizard.bench.report import Machine, Target
from wizard.texts.benchmark import quality
from wizard.texts.benchmark.chart import Chart, LeftOut
from wizard.texts.benchmark.quality_charts import charts


def subject(name: str, scores: str) -> Subject:
    """A server whose answers are right (1), wrong (0), empty (e), failed (f) or not sent (n)."""
    errors = {"f": "HTTP 500", "n": "not sent"}
    items = [
        Item(at, f"h{at}", {"1": 1.0, "0": 0.0, "e": 0.0}.get(each), errors.get(each, ""), each == "e")
        for at, each in enumerate(scores)
    ]
    return Subject(Target(name, "m", "http://127.0.0.1:1/v1"), (scored("facts", "exact_match", "answer", "1", items),))


def report(*subjects: Subject) -> Quality:
    rows = differences(*subjects) if len(subjects) == 2 else ()
    return Quality("quality", 1, "2026-11-26", "bench", Machine("a cpu", 2), {"lm_eval": "0.4.13"}, subjects, rows)


def sentences(*subjects: Subject) -> str:
    return " ".join(quality.meaning(report(*subjects)))


def test_a_difference_is_named_with_its_direction_or_its_limit() -> None:
    good, bad = subject("full", "1" * 60 + "0" * 40), subject("small", "1" * 30 + "0" * 70)
    assert sentences(bad, good).startswith("small is worse than full by 30.0 percentage points (")
    assert sentences(good, bad).startswith("full is better than small by 30.0 percentage points (")
    nearly = subject("small", "1" * 59 + "0" * 41)
    assert "No difference between small and full was found: with 95% confidence, it is at most" in sentences(
        nearly, good
    )


@pytest.mark.parametrize("each", ["0", "1"])
def test_tasks_that_are_too_easy_or_too_hard_say_nothing(each: str) -> None:
    assert "these tasks cannot show a difference" in sentences(subject("a", each * 50), subject("b", each * 50))


def test_failures_empty_answers_and_what_was_not_sent_are_warnings() -> None:
    warned = quality.warnings(report(subject("a", "1ffen0")))
    assert len(warned) == 3
    assert warned[0].startswith("a: 2 of 6 questions failed, first with HTTP 500.")
    assert warned[1].startswith("a: 1 of 6 answers are empty")
    assert warned[2] == "a: 1 of 6 questions were not sent."


def test_perplexity_says_whether_it_rises() -> None:
    same = Interval(0.9, 0.89, 0.91)
    other = Divergence(
        "f16.gguf", Interval(5.0, 4.9, 5.1), Interval(1.02, 1.01, 1.03), Interval(0.03, 0.02, 0.04), 0.2, same
    )
    base = replace(report(), perplexity=Perplexity("q4.gguf", "text.txt", "0" * 64, 512, 20, Interval(5.1), other))
    assert quality.meaning(base)[0] == "Perplexity changes by +2% (+1% to +3%)."
    assert "in 90% of the cases" in quality.meaning(base)[1]
    assert base.perplexity is not None
    even = replace(base.perplexity, divergence=replace(other, ratio=Interval(1.0, 0.99, 1.02)))
    assert "it is at most 2%" in quality.meaning(replace(base, perplexity=even))[0]


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        ([0] * 9 + [1], "more than chance explains"),
        ([1] * 9 + [0], "less than chance explains"),
        ([0, 0, 1], "chance may explain this"),
        ([-1, -1], "You found no difference."),
    ],
)
def test_votes_are_told_with_what_chance_explains(choices: list[int], expected: str) -> None:
    votes = tuple(Vote("?", ("a", "b"), 0, choice) for choice in choices)  # type: ignore[arg-type]
    voted = replace(report(subject("full", ""), subject("small", "")), votes=votes)
    assert expected in " ".join(quality.meaning(voted))


def test_names_and_errors_are_shown_and_never_interpreted() -> None:
    name = "<script>alert(1)</script>|`a`"
    whole = report(subject(name, "1f0"))
    assert "<script>alert" not in quality.page(whole)
    assert "&lt;script&gt;alert(1)" in quality.page(whole)
    assert "<script>" not in quality.as_markdown(whole).replace("\\<", "")
    assert all(len(line) <= 60 or "alert" in line for line in quality.text(whole, 60).splitlines())


def test_a_page_has_no_single_questions_but_all_figures() -> None:
    page = quality.page(report(subject("a", "10" * 50)))
    assert "50% (40.4% to 59.6%)" in page
    assert "h99" not in page
    assert "script" not in page.replace("script-src", "")


def test_scores_and_differences_are_charts_with_intervals_and_sentences() -> None:
    whole = report(subject("small", "1" * 30 + "0" * 70), subject("full", "1" * 60 + "0" * 40))
    scores, differences = charts(whole)
    assert isinstance(scores, Chart)
    assert isinstance(differences, Chart)
    assert [series.name for series in scores.series] == ["small", "full"]
    (small,), (full,) = (series.dots for series in scores.series)
    assert (small.x, full.x) == (pytest.approx(30), pytest.approx(60))
    assert small.y > full.y, "beside each other"
    assert scores.sentences[0].startswith("facts, small: 30% (")
    assert [name for _, name in differences.y.ticks] == ["facts"]
    ((dot,),) = (series.dots for series in differences.series)
    assert dot.x == pytest.approx(-30)
    assert dot.x_low < dot.x < dot.x_high < 0  # type: ignore[operator]
    labels = [label for _, label in differences.x.ticks]
    assert "0" in labels
    assert "-0" not in labels
    for drawn in (quality.page(whole), quality.fragment(whole)):
        assert drawn.count("<svg") == 2
    assert len(charts(replace(whole, differences=()))) == 1
    assert charts(report()) == ()


def test_more_tasks_than_a_chart_has_room_for_are_in_the_table_only() -> None:
    few = subject("a", "10")
    many = replace(few, scores=tuple(replace(few.scores[0], task=f"task-{number}") for number in range(17)))
    (left_out,) = charts(report(many))
    assert isinstance(left_out, LeftOut)
    assert "too many tasks" in quality.page(report(many))
