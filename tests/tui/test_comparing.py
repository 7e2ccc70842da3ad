"""Two models side by side: asked the same, compared, read and kept each by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from tests.tui.chatting import chatting, notes, words
from tests.tui.fake_journey import FakeJourney
from tests.tui.values import ELSEWHERE, ENDPOINT, SECOND, WORKSPACE
from tests.tui.walking import asked, screen, wait_for
from wizard.chat.ask import unreachable
from wizard.chat.conversation import Conversation, Stats
from wizard.tui.screens.chat import ChatScreen
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.modal import AskScreen
from wizard.tui.widgets.conversations import Conversations
from wizard.tui.widgets.log_panel import LogPanel
from wizard.tui.widgets.model_chat import ModelChat
from wizard.tui.widgets.picker import Picker

SLOW = Stats(48, 0.09, 2.0, "stop")


def both() -> FakeJourney:
    return FakeJourney(running=(ENDPOINT, SECOND), chat_stats={"second": SLOW})


@pytest.mark.parametrize("size", [(140, 40), (80, 24), (40, 15)])
async def test_two_models_answer_the_same_question_and_are_compared(size: tuple[int, int]) -> None:
    made = both()
    async with chatting(made, size) as (pilot, chat):
        await asked(pilot, "Alone", chat)
        await pilot.press("f6")
        await screen(pilot, AskScreen)
        await pilot.press("enter")
        await wait_for(pilot, lambda: chat.talks.second and chat.talks.second.is_mounted)
        await asked(pilot, "Both", chat)
        rival = chat.talks.second
        assert rival is not None
        await wait_for(pilot, lambda: "as fast" in words(chat, "#comparison"))
        assert [message.content for message in made.asked[2].messages] == ["Both"]
        assert chat.view.texts("user") == ["Alone", "Both"]
        result = " ".join(words(chat, "#comparison").split())
        assert "demo is 3.8× as fast as second: 94.0 vs. 24.6 tokens/s" in result
        assert "24.6" in words(chat, "#comparison").splitlines()[2 if size[1] >= 20 else 1]
        beside = rival.region.x > chat.talks.first.region.x
        assert beside == (size[0] >= 100)
        assert rival.region.width > 0
        await pilot.press("ctrl+r")
        await wait_for(pilot, lambda: len(made.asked) == 5)
        await wait_for(pilot, lambda: not chat.talks.busy)
        await pilot.press("f6")
        await wait_for(pilot, lambda: chat.talks.second is None and not chat.query_one("#comparison").display)
        await asked(pilot, "Alone again", chat)
        assert len(made.asked) == 6


async def test_a_second_server_that_vanishes_leaves_the_first_alone() -> None:
    made = both()
    made.vanishes = "second"
    async with chatting(made, (140, 40)) as (pilot, chat):
        await pilot.press("f6")
        await screen(pilot, AskScreen)
        await pilot.press("enter")
        await wait_for(pilot, lambda: chat.talks.second and chat.talks.second.is_mounted)
        await asked(pilot, "Both", chat)
        rival = chat.talks.second
        assert rival is not None
        await wait_for(pilot, lambda: rival.view.error)
        assert "TW-C03" in words(chat, "#second ErrorPanel")
        assert words(chat, "#second Figures") == "^R retries, F6 uses only the first model", "F5 is the first's"
        assert chat.view.error is None
        assert chat.view.texts("assistant") == [made.answer]


async def test_a_server_elsewhere_is_compared_by_its_address() -> None:
    made = FakeJourney()
    made.elsewhere = unreachable("http://far:9000", "refused")
    async with chatting(made) as (pilot, chat):
        await pilot.press("f6")
        await screen(pilot, AskScreen)
        await pilot.press("enter")
        await screen(pilot, FormScreen)
        await pilot.press(*"http://far:9000", "enter")
        await wait_for(pilot, lambda: "TW-C01" in notes(pilot))
        await screen(pilot, FormScreen)  # to correct the address
        made.elsewhere = ELSEWHERE
        await pilot.press("enter")
        await wait_for(pilot, lambda: chat.talks.second and chat.talks.second.is_mounted)
        assert chat.talks.second is not None
        assert chat.talks.second.endpoint == ELSEWHERE


async def test_a_model_is_not_compared_with_itself() -> None:
    made = FakeJourney()
    made.elsewhere = ENDPOINT
    async with chatting(made) as (pilot, chat):
        await pilot.press("f6")
        await screen(pilot, AskScreen)
        await pilot.press("enter")
        await screen(pilot, FormScreen)
        await pilot.press(*ENDPOINT.http, "down", *ENDPOINT.model, "enter")
        await wait_for(pilot, lambda: "already answers in this chat" in notes(pilot))
        await screen(pilot, FormScreen)
        assert chat.talks.second is None


async def test_choosing_no_second_model_leaves_everything_as_it_was() -> None:
    async with chatting(both()) as (pilot, chat):
        await pilot.press("f6")
        await screen(pilot, AskScreen)
        await pilot.press("escape")
        await screen(pilot, ChatScreen)
        assert chat.talks.second is None


async def with_second(pilot: Pilot[Any], chat: ChatScreen) -> ModelChat:
    """Let the second server answer beside the first."""
    await pilot.press("f6")
    await screen(pilot, AskScreen)
    await pilot.press("enter")
    await wait_for(pilot, lambda: chat.talks.second and chat.talks.second.is_mounted)
    await pilot.pause()
    assert chat.talks.second is not None
    return chat.talks.second


def kept_by() -> list[tuple[str, int]]:
    """Server and number of messages of each kept conversation, by server."""
    return sorted((entry.endpoint, entry.messages) for entry in FakeJourney().history(WORKSPACE).search(""))


async def test_what_the_second_answers_is_kept_as_a_conversation_of_its_own() -> None:
    made = both()
    async with chatting(made, (140, 40)) as (pilot, chat):
        await with_second(pilot, chat)
        for question in ("One", "Two"):
            await asked(pilot, question, chat)
            await wait_for(pilot, lambda: not chat.talks.busy)
        await wait_for(pilot, lambda: kept_by() == [("demo", 4), ("second", 4)])
        await pilot.press("f4")
        await wait_for(pilot, lambda: [*chat.query(Conversations)])
        window = chat.query_one(Conversations)
        await wait_for(pilot, lambda: len(window._entries) == 2)
        rows = [str(window.query_one("#entries", Picker).get_option_at_index(at).prompt) for at in (0, 1)]
        assert all("open now" in row for row in rows)
        assert {"second" in row for row in rows} == {True, False}
        here = next(at for at, row in enumerate(rows) if "second" in row)
        await pilot.press(*["down"] * here, "ctrl+x")
        await screen(pilot, FormScreen)
        await pilot.press("ctrl+u", *"By the second", "enter")
        await wait_for(pilot, lambda: "By the second" in [entry.title for entry in window._entries])
        await pilot.press("f4")
        await wait_for(pilot, lambda: not chat.query(Conversations))
        await asked(pilot, "Three", chat)
        await wait_for(pilot, lambda: kept_by() == [("demo", 6), ("second", 6)])
        entries = FakeJourney().history(WORKSPACE).search("")
        assert {entry.endpoint: entry.title for entry in entries} == {"demo": "One", "second": "By the second"}
        await pilot.press("f6")
        await wait_for(pilot, lambda: chat.talks.second is None)
        await with_second(pilot, chat)
        await asked(pilot, "Four", chat)
        await wait_for(pilot, lambda: kept_by() == [("demo", 8), ("second", 2), ("second", 6)])


async def test_nothing_is_kept_of_either_model_in_private() -> None:
    async with chatting(both(), (140, 40)) as (pilot, chat):
        await pilot.press("ctrl+g")
        rival = await with_second(pilot, chat)
        assert "kept as" not in notes(pilot)
        await asked(pilot, "Q", chat)
        await wait_for(pilot, lambda: rival.view.stats and not chat.talks.busy)
        await pilot.pause()
        assert kept_by() == []


async def test_find_copy_and_save_mean_the_model_that_was_gone_to() -> None:
    made = both()
    async with chatting(made, (140, 40)) as (pilot, chat):
        rival = await with_second(pilot, chat)
        await asked(pilot, "Q", chat)
        await wait_for(pilot, lambda: rival.view.stats and not chat.talks.busy)
        rival.show(Conversation().with_message("user", "Q").with_message("assistant", "Apples.\n\n```py\n1 + 1\n```"))
        await pilot.press("ctrl+f", *"apples")
        await pilot.pause()
        assert words(chat, "#found") == "no matches"
        await pilot.press("alt+right")
        await pilot.pause()
        assert words(chat, "#found") == "1 of 1"
        assert "log apply here" in words(chat, "#second .name")
        assert "log apply here" not in words(chat, "#first .name")
        await pilot.press("escape", "ctrl+y")
        assert pilot.app.clipboard.startswith("Apples.")
        await pilot.press("ctrl+b")
        assert pilot.app.clipboard == "1 + 1\n"
        await pilot.press("ctrl+s")
        await screen(pilot, AskScreen)  # the conversation or the comparison
        await pilot.press("enter")
        form = await screen(pilot, FormScreen)
        assert form.query_one("#file", Input).value == "second.md"
        await pilot.press("enter")
        await wait_for(pilot, Path("second.md").is_file)
        assert "Apples." in Path("second.md").read_text()
        await screen(pilot, ChatScreen)
        await pilot.click("#first Transcript")
        await pilot.press("ctrl+y")
        assert pilot.app.clipboard == made.answer
        await pilot.press("alt+left", "f6")
        await wait_for(pilot, lambda: chat.talks.second is None)
        await pilot.press("ctrl+y")
        assert pilot.app.clipboard == made.answer


async def test_a_model_that_joins_later_is_asked_the_last_question_again_and_its_side_is_named() -> None:
    made = both()
    async with chatting(made, (140, 40)) as (pilot, chat):
        await asked(pilot, "First", chat)
        await pilot.press("f6")
        await screen(pilot, AskScreen)
        await pilot.press("enter")
        await wait_for(pilot, lambda: chat.talks.second and chat.talks.second.is_mounted)
        await pilot.pause()
        assert "The answers of second are saved as a separate conversation" in notes(pilot)
        assert "are compared here" in words(chat, "#comparison")
        await pilot.press("ctrl+r")
        await wait_for(pilot, lambda: len(made.asked) == 3 and not chat.talks.busy)
        assert [[message.content for message in each.messages] for each in made.asked[1:]] == [["First"], ["First"]]
        assert "find, copy, save and log apply here" in words(chat, "#first .name")
        assert "log apply here" not in words(chat, "#second .name")
        await pilot.press("f7")
        await wait_for(pilot, lambda: [*chat.query(LogPanel)] and chat.query_one(LogPanel).is_mounted)
        await pilot.pause()
        assert "Log of demo" in words(chat, "LogPanel > .name")
