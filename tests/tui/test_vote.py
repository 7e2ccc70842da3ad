"""A blind vote in the full screen: answers of two servers on loopback, no names before the result, and no vote lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.bench.sample import REPORT
from tests.bench.sample_reports import COMPARISON, PERPLEXITY, QUALITY, VOTED
from tests.chat.fake_openai import DONE, ROLE, STOP, FakeOpenAI, event, serving
from tests.tui.fake_journey import FakeJourney
from tests.tui.walking import StillApp, screen, shown, wait_for
from wizard import journey
from wizard.bench.folder import Folder
from wizard.bench.opened import Opened
from wizard.bench.quality.report import Quality, Subject
from wizard.bench.quality.votes import missing
from wizard.bench.report import Target
from wizard.chat.conversation import Conversation
from wizard.chat.nearby import Nearby
from wizard.chat.openai import elsewhere
from wizard.kernel.files import unfinished
from wizard.kernel.paths import Workspace
from wizard.serve.endpoint import Endpoint
from wizard.tui.opening import Opening
from wizard.tui.palette import commands
from wizard.tui.screens.chat import ChatScreen
from wizard.tui.screens.modal import AskScreen
from wizard.tui.screens.report import ReportScreen
from wizard.tui.screens.vote import Formatted, VoteScreen
from wizard.tui.widgets.error import ErrorPanel

SIZES = [(80, 24), (60, 20), (120, 40)]
GOOD, BAD = "A **good** answer. [bold red]\x1b[31m", "A poor answer."
PLAIN = "A good answer. [bold red]"
"""The good one as it is shown."""


class Voting(FakeJourney):
    """Finds servers as the real journey does."""

    def at(self, url: str, model: str | None = None) -> Endpoint:
        return journey.at(url, model)


def saying(text: str) -> FakeOpenAI:
    return FakeOpenAI(ROLE + event({"content": text}) + STOP + DONE)


@contextmanager
def servers(left: str = GOOD, right: str = BAD) -> Iterator[tuple[FakeOpenAI, FakeOpenAI]]:
    with serving(saying(left)) as first, serving(saying(right)) as second:
        yield first, second


def opened(workspace: Workspace, first: FakeOpenAI, second: FakeOpenAI) -> StillApp:
    """A chat with ``first``, while ``second`` is found as a server of another program."""
    made = Voting(strangers=(Nearby("Ollama", (elsewhere(second.url, "m"),)),))
    return StillApp(made, workspace, opening=Opening(elsewhere(first.url, "m"), Conversation(), None))


async def to_vote(pilot: Pilot[int]) -> VoteScreen:
    await screen(pilot, ChatScreen)
    await pilot.press("alt+v")
    await screen(pilot, AskScreen)
    await pilot.press("enter")
    return await ready(pilot)


async def ready(pilot: Pilot[int]) -> VoteScreen:
    vote = await screen(pilot, VoteScreen)
    await wait_for(pilot, lambda: vote.view.vote or vote.view.error)
    await pilot.pause()
    return vote


async def prefer_good(pilot: Pilot[int], vote: VoteScreen) -> None:
    assert vote.view.vote is not None
    assert vote.view.report is not None
    left = vote.view.vote.answers[vote.view.vote.left]
    await pilot.press("left" if left == GOOD else "right")


def kept(folder: Path) -> Quality:
    report = journey.quality_report(folder)
    assert report is not None
    return report


def only_folder(workspace: Workspace) -> Path:
    (folder,) = workspace.bench.iterdir()
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "ws")


@pytest.mark.parametrize("size", SIZES)
async def test_the_names_come_after_the_last_vote(workspace: Workspace, size: tuple[int, int]) -> None:
    with servers() as (first, second):
        app = opened(workspace, first, second)
        async with app.run_test(size=size) as pilot:
            vote = await to_vote(pilot)
            for number in (1, 2, 3):
                text = "\n".join(shown(app))
                assert f"prompt {number} of 3" in text
                lanes = vote.query(".lane Formatted").results(Formatted)
                assert {" ".join(str(each.render()).split()) for each in lanes} == {PLAIN, BAD}
                assert "127.0.0.1" not in text
                assert "\x1b" not in text
                await prefer_good(pilot, vote)
                await pilot.pause()
            result = await screen(pilot, ReportScreen)
            report = result.opened.report
            assert isinstance(report, Quality)
            assert [each.choice for each in report.votes] == [0, 0, 0]
            await pilot.pause()
            assert first.url.split("/")[2] in "\n".join(shown(app))
            folder = only_folder(workspace)
            assert kept(folder) == report
            assert (folder / "report.html").is_file()
            await pilot.press("escape")
            await screen(pilot, ChatScreen)


async def test_a_stopped_vote_is_continued_in_its_file(workspace: Workspace) -> None:
    with servers() as (first, second):
        app = opened(workspace, first, second)
        async with app.run_test(size=(80, 24)) as pilot:
            vote = await to_vote(pilot)
            prompt = vote.view.order[0]
            await pilot.press("s")
            assert vote.view.order[-1] == prompt, "a skipped prompt comes at the end"
            await prefer_good(pilot, vote)
            await pilot.press("equals_sign", "u", "equals_sign")
            await wait_for(pilot, lambda: len(missing(kept(only_folder(workspace)))) == 1)
            await pilot.press("escape")
            await screen(pilot, ChatScreen)
            assert any("The vote is kept in" in each.message for each in app._notifications)
            before = kept(only_folder(workspace))
            assert before.partial == "stopped"
            asked = len(first.asked)
            await pilot.press("alt+v")
            await screen(pilot, AskScreen)
            await pilot.press("enter")
            await wait_for(pilot, lambda: "You began" in str(getattr(app.screen, "_question", "")))
            assert "2 of 3 votes" in app.screen._question  # type: ignore[attr-defined]
            await screen(pilot, AskScreen)
            await pilot.press("enter")
            vote = await ready(pilot)
            assert vote.view.order == (prompt,)
            assert len(first.asked) == asked, "no answer is asked for twice"
            await pilot.press("2")
            await screen(pilot, ReportScreen)
            after = kept(only_folder(workspace))
            assert after.partial == ""
            assert sorted(each.choice == -1 for each in after.votes) == [False, False, True]


async def test_undo_takes_votes_back_to_the_first(workspace: Workspace) -> None:
    with servers() as (first, second):
        async with opened(workspace, first, second).run_test(size=(80, 24)) as pilot:
            vote = await to_vote(pilot)
            order = vote.view.order
            await pilot.press("left", "right", "u", "u", "u")
            assert vote.view.order == order
            await wait_for(pilot, lambda: missing(kept(only_folder(workspace))) == [0, 1, 2])


async def test_answers_of_before_an_error_are_kept_and_the_rest_is_asked_again(workspace: Workspace) -> None:
    with servers() as (first, second):
        second.bodies = [second.body, b'{"error": "out of memory"}']
        app = opened(workspace, first, second)
        async with app.run_test(size=(80, 24)) as pilot:
            vote = await to_vote(pilot)
            assert vote.view.error is not None
            assert vote.view.error.code in str(vote.query_one(ErrorPanel).render())
            assert len(kept(only_folder(workspace)).votes) == 1
            await pilot.press("left")
            assert vote.view.voted == ()
            await pilot.press("enter")
            await wait_for(pilot, lambda: vote.view.vote)
            assert len(second.asked) == 4


async def test_a_vote_that_cannot_be_written_is_not_lost(workspace: Workspace) -> None:
    with servers() as (first, second):
        async with opened(workspace, first, second).run_test(size=(80, 24)) as pilot:
            vote = await to_vote(pilot)
            folder = only_folder(workspace)
            blocked = unfinished(folder / "report.json")
            blocked.mkdir()
            await pilot.press("left", "left", "left")
            await wait_for(pilot, lambda: vote.view.error and not vote.view.order)
            assert vote.view.error is not None
            assert vote.view.error.code == "TW-C68"
            assert len(missing(kept(folder))) == 3
            blocked.rmdir()
            await pilot.press("enter")
            await screen(pilot, ReportScreen)
            assert kept(folder).partial == ""


async def test_the_same_answers_need_no_vote(workspace: Workspace) -> None:
    with servers(GOOD, GOOD) as (first, second):
        async with opened(workspace, first, second).run_test(size=(80, 24)) as pilot:
            await screen(pilot, ChatScreen)
            await pilot.press("alt+v")
            await screen(pilot, AskScreen)
            await pilot.press("enter")
            await screen(pilot, ReportScreen)
            assert [each.choice for each in kept(only_folder(workspace)).votes] == [-1, -1, -1]


async def test_both_answers_scroll_together(workspace: Workspace) -> None:
    numbers, letters = ("\n\n".join(lines) for lines in (map(str, range(40)), ascii_lowercase))
    with servers(numbers, letters) as (first, second):
        async with opened(workspace, first, second).run_test(size=(60, 20)) as pilot:
            vote = await to_vote(pilot)
            await pilot.press("down", "down", "pagedown")
            places = [pane.scroll_y for pane in vote.query(".lane")]
            assert places[0] == places[1] > 2
            await prefer_next(pilot, vote)
            assert [pane.scroll_y for pane in vote.query(".lane")] == [0, 0]


async def prefer_next(pilot: Pilot[int], vote: VoteScreen) -> None:
    order = vote.view.order
    await pilot.press("left")
    await wait_for(pilot, lambda: vote.view.order != order)
    await pilot.pause()


async def test_the_palette_finds_it(workspace: Workspace) -> None:
    with servers() as (first, second):
        app = opened(workspace, first, second)
        async with app.run_test(size=(80, 24)) as pilot:
            chat = await screen(pilot, ChatScreen)
            (command,) = (each for each in commands(app, chat) if "without their names" in each.title)
            assert "quality" in command.words


def of(report: Any, folder: Path | None = None) -> StillApp:
    return StillApp(Voting(), Workspace(Path("ws")), report=Opened(report, (), folder))


async def test_an_unfinished_vote_is_continued_from_its_report_without_the_servers(tmp_path: Path) -> None:
    begun = replace(VOTED, votes=tuple(replace(each, choice=None) for each in VOTED.votes[:2]), partial="stopped")
    Folder(tmp_path / "out").make()
    app = of(begun, tmp_path / "out")
    async with app.run_test(size=(80, 24)) as pilot:
        report = await screen(pilot, ReportScreen)
        await pilot.pause()
        assert "0 of 2 votes. The result comes after the last one." in "\n".join(shown(app))
        await pilot.press("v")
        await ready(pilot)
        await pilot.press("right")
        await wait_for(pilot, lambda: len(missing(kept(tmp_path / "out"))) == 1)
        await pilot.press("escape")
        await wait_for(pilot, lambda: app.screen is report)
        await pilot.pause()
        assert "1 of 2 votes." in "\n".join(shown(app))
        await pilot.press("v")
        vote = await ready(pilot)
        assert len(vote.view.order) == 1, "the first vote is not lost"
        await pilot.press("right")
        await wait_for(pilot, (tmp_path / "out" / "report.html").is_file)
        assert kept(tmp_path / "out").partial == ""
        await wait_for(pilot, lambda: app.screen is report)
        await pilot.pause()
        assert "Better answer" in "\n".join(shown(app))


@pytest.mark.parametrize("agrees", [True, False])
async def test_servers_that_a_report_names_are_asked_only_with_consent(agrees: bool) -> None:
    with servers() as (first, second):
        subjects = tuple(Subject(Target("m", "m", each.url)) for each in (first, second))
        async with of(replace(QUALITY, subjects=subjects)).run_test(size=(80, 24)) as pilot:
            report = await screen(pilot, ReportScreen)
            await pilot.press("v")
            question = await screen(pilot, AskScreen)
            assert first.url in question._question
            await pilot.press(*([] if agrees else ["down"]), "enter")
            if agrees:
                assert (await ready(pilot)).view.vote is not None
            else:
                await wait_for(pilot, lambda: pilot.app.screen is report)
            assert bool(first.asked) == agrees


async def test_a_server_of_the_workspace_that_does_not_run_is_an_error() -> None:
    app = of(QUALITY)
    async with app.run_test(size=(80, 24)) as pilot:
        report = await screen(pilot, ReportScreen)
        await pilot.press("v")
        await wait_for(pilot, lambda: any(each.title == "TW-S02" for each in app._notifications))
        assert app.screen is report


@pytest.mark.parametrize(("report", "able"), [(COMPARISON, True), (REPORT, False), (PERPLEXITY, False)])
async def test_only_reports_of_two_servers_have_the_key(report: Any, able: bool) -> None:
    async with of(report).run_test(size=(80, 24)) as pilot:
        shown_report = await screen(pilot, ReportScreen)
        assert shown_report.check_action("vote", ()) is able
