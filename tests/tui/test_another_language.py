"""A language that is chosen is spoken at once by whatever is on the screen, and nothing is lost for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from tests import pseudo
from tests.tui.fake_journey import FakeJourney
from tests.tui.test_shell_language import recipes
from tests.tui.values import GPU_HOST, events
from tests.tui.walking import (
    StillApp,
    asked,
    screen,
    shown,
    to_advice,
    to_build,
    to_chat,
    to_machine,
    to_model,
    to_review,
    to_welcome,
    wait_for,
)
from wizard.kernel.language import tr
from wizard.tui.screens.chat import ChatScreen
from wizard.tui.screens.settings import SettingsScreen
from wizard.tui.widgets.explanation import ExplanationPanel, Pinned
from wizard.tui.widgets.live_log import LiveLog
from wizard.tui.widgets.picker import Picker
from wizard.tui.widgets.prompt import Prompt
from wizard.tui.widgets.search_bar import SearchBar

ROOMY = (200, 60)


async def to_answer(pilot: Pilot[Any]) -> None:
    await asked(pilot, "hi", await to_chat(pilot))


async def to_a_step(pilot: Pilot[Any]) -> None:
    """To a build that stays in the middle of a step."""
    await to_build(pilot)
    journey = pilot.app.journey  # type: ignore[attr-defined]
    await wait_for(pilot, lambda: journey.held)


@pytest.mark.parametrize(
    "walk", [to_welcome, recipes, to_machine, to_model, to_advice, to_review, to_a_step, to_chat, to_answer]
)
async def test_a_stage_says_the_same_as_if_it_had_been_entered_in_that_language(
    walk: Callable[[Pilot[Any]], Awaitable[Any]],
) -> None:
    half = {"hold_run": True, "script": lambda plan: events(plan, until="model")} if walk is to_a_step else {}
    made = {"host": GPU_HOST, **half}
    with pseudo.spoken():
        entered = StillApp(FakeJourney(**made))  # type: ignore[arg-type]
        async with entered.run_test(size=ROOMY) as pilot:
            await walk(pilot)
            await pilot.pause()
            wanted = shown(entered)
            entered.exit("")
    assert any(pseudo.OPEN in line for line in wanted)
    app = StillApp(FakeJourney(**made))  # type: ignore[arg-type]
    async with app.run_test(size=ROOMY) as pilot:
        await walk(pilot)
        await pilot.pause()
        assert shown(app) != wanted
        with pseudo.spoken():
            app.change_settings(language="ko")  # which the pseudo-language is spoken for
            await wait_for(pilot, lambda: shown(app) == wanted, seconds=10)
        app.exit("")


async def test_the_stage_below_the_settings_speaks_with_them() -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=ROOMY) as pilot:
        advice = await to_advice(pilot)
        await pilot.press("f2")
        await screen(pilot, SettingsScreen)
        with pseudo.spoken():
            await pilot.press("right")
            assert pseudo.OPEN in str(advice.query_one(".heading").render())


async def test_explanation_and_pins_speak_too() -> None:
    from wizard.catalog.workshops import Workshop

    app = StillApp(FakeJourney(), workshop=Workshop(title="A room", pin={"users": 4}))
    async with app.run_test(size=ROOMY) as pilot:
        advice = await to_advice(pilot)
        with pseudo.spoken():
            app.change_settings(language="ko")
            await pilot.pause()
            assert pseudo.OPEN in str(advice.query_one(Pinned).render())
            assert pseudo.OPEN in str(advice.query_one(ExplanationPanel).border_title)


async def test_what_was_typed_and_chosen_stays() -> None:
    app = StillApp(FakeJourney(host=GPU_HOST))
    async with app.run_test(size=ROOMY) as pilot:
        model = await to_model(pilot)
        await pilot.press(*"demo")
        with pseudo.spoken():
            app.change_settings(language="ko")
            await wait_for(pilot, lambda: not model.view.looking)
            assert model.query_one(Input).value == "demo"
        await pilot.press("escape", "enter")
        advice = await to_advice_from_model(pilot)
        await pilot.press("down", *["right"] * 4, "plus")
        constraints, choice = advice.view.constraints, advice.view.choice
        assert constraints != advice.view.given
        with pseudo.spoken():
            app.change_settings(language="ko")
            await pilot.pause()
        assert (advice.view.constraints, advice.view.choice) == (constraints, choice)


async def to_advice_from_model(pilot: Pilot[Any]) -> Any:
    from wizard.tui.screens.advice import AdviceScreen

    advice = await screen(pilot, AdviceScreen)
    await wait_for(pilot, lambda: advice.view.advice)
    return advice


async def test_the_cursor_of_the_plan_stays() -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=ROOMY) as pilot:
        review = await to_review(pilot)
        await pilot.press("down", "down")
        steps = review.query_one(Picker)
        with pseudo.spoken():
            app.change_settings(language="ko")
            await wait_for(pilot, lambda: pseudo.OPEN in str(steps.get_option_at_index(0).prompt))
            await pilot.pause()
            assert review.view.at == steps.highlighted == 2


async def test_the_plan_that_is_carried_out_speaks_too() -> None:
    app = StillApp(FakeJourney(hold_run=True, script=lambda plan: events(plan, until="model")))
    async with app.run_test(size=ROOMY) as pilot:
        await to_a_step(pilot)
        with pseudo.spoken():
            app.change_settings(language="ko")
            await wait_for(pilot, lambda: all(pseudo.OPEN in step.title for step in app.screen.view.steps))
            assert not any(pseudo.escaped(step.title) for step in app.screen.view.steps)


async def test_a_search_in_the_output_continues() -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=ROOMY) as pilot:
        build = await to_build(pilot)
        await wait_for(pilot, lambda: build.view.endpoint)
        await pilot.press("slash", *"fine")
        await wait_for(pilot, lambda: build.query_one(LiveLog).match_counts[1])
        with pseudo.spoken():
            app.change_settings(language="ko")
            await pilot.pause()
            assert build.query_one(SearchBar).query_one(Input).value == "fine"
            assert pseudo.OPEN in str(build.query_one(LiveLog).border_title)


async def test_an_answer_continues_and_the_draft_stays() -> None:
    journey = FakeJourney(hold_chat=True)
    app = StillApp(journey)
    async with app.run_test(size=ROOMY) as pilot:
        chat: ChatScreen = await to_chat(pilot)
        await pilot.press(*"hi", "enter")
        await wait_for(pilot, lambda: chat.talks.first.transcript.turns and chat.talks.first.transcript.turns[-1].text)
        text = chat.talks.first.transcript.turns[-1].text
        await pilot.press(*"next")
        with pseudo.spoken():
            app.change_settings(language="ko")
            await pilot.pause()
            assert chat.view.busy == "answering"
            assert chat.talks.first.transcript.turns[-1].text.startswith(text)
            assert chat.query_one(Prompt).text == "next"
            assert chat.query_one(Prompt).placeholder == tr("Ask something …")
            assert pseudo.OPEN in " ".join(line for line in shown(app) if "tokens" in line)
        await pilot.press("escape")
