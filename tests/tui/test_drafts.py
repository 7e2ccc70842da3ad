"""What was typed and not sent is there again."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

from tests.tui.chatting import chatting
from tests.tui.fake_journey import FakeJourney
from tests.tui.test_waiting import asking, waiting
from tests.tui.values import ENDPOINT, WORKSPACE
from tests.tui.walking import answered, screen, wait_for
from wizard.chat.drafts import Draft, Drafts
from wizard.tui.screens.modal import AskScreen
from wizard.tui.widgets.prompt import LONG, Prompt


def drafts() -> Drafts:
    """Where the chat with the server stores it."""
    return Drafts.of(FakeJourney().history(WORKSPACE), ENDPOINT.name)


async def test_text_and_waiting_messages_are_there_after_leaving_during_an_answer() -> None:
    made = FakeJourney(hold_chat=True)
    async with chatting(made) as (pilot, _chat):
        await asking(pilot, made, "one", "two")
        await pilot.press(*"thr")
    async with chatting(FakeJourney()) as (pilot, chat):
        assert (chat.query_one(Prompt).text, waiting(chat)) == ("thr", ("two",))
        await pilot.press("e", "e", "enter")
        await wait_for(pilot, lambda: len(chat.view.texts("assistant")) == 2)
    assert drafts().load() == Draft()
    assert not drafts().path.exists()


async def test_it_is_stored_while_the_chat_is_open_for_a_crash() -> None:
    async with chatting(FakeJourney()) as (pilot, _chat):
        await pilot.press(*"half a que")
        await wait_for(pilot, lambda: drafts().load().text == "half a que")
        await pilot.press("enter")
        await wait_for(pilot, lambda: drafts().load() == Draft())


async def test_a_long_pasted_text_is_stored_in_full() -> None:
    text = "x" * LONG
    async with chatting(FakeJourney()) as (_pilot, chat):
        chat.query_one(Prompt).write(text)
    assert drafts().load().text == text
    async with chatting(FakeJourney()) as (_pilot, chat):
        assert chat.query_one(Prompt).written == text
        assert len(chat.query_one(Prompt).text) < 100


async def test_a_chat_that_becomes_private_stores_nothing() -> None:
    async with chatting(FakeJourney()) as (pilot, chat):
        await pilot.press(*"secret")
        await wait_for(pilot, lambda: drafts().load().text)
        await pilot.press("ctrl+g")
        await wait_for(pilot, lambda: chat.keeping.private)
        await pilot.press(*"s")
    assert not drafts().path.exists()


async def test_a_question_that_was_sent_is_no_draft() -> None:
    made = FakeJourney()
    async with chatting(made) as (pilot, chat):
        await pilot.press(*"sent", "enter")
        await answered(pilot, chat)
    assert not drafts().path.exists()


async def test_a_question_about_a_file_does_not_lose_the_text_that_waits_for_its_answer(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hush")
    Path("link").symlink_to(tmp_path / "secret")
    async with chatting(FakeJourney()) as (pilot, _chat):
        await pilot.press(*"@link", "enter")
        await screen(pilot, AskScreen)
        await wait_for(pilot, lambda: drafts().load() == Draft("@link"))
    async with chatting(FakeJourney()) as (_pilot, chat):
        assert chat.query_one(Prompt).text == "@link"


def test_two_windows_have_a_draft_each_and_one_that_has_gone_leaves_its_own() -> None:
    mine = drafts()
    with subprocess.Popen(["sleep", "600"]) as other:
        theirs = replace(mine, path=mine.path.with_name(mine.path.name.replace(str(os.getpid()), str(other.pid))))
        theirs.save(Draft("theirs"))
        assert mine.load() == Draft(), "its window is open"
        mine.save(Draft("mine"))
        assert theirs.load() == Draft("theirs")
        other.kill()
    assert mine.load() == Draft("mine")
    mine.save(Draft())
    assert mine.load() == Draft("theirs")
    assert not theirs.path.exists()
