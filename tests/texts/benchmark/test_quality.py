"""What a report on quality says in words; names of servers and errors are never interpreted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.bench.sample_reports import PERPLEXITY, QUALITY, VOTED
from wizard.bench.measured import Interval
from wizard.bench.quality.paired import differences, scored
from wizard.bench.quality.report import Divergence, Item, Perplexity, Quality, Subject, Vote
from wizard.bench.report import Machine, Target
from wizard.texts.benchmark import intervals, quality, quality_charts
from wizard.texts.benchmark.chart import Chart


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


def test_an_unfinished_vote_reveals_nothing() -> None:
    votes = (*VOTED.votes[:5], *(replace(each, choice=None) for each in VOTED.votes[5:]))
    begun = replace(VOTED, votes=votes, unasked=("One more?",), partial="stopped")
    assert quality.meaning(begun) == ("5 of 21 votes. The result comes after the last one.",)
    assert quality.tables_of(begun) == ()
    assert quality_charts.charts(begun) == ()


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("journey.vote('full', dataset='generated')", "  journey.vote('full', dataset='generated')"),
        ("triton-wizard bench small --quality --vote full", "  $ triton-wizard bench small --quality --vote full"),
    ],
)
def test_only_a_shell_line_has_a_prompt(command: str, line: str) -> None:
    assert quality.text(replace(VOTED, command=command), 80).splitlines()[-2:] == ["Measure again:", line]


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


def test_each_part_has_its_charts_in_words_and_on_the_page() -> None:
    for whole, ids in (
        (QUALITY, ["scores", "differences"]),
        (PERPLEXITY, ["perplexity", "kl-divergence"]),
        (VOTED, ["votes"]),
    ):
        charts = quality_charts.charts(whole)
        assert [each.id for each in charts] == ids
        assert all(isinstance(each, Chart) and each.sentences for each in charts)
        assert quality.page(whole).count("<svg") == len(ids)


def test_differences_below_zero_are_left_of_it() -> None:
    chart = quality_charts.charts(report(subject("bad", "1" * 30 + "0" * 70), subject("good", "1" * 60 + "0" * 40)))[1]
    assert isinstance(chart, Chart)
    (dot,) = {each.x: each for each in chart.series[0].dots}.values()
    assert chart.x.place(dot.x_low or 0) < chart.x.place(dot.x) < chart.x.place(0.0) == 0.5


def test_of_many_tasks_the_first_are_drawn_and_all_are_said() -> None:
    tasks = [scored(f"task_{at}", "exact_match", "none", "1", [Item(0, "h", 1.0)]) for at in range(30)]
    whole = replace(report(subject("a", "1")), subjects=(Subject(subject("a", "1").target, tuple(tasks)),))
    (chart,) = quality_charts.charts(whole)
    assert isinstance(chart, Chart)
    assert [label for _, label in chart.y.ticks] == [f"task_{at}" for at in range(intervals.MOST_ROWS)]
    assert len(chart.sentences) == 30


def test_a_partial_perplexity_has_no_interval_and_no_verdict() -> None:
    assert PERPLEXITY.perplexity is not None
    part = replace(PERPLEXITY.perplexity, chunks=3, value=Interval(6.1), divergence=Divergence("f16.gguf"))
    whole = replace(PERPLEXITY, perplexity=part, partial="stopped")
    assert quality.meaning(whole) == ()
    assert "on 3 of 20 chunks" in quality.tables_of(whole)[0].about
    assert "This report is partial" in quality.text(whole, 80)
    assert [each.id for each in quality_charts.charts(whole)] == ["perplexity"]
    assert quality_charts.charts(replace(whole, perplexity=replace(part, value=None))) == ()
