"""Somebody who types faster than the screen draws: what was typed before a key counts before it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from textual import events
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.widgets import Input

from tests.tui.fake_journey import FakeJourney
from tests.tui.walking import StillApp, answered, screen, to_advice, to_chat, to_model, wait_for
from wizard.tui.screens.advice import AdviceScreen
from wizard.tui.screens.chat import ChatScreen
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.modal import AskScreen
from wizard.tui.screens.review import ReviewScreen
from wizard.tui.screens.settings import SettingsScreen
from wizard.tui.widgets.options import Options
from wizard.tui.widgets.prompt import Prompt


def burst(pilot: Pilot[Any], text: str, *keys: str) -> None:
    """All of ``text`` and then ``keys`` at once, as a terminal hands them over that was not read for a while."""
    for character in text:
        pilot.app.post_message(events.Key(_character_to_key(character), character))
    for key in keys:
        pilot.app.post_message(events.Key(key, None))


async def test_a_question_and_enter_at_once_is_sent_whole() -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        chat = await to_chat(pilot)
        burst(pilot, "What is Triton?", "enter")
        await wait_for(pilot, lambda: chat.view.texts("user"))
        await answered(pilot, chat)
        assert chat.view.texts("user") == ["What is Triton?"]


async def test_what_is_typed_right_after_the_key_for_finding_is_sought() -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        chat = await to_chat(pilot)
        burst(pilot, "Q", "enter")
        await wait_for(pilot, lambda: chat.view.texts("user"))
        await answered(pilot, chat)
        burst(pilot, "", "ctrl+f")
        burst(pilot, "Triton")
        await wait_for(pilot, lambda: chat.query_one("#sought", Input).value == "Triton")
        assert chat.query_one(Prompt).text == ""


async def test_a_name_and_enter_at_once_is_taken_and_not_the_row_that_was_there_before() -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        model = await to_model(pilot)
        burst(pilot, "no/such", "enter")
        await wait_for(pilot, lambda: model.view.error)
        assert "no/such" in model.view.error.what  # type: ignore[union-attr]


async def test_keys_that_lead_through_stages_may_come_at_once_too() -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        await to_model(pilot)
        burst(pilot, "demo", "enter")
        await screen(pilot, AdviceScreen)


async def test_an_answer_is_the_one_that_the_arrows_before_enter_led_to() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        await to_chat(pilot)
        await pilot.press("ctrl+q")
        await screen(pilot, AskScreen)
        burst(pilot, "", "down", "down", "down", "down", "enter")
        await screen(pilot, ChatScreen)
        assert made.stopped == []
        assert not pilot.app._exit


async def test_the_setting_that_the_arrows_led_to_is_changed_and_no_other() -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        await to_model(pilot)
        await pilot.press("f2")
        await screen(pilot, SettingsScreen)
        before = app.settings
        burst(pilot, "", "down", "down", "right")
        await wait_for(pilot, lambda: app.settings != before)
        assert app.settings == replace(before, explain=True)


async def test_the_way_that_the_arrow_led_to_is_taken() -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        advice = await to_advice(pilot)
        second = advice.view.choices[1]
        burst(pilot, "", "down", "enter")
        await screen(pilot, ReviewScreen)
        assert advice.view.choice == second


async def test_an_answer_in_a_form_is_taken_as_the_arrows_before_enter_left_it() -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        advice = await to_advice(pilot)
        await pilot.press("w")
        form = await screen(pilot, FormScreen)
        assert isinstance(form.focused, Options)
        burst(pilot, "", "right", "enter")
        await wait_for(pilot, lambda: pilot.app.screen is advice)
        await wait_for(pilot, lambda: advice.view.constraints.goal == "documents")


async def test_a_key_waits_no_more_than_two_short_periods_for_the_next_picture() -> None:
    async with StillApp(FakeJourney()).run_test() as pilot:
        model = await to_model(pilot)
        assert model._update_timer._interval == 1 / 120
