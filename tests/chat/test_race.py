"""What is measured of two models with one question, and what is said about it: never more than was measured."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.cli.json_commands import invalid
from wizard.chat.chunk import Chunk
from wizard.chat.conversation import Conversation, Sampling, Stats
from wizard.chat.race import Arrival, Curve, Lane, Order, Race, RaceResult
from wizard.chat.race_report import count, notes, rate, spoken, verdict
from wizard.chat.race_scale import Cell, Track, cells, scale
from wizard.kernel.values import from_json, to_json
from wizard.plan.ports import Ports
from wizard.serve.endpoint import Endpoint

FIRST = Endpoint("one", "model-1", "127.0.0.1", Ports(8000, 8001, 8002), 1, "1", "", ref="org/one")
SECOND = replace(FIRST, name="two", model="model-2", ports=Ports(8010, 8011, 8012), ref="")
FAR = replace(FIRST, url="http://far.example:9000/v1", model="gemma")
ASKED = Conversation(sampling=Sampling(seed=5)).with_system("Be brief.").with_message("user", "Why?")


def race(*, order: Order = "together", endpoints: tuple[Endpoint, Endpoint] = (FIRST, SECOND)) -> Race:
    return Race(endpoints, order, 1_800_000_000.0)


def answer(
    lane: Lane, ttft: float, tokens: int, step: float, *, thought: int = 0, counts: bool = True, finish: str = "stop"
) -> None:
    """An answer of ``tokens`` tokens, the first ``thought`` of which are a thought, every ``step`` seconds."""
    lane.start(100.0, ASKED)
    at = ttft
    for number in range(1, tokens + 1):
        at = ttft + (number - 1) * step
        text, thinks = ("", "t") if number <= thought else ("a ", "")
        lane.take(
            Chunk(
                text,
                thought=thinks,
                tokens=number if counts else None,
                pieces=None if counts else number,
                ttft_s=ttft,
                at_s=at,
            ),
            100.5 + at,  # half a second of preparation does not count
        )
    answered = ttft + thought * step if thought < tokens else None
    stats = Stats(tokens if counts else None, ttft, at, finish, answer_s=answered, pieces=None if counts else tokens)
    if thought:
        stats = replace(stats, thought_s=(thought - 1) * step, thought_tokens=thought if counts else None)
    lane.end(100.5 + at, stats)


def both(order: Order = "together", **second: object) -> RaceResult:
    made = race(order=order)
    answer(made.lanes[0], 0.1, 41, 0.025)
    answer(made.lanes[1], 0.3, 41, 0.05, **second)  # type: ignore[arg-type]
    return made.result()


# Lanes


def test_a_lane_knows_its_figures_while_it_runs() -> None:
    lane = Lane()
    assert (lane.started, lane.elapsed(5.0), lane.tokens, lane.rate(None, 5.0)) == (False, 0.0, None, None)
    lane.start(5.0, ASKED)
    assert lane.elapsed(5.4) == pytest.approx(0.4), "waiting for the first token"
    lane.take(Chunk("", note="The oldest message was dropped"), 5.5)
    assert lane.arrivals == []
    lane.take(Chunk("a", tokens=1, ttft_s=0.2, at_s=0.2), 6.0)
    assert lane.elapsed(6.1) == pytest.approx(0.3), "the request was sent at 5.8"
    assert lane.rate(lane.tokens, 6.1) is None, "too short to mean anything"
    lane.take(Chunk("b", tokens=11, ttft_s=0.2, at_s=0.7), 6.5)
    assert (lane.ttft_s, lane.tokens, lane.pieces, lane.characters) == (0.2, 11, None, 2)
    assert lane.rate(lane.tokens, 6.5) == pytest.approx(20)
    assert lane.outcome is None


def test_a_thought_that_was_taken_for_the_answer_is_none() -> None:
    lane = Lane()
    lane.start(0.0, ASKED)
    lane.take(Chunk("thinking", tokens=1, ttft_s=0.1, at_s=0.1), 0.1)
    assert (lane.answer_s, lane.thinks) == (0.1, False)
    lane.take(Chunk("answer", tokens=2, ttft_s=0.1, at_s=0.4, recast=True), 0.4)
    assert (lane.answer_s, lane.thinks) == (0.4, True)


def test_an_answer_that_was_stopped_keeps_what_was_measured_until_its_last_piece() -> None:
    made = race()
    lane = made.lanes[0]
    lane.start(0.0, ASKED)
    for number in range(1, 12):
        lane.take(Chunk("a", tokens=number, ttft_s=0.1, at_s=number / 10), number / 10)
    lane.end(9.0, None)
    made.lanes[1].skip()
    assert made.ended
    stopped, skipped = made.result().lanes
    assert (stopped.outcome, stopped.tokens, stopped.total_s, stopped.finish) == ("stopped", 11, 9.0, "")
    assert stopped.tokens_per_s == pytest.approx(10)
    assert (skipped.outcome, skipped.tokens, skipped.total_s, skipped.ttft_s) == ("not_asked", None, None, None)


# The result


def test_who_was_first_and_who_is_faster_by_what_ratio() -> None:
    result = both()
    assert result.verdict.first == result.verdict.faster == "one"
    assert result.verdict.first_by_s == pytest.approx(0.2)
    assert result.verdict.ratio == pytest.approx(2)
    assert verdict(result) == ["one is 2.0× as fast as two: 40.0 vs. 20.0 tokens/s", "one began 200 ms sooner"]
    assert notes(result) == ["Both answered at once and shared the machine."]


def test_rates_that_are_nearly_equal_have_no_winner() -> None:
    made = race(order="turns")
    answer(made.lanes[0], 0.1, 41, 0.025)
    answer(made.lanes[1], 0.1, 41, 0.0255)
    result = made.result()
    assert (result.verdict.first, result.verdict.first_by_s, result.verdict.faster) == (None, 0.0, None)
    assert verdict(result) == ["Both are about equally fast: 40.0 and 39.2 tokens/s", "both began at the same time"]
    assert notes(result) == ["They answered one after the other."]


def test_pieces_that_stand_for_tokens_are_marked() -> None:
    result = both(counts=False)
    assert result.verdict.estimated
    assert verdict(result)[0] == "one is ≈ 2.0× as fast as two: 40.0 vs. ≈ 20.0 tokens/s"
    assert "≈ two does not count its tokens: pieces of its stream are counted." in notes(result)
    assert (result.lanes[1].tokens, result.lanes[1].pieces) == (None, 41)
    assert count(None, 41) == "≈ 41"
    assert count(1041, None) == "1,041"
    assert rate(None, estimated=True) == count(None, None) == "–"


def test_short_answers_are_not_compared_by_their_rates() -> None:
    made = race()
    answer(made.lanes[0], 0.07, 24, 0.0003)
    answer(made.lanes[1], 0.18, 24, 0.05)
    result = made.result()
    assert (result.verdict.faster, result.verdict.ratio) == (None, None)
    assert verdict(result) == ["one: 77 ms in total · two: 1.3 s in total", "one began 110 ms sooner"]
    assert "one wrote for less than 200 ms: too short to compare speeds." in notes(result)


@pytest.mark.parametrize(
    ("error", "text"), [("", "No comparison: two was stopped."), ("TW-C03", "No comparison: two failed (TW-C03).")]
)
def test_there_is_no_winner_without_two_complete_answers(error: str, text: str) -> None:
    made = race()
    answer(made.lanes[0], 0.1, 41, 0.025)
    made.lanes[1].start(100.0, ASKED)
    made.lanes[1].take(Chunk("a", tokens=1, ttft_s=0.3, at_s=0.3), 100.3)
    made.lanes[1].end(104.0, None, error)
    result = made.result()
    assert verdict(result) == [text]
    assert (result.verdict.faster, result.verdict.ratio) == (None, None)
    assert result.verdict.first == "one", "both first tokens were measured"
    assert result.lanes[1].error == error


def test_a_model_that_was_not_queried_and_one_that_failed_at_once() -> None:
    made = race(order="turns")
    made.lanes[0].start(0.0, ASKED)
    made.lanes[0].end(2.0, None, "TW-C01")
    made.lanes[1].skip()
    result = made.result()
    assert verdict(result) == ["No comparison: one failed (TW-C01), two was not queried."]
    assert not result.shared


def test_a_model_that_sends_nothing() -> None:
    made = race()
    answer(made.lanes[0], 0.1, 41, 0.025)
    made.lanes[1].start(0.0, ASKED)
    made.lanes[1].end(1.0, Stats(0, None, 1.0, "stop"))
    result = made.result()
    assert "two sent no text." in notes(result)
    assert (result.verdict.first, result.verdict.ratio) == (None, None)
    assert verdict(result) == ["one: 1.1 s in total · two: 1.0 s in total"]
    assert not result.shared


def test_thinking_counts_and_the_result_says_so() -> None:
    result = both(thought=20)
    assert result.lanes[1].thought_tokens == 20
    assert result.verdict.ratio == pytest.approx(2), "the rate includes the thought"
    assert "two thought first and answered after 1.3 s; thinking counts." in notes(result)


def test_a_model_that_only_thinks() -> None:
    result = both(thought=41, finish="length")
    assert "two only thought and gave no answer; thinking counts." in notes(result)
    assert "two was cut off at max_tokens." in notes(result)
    assert result.lanes[1].answer_s is None


@pytest.mark.parametrize(
    ("second", "same"),
    [
        (SECOND, True),
        (replace(FAR, url="http://localhost:11434/v1"), True),
        (replace(FAR, url="http://[::1]:11434/v1"), True),
        (FAR, False),
    ],
)
def test_servers_of_one_host_share_a_machine(second: Endpoint, same: bool) -> None:
    assert race(endpoints=(FIRST, second)).same_machine is same


def test_the_same_name_twice_is_told_apart_by_the_address() -> None:
    made = race(endpoints=(FIRST, replace(FIRST, url="http://127.0.0.1:9000/v1", model="one")))
    assert made.names == ("one (127.0.0.1:8000)", "one (127.0.0.1:9000)")


def test_the_document_has_everything_that_was_measured_and_can_be_read_again() -> None:
    result = both(thought=20)
    data = json.loads(to_json(result))
    assert data["date"] == "2027-01-15T08:00:00+00:00"
    assert (data["prompt"], data["system"], data["earlier_messages"]) == ("Why?", "Be brief.", [0, 0])
    assert data["sampling"]["seed"] == 5
    assert (data["order"], data["same_machine"]) == ("together", True)
    assert [lane["server"] for lane in data["lanes"]] == ["http://127.0.0.1:8000", "http://127.0.0.1:8010"]
    assert data["lanes"][0]["ref"] == "org/one"
    assert data["lanes"][0]["arrivals"][:2] == [[0.1, 1, None], [0.125, 2, None]]
    assert len(data["lanes"][0]["arrivals"]) == 41
    assert from_json(RaceResult, to_json(result), where="the test") == result
    assert invalid("chat", data) == []
    assert spoken(result).splitlines()[0].startswith("one is 2.0× as fast")


# The scale


@pytest.mark.parametrize(
    ("longest", "live", "end"),
    [(0.0, True, 2.0), (1.9, True, 2.0), (2.1, True, 3.0), (0.022, False, 0.03), (9.9, False, 10.0), (95, False, 100)],
)
def test_the_scale_ends_at_a_round_time(longest: float, live: bool, end: float) -> None:
    assert scale(longest, live=live) == pytest.approx(end)


def test_the_cells_of_a_lane_show_when_and_how_fast() -> None:
    made = race()
    answer(made.lanes[0], 0.25, 11, 0.05, thought=4)  # to 0.75 s; the answer from 0.45 s on
    lane = made.lanes[0]
    track = Track(lane.curve(), lane.elapsed(0), lane.ttft_s, lane.answer_s, lane.thinks)
    drawn = cells(track, 1.0, 10)
    parts = [cell.part for cell in drawn]
    assert parts == ["wait", "wait", "first", "thought", "answer", "text", "text", "text", "none", "none"]
    assert [cell.rate for cell in drawn[3:8]] == pytest.approx([20] * 5), "tokens per second"
    assert drawn[0] == Cell("wait")


def test_a_lane_without_any_text_only_waits() -> None:
    track = Track(Curve((), None), 0.5, None, None, thinks=False)
    assert [cell.part for cell in cells(track, 1.0, 4)] == ["wait", "wait", "none", "none"]


def test_pieces_are_scaled_to_the_tokens_that_are_counted_in_the_end() -> None:
    arrivals = [Arrival(at / 10, None, at + 1) for at in range(11)]
    assert Curve(arrivals, None).rate(0.2, 0.8) == pytest.approx(10)
    assert Curve(arrivals, 22).rate(0.2, 0.8) == pytest.approx(20)
    assert Curve(arrivals, None).rate(0.5, 0.5) == Curve((), None).rate(0.0, 1.0) == 0


def test_text_that_came_in_a_burst_is_spread_over_the_time_before_it() -> None:
    curve = Curve([Arrival(0.0, 1, None), Arrival(1.0, 11, None)], 11)
    assert curve.rate(0.0, 0.5) == curve.rate(0.5, 1.0) == pytest.approx(10)
    assert curve.rate(1.0, 2.0) == 0
