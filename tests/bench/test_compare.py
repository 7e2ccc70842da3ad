"""Comparing servers: the order of the runs, what is compared with what, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench import sample
from wizard.bench import compare, comparison
from wizard.bench.bench import sequence
from wizard.bench.comparison import Comparison
from wizard.bench.load import Load, Point
from wizard.bench.measured import Interval
from wizard.bench.report import Report
from wizard.bench.run import Request, Run
from wizard.bench.statistics import paired_ratio
from wizard.kernel.errors import UsageError
from wizard.kernel.paths import Workspace
from wizard.kernel.values import to_json

ONE, FOUR = Point(1), Point(4)


def test_runs_alternate_a_b_b_a() -> None:
    load = Load((ONE,), repeats=3)
    assert [at for at, _, _ in sequence(load, 2, turns=False)] == [0, 1, 1, 0, 0, 1]
    assert [at for at, _, _ in sequence(load, 3, turns=False)] == [0, 1, 2, 2, 1, 0, 0, 1, 2]


def test_one_server_measures_every_level_before_any_is_repeated() -> None:
    runs = sequence(Load((ONE, FOUR), repeats=2), 1, turns=False)
    assert runs == [(0, ONE, 1), (0, FOUR, 1), (0, ONE, 2), (0, FOUR, 2)]


def test_servers_that_take_turns_are_started_once_a_round_at_most() -> None:
    order = [at for at, _, _ in sequence(Load((ONE, FOUR), repeats=3), 2, turns=True)]
    assert order == [0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1]


def runs_of(seconds_per_token: float, *, factors: tuple[float, ...] = (1.0, 1.3, 0.8)) -> tuple[Run, ...]:
    """A run per factor: requests of 10 tokens, one after the other."""
    made = []
    for number, factor in enumerate(factors, 1):
        each = 10 * seconds_per_token * factor
        requests = tuple(Request(at * each, (at + 1) * each, 1.0, 1000 * each, 5, 10) for at in range(40))
        made.append(Run(ONE, number, 0.0, requests))
    return tuple(made)


def test_runs_with_the_same_number_are_a_pair() -> None:
    """The state of the machine changes by 60% between the rounds; the ratio of the servers does not."""
    report = replace(sample.REPORT, points=(sample.measured(1),))
    (tokens,) = (
        each
        for each in comparison.ratios([report, report], [runs_of(0.1), runs_of(0.05)], paired=True)
        if each.figure == "tokens_per_s"
    )
    assert (tokens.server, tokens.point, tokens.method) == (1, ONE, "pairs")
    assert tokens.value.value == pytest.approx(2.0, rel=0.02)
    assert tokens.value.width is not None
    assert tokens.value.width < 0.05


def test_a_pair_that_is_incomplete_does_not_count() -> None:
    stopped = (*runs_of(0.05)[:2], replace(runs_of(0.05)[2], partial="stopped"))
    report = replace(sample.REPORT, points=(sample.measured(1),))
    made = comparison.ratios([report, report], [runs_of(0.1), stopped], paired=True)
    assert {each.method for each in made} == {"intervals"}
    assert {each.value.value for each in made} == {1.0}


def faster(report: Report, times: float) -> Report:
    points = tuple(
        replace(each, tokens_per_s=Interval(*(times * end for end in _ends(each.tokens_per_s))))
        for each in report.points
    )
    return replace(report, points=points, target=replace(report.target, name="faster"))


def _ends(value: Interval | None) -> tuple[float, float, float]:
    assert value
    assert value.low is not None
    assert value.high is not None
    return value.value, value.low, value.high


def test_saved_reports_are_compared_and_what_differed_is_said() -> None:
    other = faster(sample.REPORT, 3.0)
    made = comparison.saved([(sample.REPORT, ()), (other, ())], "again")
    ratio = next(each for each in made.ratios if each.figure == "tokens_per_s")
    assert ratio.value.value == pytest.approx(3.0)
    assert ratio.method == "intervals"
    assert (made.order, made.names) == ("apart", ("sample", "faster"))
    assert [note.code for note in made.warnings] == ["compare-apart"]
    elsewhere = replace(
        other,
        dataset=replace(other.dataset, isl=12),
        machine=replace(other.machine, cores=2),
        target=replace(other.target, api="generate_stream"),
    )
    notes = comparison.saved([(sample.REPORT, ()), (elsewhere, ())], "again").warnings
    assert [note.code for note in notes] == ["compare-apart", "compare-prompts", "compare-api", "compare-machine"]


def test_reports_without_a_common_level_are_refused() -> None:
    other = replace(sample.REPORT, points=(sample.measured(64),))
    with pytest.raises(UsageError) as caught:
        comparison.saved([(sample.REPORT, ()), (other, ())], "again")
    assert caught.value.code == "TW-C82"


def test_cost_needs_a_price_gpus_and_a_rate() -> None:
    point = sample.measured(8)
    assert point.tokens_per_s
    assert comparison.cost(point, 3.6) == pytest.approx(1000 / point.tokens_per_s.value)
    assert comparison.cost(point, None) is None
    assert comparison.cost(replace(point, gpus=()), 3.6) is None
    assert comparison.cost(replace(point, tokens_per_s=None), 3.6) is None


def test_names_are_all_different() -> None:
    other = replace(sample.REPORT, target=replace(sample.REPORT.target, stack="transformers"))
    assert comparison.short_names([sample.REPORT, other]) == ("sample (vllm)", "sample (transformers)")
    assert comparison.short_names([sample.REPORT, sample.REPORT]) == ("sample (vllm) #1", "sample (vllm) #2")


def test_a_comparison_is_read_back_and_other_files_are_none(tmp_path: Path) -> None:
    made = comparison.saved([(sample.REPORT, ()), (faster(sample.REPORT, 2.0), ())], "again", 2.5)
    comparison.keep(made, tmp_path)
    assert comparison.read(tmp_path) == made
    assert comparison.read(tmp_path / "nothing") is None
    for text in ("", "[]", "{", to_json(sample.REPORT)):
        (tmp_path / "other.json").write_text(text)
        assert comparison.read(tmp_path / "other.json") is None
    for text, code in (('{"kind": "comparison"}', "TW-K01"), (to_json(replace(made, format=9)), "TW-C60")):
        (tmp_path / "other.json").write_text(text)
        with pytest.raises(UsageError) as caught:
            comparison.read(tmp_path / "other.json")
        assert caught.value.code == code


@pytest.mark.parametrize("names", [[], ["a"], ["a", "a"]])
def test_fewer_than_two_servers_are_refused(names: list[str], tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        compare.servers(Workspace(tmp_path), names)
    assert caught.value.code == "TW-C80"


def test_a_partial_report_makes_a_partial_comparison() -> None:
    stopped = replace(sample.REPORT, partial="stopped")
    made: Comparison = comparison.saved([(sample.REPORT, ()), (stopped, ())], "again")
    assert made.partial == "stopped"


def test_the_ratio_of_equal_servers_is_one() -> None:
    assert paired_ratio([(5.0, 5.0)] * 3) == Interval(1.0, 1.0, 1.0)
