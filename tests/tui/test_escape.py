"""Esc closes the topmost thing, and never leads out of the chat."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot

from tests.tui.chatting import chatting, notes
from tests.tui.fake_journey import FakeJourney
from tests.tui.test_completing import offered
from tests.tui.values import events
from tests.tui.walking import (
    StillApp,
    answered,
    asked,
    screen,
    to_build,
    to_machine,
    to_model,
    to_welcome,
    wait_for,
)
from wizard.tui.screens.build import BuildScreen
from wizard.tui.screens.chat import ChatScreen
from wizard.tui.screens.modal import AskScreen
from wizard.tui.views.build import Phase
from wizard.tui.widgets.chrome import key_rows
from wizard.tui.widgets.conversations import Conversations
from wizard.tui.widgets.log_panel import LogPanel
from wizard.tui.widgets.picker import Picker
from wizard.tui.widgets.prompt import Prompt
from wizard.tui.widgets.search_bar import SearchBar


def escape(chat: ChatScreen) -> str:
    """What the footer says about Esc."""
    return next((row.about for row in key_rows(chat) if row.keys == "Esc"), "")


async def test_escape_a_sentence_and_enter_send_the_sentence() -> None:
    made = FakeJourney()
    async with chatting(made) as (pilot, chat):
        await pilot.press("escape", *"Hello", "enter")
        await answered(pilot, chat)
        assert pilot.app.screen is chat
        assert [message.content for message in made.asked[-1].messages] == ["Hello"]
        await pilot.press("escape", "escape", *"And", "enter")
        await wait_for(pilot, lambda: len(chat.view.texts("assistant")) == 2)
        assert pilot.app.return_value is None


async def test_with_nothing_to_close_it_shows_how_to_leave_once() -> None:
    async with chatting(FakeJourney()) as (pilot, chat):
        assert escape(chat) == ""
        assert "^Q Leave" in [f"{row.keys} {row.about}" for row in key_rows(chat)]
        await pilot.press(*"draft", "escape", "escape", "escape")
        assert pilot.app.screen is chat
        assert chat.query_one(Prompt).text == "draft"
        assert notes(pilot).count("^Q") == 1
        await pilot.press("ctrl+q")
        await screen(pilot, AskScreen)


async def test_the_hint_names_the_users_own_key() -> None:
    async with chatting(FakeJourney()) as (pilot, _chat):
        pilot.app.change_settings(keys={"chat.leave": "f11"})
        await pilot.press("escape")
        assert "F11" in notes(pilot)
        await pilot.press("f11")
        await screen(pilot, AskScreen)


async def test_it_closes_the_completions_before_it_stops_the_answer() -> None:
    made = FakeJourney(hold_chat=True)
    async with chatting(made) as (pilot, chat):
        await pilot.press(*"Hi", "enter")
        await wait_for(pilot, lambda: chat.talks.answering)
        await pilot.press("slash", "s")
        await wait_for(pilot, lambda: offered(chat))
        assert escape(chat) == "Close"
        await pilot.press("escape")
        assert not offered(chat)
        assert chat.talks.answering
        assert chat.query_one(Prompt).text == "/s"
        assert escape(chat) == "Stop"
        await pilot.press("escape")
        await wait_for(pilot, lambda: not chat.talks.busy)
        await pilot.press("e")
        await wait_for(pilot, lambda: offered(chat))


async def test_it_closes_the_search_before_it_stops_the_answer() -> None:
    made = FakeJourney()
    async with chatting(made) as (pilot, chat):
        await asked(pilot, "One", chat)
        made.hold_chat = True
        await pilot.press(*"Two", "enter")
        await wait_for(pilot, lambda: chat.talks.answering)
        await pilot.press("ctrl+f", "x", "escape")
        assert not chat.query_one(SearchBar).display
        assert chat.talks.answering
        await pilot.press("ctrl+f", "x")
        chat.query_one(Prompt).focus()
        await pilot.pause()
        assert escape(chat) == "Close"
        await pilot.press("escape")
        assert not chat.query_one(SearchBar).display


@pytest.mark.parametrize(("key", "panel"), [("f7", LogPanel), ("f4", Conversations)])
async def test_it_closes_a_panel_and_the_field_has_the_focus(key: str, panel: type[Any]) -> None:
    async with chatting(FakeJourney(), (130, 30)) as (pilot, chat):
        await pilot.press(key)
        await wait_for(pilot, lambda: chat.query(panel))
        await pilot.pause()
        assert escape(chat) == "Close"
        await pilot.press("escape")
        await wait_for(pilot, lambda: not chat.query(panel))
        await pilot.pause()
        assert isinstance(chat.focused, Prompt)
        assert escape(chat) == ""


async def test_editing_ends_before_a_panel_closes() -> None:
    async with chatting(FakeJourney()) as (pilot, chat):
        await asked(pilot, "One", chat)
        await pilot.press("f7")
        await wait_for(pilot, lambda: chat.query(LogPanel))
        await pilot.press("ctrl+e")
        assert escape(chat) == "Cancel"
        await pilot.press("escape")
        assert not chat.asking.edits
        assert chat.query(LogPanel)
        await pilot.press("escape")
        await wait_for(pilot, lambda: not chat.query(LogPanel))


async def test_a_selected_turn_is_left() -> None:
    async with chatting(FakeJourney()) as (pilot, chat):
        await asked(pilot, "One", chat)
        await pilot.press("ctrl+up")
        assert chat.talks.here.transcript.current
        assert escape(chat) == "Close"
        await pilot.press("escape")
        assert chat.talks.here.transcript.current is None


async def running(pilot: Pilot[Any]) -> BuildScreen:
    build = await to_build(pilot)
    await wait_for(pilot, lambda: build.view.progress)
    return build


async def test_escape_and_enter_do_not_stop_a_build() -> None:
    made = FakeJourney(hold_run=True, script=lambda plan: events(plan, until="model"))
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        build = await running(pilot)
        await pilot.press("escape")
        question = await screen(pilot, AskScreen)
        assert [str(option.prompt)[2:] for option in question.query_one(Picker).options] == ["Continue", "Stop it"]
        await pilot.press("enter")
        await screen(pilot, BuildScreen)
        assert build.view.phase is Phase.RUNNING


@pytest.mark.parametrize("first", ["escape", "tab"])
async def test_a_typed_sentence_and_enter_neither_stop_a_build_nor_leave(first: str) -> None:
    made = FakeJourney(hold_run=True, script=lambda plan: events(plan, until="model"))
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        build = await running(pilot)
        await pilot.press(first, *"What is a queue?", "enter")
        await screen(pilot, BuildScreen)
        assert build.view.phase is Phase.RUNNING
        assert "run" not in made.closed
        assert pilot.app._exit is False


@pytest.mark.parametrize("walk", [to_welcome, to_machine, to_model])
async def test_a_typed_sentence_does_not_leave_a_stage(walk: Any) -> None:
    """After Esc there may be no field any more, and q quits: but not as the beginning of a word."""
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        await walk(pilot)
        await pilot.press("escape", *"quick faq?", "enter")
        assert isinstance(pilot.app, StillApp)
        assert (pilot.app._quits, pilot.app._exit) == (None, False)
        await pilot.press("ctrl+q")
        await wait_for(pilot, lambda: pilot.app._exit)


async def test_the_key_alone_quits() -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        await to_welcome(pilot)
        await pilot.press("q")
        await wait_for(pilot, lambda: pilot.app._exit)
