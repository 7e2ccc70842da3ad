"""Blind votes: what is asked, in which order it is shown, and what is kept."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench.test_quality import kept, order
from wizard.bench.folder import Folder
from wizard.bench.quality import votes
from wizard.bench.quality.order import shipped_prompts, told_apart
from wizard.bench.quality.report import Quality, Vote
from wizard.bench.report import Target
from wizard.kernel.errors import ServerError, UsageError

PROMPTS = [f"Question {number}?" for number in range(20)]


async def answers(prompt: str) -> tuple[str, str]:
    return f"first: {prompt}", f"second: {prompt}"


def two(seed: int = 7) -> Quality:
    return votes.begun(order("http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"), PROMPTS, seed)


async def collect(report: Quality, folder: Path, ask: votes.Answers = answers) -> Quality:
    Folder(folder).report.parent.mkdir(parents=True, exist_ok=True)
    async with aclosing(votes.collected(report, Folder(folder), ask)) as reports:
        async for each in reports:
            report = each
    return report


async def test_all_prompts_are_asked_once_in_an_order_that_the_seed_gives(tmp_path: Path) -> None:
    report = await collect(two(), tmp_path)
    assert sorted(vote.prompt for vote in report.votes) == sorted(PROMPTS)
    assert {vote.left for vote in report.votes} == {0, 1}
    assert await collect(two(), tmp_path / "again") == report
    assert (await collect(two(8), tmp_path / "other")).votes != report.votes


async def test_a_server_that_fails_loses_no_answer_and_the_rest_is_asked_later(tmp_path: Path) -> None:
    asked: list[str] = []

    async def failing(prompt: str) -> tuple[str, str]:
        asked.append(prompt)
        if len(asked) == 6:
            raise ServerError("TW-C05", "gone", "start it")
        return await answers(prompt)

    with pytest.raises(ServerError):
        await collect(two(), tmp_path, failing)
    earlier = kept(tmp_path)
    assert (len(earlier.votes), len(earlier.unasked), earlier.partial) == (5, 15, "stopped")
    report = await collect(votes.continued(earlier, two()), tmp_path, failing)
    assert sorted(asked) == sorted([*PROMPTS, asked[5]])
    assert report.votes == (await collect(two(), tmp_path / "whole")).votes


def test_another_report_is_not_continued() -> None:
    other = order("http://127.0.0.1:3/v1")
    with pytest.raises(UsageError, match="something else") as caught:
        votes.continued(other, two())
    assert caught.value.code == "TW-C97"


def test_a_choice_is_of_a_server_wherever_its_answer_was_shown() -> None:
    for left in (0, 1):
        vote = Vote("?", ("of the first", "of the second"), left)  # type: ignore[arg-type]
        for side in (0, 1):
            chosen = votes.choice_of(vote, side)  # type: ignore[arg-type]
            assert votes.shown(vote)[side] == vote.answers[chosen]


def test_equal_answers_are_ties_and_votes_stay() -> None:
    pairs = (Vote("1", ("a", "a\n"), 0), Vote("2", ("a", "b"), 0), Vote("3", ("c", "c"), 1, 1))
    assert [vote.choice for vote in votes.with_ties(replace(two(), votes=pairs)).votes] == [-1, None, 1]


async def test_votes_do_not_complete_a_report_whose_prompts_are_not_all_asked(tmp_path: Path) -> None:
    report = replace(await collect(two(), tmp_path), unasked=("One more?",))
    for at in votes.missing(report):
        report = votes.voted(report, at, 0)
    assert report.partial == "stopped"
    assert votes.missing(votes.voted(report, 3, None)) == [3]


def test_a_server_of_the_workspace_may_have_another_address_now() -> None:
    earlier = replace(two(), votes=(Vote("?", ("a", "b"), 0),))
    moved = [replace(each, target=replace(each.target, url="http://127.0.0.1:9/v1")) for each in earlier.subjects]
    assert not votes.same_vote(earlier, [each.target for each in moved])
    mine = [replace(each, target=replace(each.target, plan="0123")) for each in moved]
    there = [replace(each.target, url="http://127.0.0.1:8/v1") for each in mine]
    assert votes.same_vote(replace(earlier, subjects=tuple(mine)), there)


def test_two_servers_with_a_model_of_the_same_name_are_told_apart() -> None:
    targets = [Target("m", "m", "http://127.0.0.1:1/v1"), Target("m", "m", "http://127.0.0.1:2/v1")]
    assert [each.name for each in told_apart(targets)] == ["m (127.0.0.1:1)", "m (127.0.0.1:2)"]
    assert told_apart(targets[:1]) == targets[:1]


async def test_the_last_vote_completes_the_report(tmp_path: Path) -> None:
    report = await collect(two(), tmp_path)
    for at in votes.missing(report):
        assert report.partial == "stopped"
        report = votes.voted(report, at, -1)
    assert report.partial == ""


def test_twenty_prompts_are_shipped() -> None:
    assert len(set(shipped_prompts().read_text(encoding="utf-8").splitlines())) == votes.PROMPTS
