"""Explanations beside every stage, and a facilitator's workshop in the full-screen wizard."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static

from tests.tui.fake_journey import FakeJourney
from tests.tui.values import NO_PYTHON, plan
from tests.tui.walking import (
    StillApp,
    asked,
    chat_after,
    screen,
    to_advice,
    to_build,
    to_chat,
    to_machine,
    to_model,
    to_review,
    to_welcome,
    wait_for,
)
from wizard.advise.advice import Constraints
from wizard.catalog import explanations
from wizard.catalog.profiles import PROFILES_VARIABLE
from wizard.catalog.workshops import Say, Workshop
from wizard.cli.workshop import Pinned
from wizard.kernel.errors import HostError
from wizard.plan.workshop import with_seat
from wizard.tui.screens.advice import AdviceScreen
from wizard.tui.screens.build import BuildScreen
from wizard.tui.screens.explanation import ExplanationScreen
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.machine import MachineScreen
from wizard.tui.screens.modal import ReaderScreen
from wizard.tui.screens.model import ModelScreen
from wizard.tui.screens.review import ReviewScreen
from wizard.tui.screens.stage import StageScreen
from wizard.tui.screens.welcome import WelcomeScreen
from wizard.tui.widgets.chrome import KeyBar
from wizard.tui.widgets.explanation import ExplanationPanel
from wizard.tui.widgets.explanation import Pinned as PinnedLine

ROOMY, SMALL, TINY = (120, 40), (80, 24), (40, 15)


def text(widget: Static) -> str:
    return str(widget.render())


def panel(stage: StageScreen[Any]) -> str:
    """What the panel shows; empty if it is not there."""
    explanations = stage.query_one(ExplanationPanel)
    return (
        "\n".join(text(widget) for widget in explanations.query(Static) if widget.display)
        if explanations.display
        else ""
    )


def about(stage: StageScreen[Any]) -> str:
    """The explanation's first sentence of the stage."""
    return explanations.stage(stage.stage_name).what


@asynccontextmanager
async def attending(
    workshop: Workshop, journey: FakeJourney | None = None, size: tuple[int, int] = ROOMY
) -> AsyncIterator[Pilot[int]]:
    """The wizard as the command line begins it in a workshop."""
    seat = with_seat(workshop)
    pinned: Any = Pinned(journey or FakeJourney(), seat)
    app = StillApp(pinned, answers=dict(seat.pin), workshop=seat, explain=seat.explain)
    async with app.run_test(size=size) as pilot:
        yield pilot


@pytest.mark.parametrize("reach", [to_welcome, to_machine, to_model, to_advice, to_review, to_chat])
async def test_every_stage_shows_its_explanation(reach: Callable[[Pilot[int]], Awaitable[StageScreen[Any]]]) -> None:
    async with StillApp(FakeJourney(), explain=True).run_test(size=ROOMY) as pilot:
        stage = await reach(pilot)
        await wait_for(pilot, lambda: about(stage) in panel(stage))


async def test_explanations_are_off_until_the_key_and_stay_on_from_stage_to_stage() -> None:
    async with StillApp(FakeJourney()).run_test(size=ROOMY) as pilot:
        machine = await to_machine(pilot)
        assert panel(machine) == ""
        await pilot.press("f3")
        assert about(machine) in panel(machine)
        await pilot.press("enter")
        model = await screen(pilot, ModelScreen)
        await wait_for(pilot, lambda: about(model) in panel(model))
        await pilot.press("f3")
        assert panel(model) == ""
        await pilot.press("escape")
        machine = await screen(pilot, MachineScreen)
        assert panel(machine) == ""


async def test_the_settings_turn_explanations_on() -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=ROOMY) as pilot:
        await to_welcome(pilot)
        app.change_settings(explain=True)
        machine = await to_machine(pilot)
        assert about(machine) in panel(machine)
    again = StillApp(FakeJourney())
    assert again.guide.shown


async def test_review_explains_the_step_under_the_cursor() -> None:
    async with StillApp(FakeJourney(), explain=True).run_test(size=ROOMY) as pilot:
        review = await to_review(pilot)
        assert about(review) in panel(review), "the overview is the stage's"
        for name in ("environment", "model"):
            await pilot.press("down")
            explanation = explanations.step("llamacpp", name)
            assert explanation is not None
            await wait_for(pilot, lambda explanation=explanation: explanation.what in panel(review))
            assert explanation.look in panel(review)
            assert "What you type in tutorial" in panel(review)
        assert "The weights are here already." not in panel(review), "the reason stands above"


async def test_build_explains_the_running_step_and_one_that_is_pointed_at() -> None:
    async with StillApp(FakeJourney(), explain=True).run_test(size=ROOMY) as pilot:
        build = await to_build(pilot)
        await wait_for(pilot, lambda: build.view.endpoint)
        last, before = explanations.step("llamacpp", "question"), explanations.step("llamacpp", "ready")
        assert last is not None
        assert before is not None
        await wait_for(pilot, lambda: last.what in panel(build))
        assert "Only an answer proves it." in panel(build), "the plan's own reason"
        build.query_one("#steps").focus()
        await pilot.press("up")
        await wait_for(pilot, lambda: before.what in panel(build))


async def test_where_there_is_little_room_the_key_opens_a_window() -> None:
    async with StillApp(FakeJourney()).run_test(size=SMALL) as pilot:
        machine = await to_machine(pilot)
        await pilot.press("f3")
        window = await screen(pilot, ExplanationScreen)
        shown = text(window.query_one("Pane > Static", Static))
        explanation = explanations.stage("machine")
        assert explanation.why in shown.replace("\n", " ")
        assert "nvidia-smi" in shown
        await pilot.press("escape")
        await screen(pilot, MachineScreen)
        assert panel(machine).removeprefix("What happens  ") == explanation.what, "one sentence stays"
        assert machine.query_one(ExplanationPanel).size.height <= 2
        assert machine.query_one(ExplanationPanel).max_scroll_y == 0, "there is nothing to scroll in it"
        await pilot.press("f3")
        await screen(pilot, ExplanationScreen)
        await pilot.press("f3")
        await screen(pilot, MachineScreen)
        assert panel(machine) == "", "the key in the window ends the explanations"


async def test_a_tiny_terminal_is_left_to_the_stage() -> None:
    async with StillApp(FakeJourney(), explain=True).run_test(size=TINY) as pilot:
        machine = await to_machine(pilot)
        assert panel(machine) == ""
        await pilot.press("f3")
        await screen(pilot, ExplanationScreen)


async def test_a_small_terminal_is_left_to_the_conversation() -> None:
    async with StillApp(FakeJourney(), explain=True).run_test(size=SMALL) as pilot:
        chat = await to_chat(pilot)
        assert panel(chat) == ""
        await pilot.press("f3")
        await screen(pilot, ExplanationScreen)


async def test_the_explanation_follows_the_terminals_size() -> None:
    async with StillApp(FakeJourney(), explain=True).run_test(size=ROOMY) as pilot:
        machine = await to_machine(pilot)
        assert explanations.stage("machine").look in panel(machine)
        await pilot.resize_terminal(*SMALL)
        await wait_for(pilot, lambda: explanations.stage("machine").look not in panel(machine))
        assert about(machine) in panel(machine)


@pytest.mark.parametrize("size", [ROOMY, SMALL])
async def test_the_stage_keeps_most_of_the_room(size: tuple[int, int]) -> None:
    async with StillApp(FakeJourney(), explain=True).run_test(size=size) as pilot:
        review = await to_review(pilot)
        await pilot.press("down")
        await pilot.pause()
        assert review.query_one("#stage").size.height >= size[1] // 2


async def test_a_damaged_file_of_explanations_is_named_and_does_not_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "explanations").mkdir()
    (tmp_path / "explanations" / "stages.toml").write_text("[machine", encoding="utf-8")
    monkeypatch.setenv(PROFILES_VARIABLE, str(tmp_path))
    async with StillApp(FakeJourney(), explain=True).run_test(size=ROOMY) as pilot:
        machine = await to_machine(pilot)
        assert panel(machine).startswith("TW-D02")
        await to_model(pilot)


# -- workshops ---------------------------------------------------------------------------------------------------------

MINE = Workshop("Mine", text="Welcome to the lab.", pin={"model": "demo", "users": 3, "name": "mine"})


async def greeted(pilot: Pilot[int]) -> None:
    window = await screen(pilot, ReaderScreen)
    assert "Welcome to the lab." in text(window.query_one("Pane > Static", Static))
    await pilot.press("enter")


async def test_words_of_welcome_come_first() -> None:
    async with attending(MINE) as pilot:
        await greeted(pilot)
        welcome = await to_welcome(pilot)
        assert about(welcome) in panel(welcome), "a workshop explains"
        line = text(welcome.query_one(PinnedLine))
        assert "Set by your facilitator: " in line
        assert "demo" in line
        assert [row.id for row in welcome.rows] == ["serve", "machine", "settings", "help", "quit"]


async def test_a_facilitators_words_are_the_first_of_an_explanation() -> None:
    say = Say({"machine": "Count the GPUs."}, {"environment": "This takes a while."})
    async with attending(Workshop("Mine", say=say), size=SMALL) as pilot:
        machine = await to_machine(pilot)
        assert panel(machine) == "From your facilitator  Count the GPUs."
    async with attending(Workshop("Mine", say=say), size=SMALL) as pilot:
        review = await to_review(pilot)
        await pilot.press("down")
        await wait_for(pilot, lambda: "This takes a while." in panel(review))


async def test_another_model_than_the_pinned_one_is_refused() -> None:
    async with attending(replace(MINE, text="")) as pilot:
        model = await to_model(pilot)
        assert [suggestion.ref for suggestion in model.view.suggestions or ()] == ["demo"]
        assert "Which model: demo" in text(model.query_one(PinnedLine))
        await pilot.press(*"org/other", "enter")
        await wait_for(pilot, lambda: model.view.error)
        assert model.view.error is not None
        assert model.view.error.code == "TW-U50"


async def test_pinned_constraints_stay_whatever_is_tried() -> None:
    journey = FakeJourney()
    async with attending(replace(MINE, text=""), journey) as pilot:
        advice = await to_advice(pilot)
        assert text(advice.query_one(PinnedLine)).endswith(": 3")
        assert advice.view.constraints == Constraints(users=3)
        while advice._fields[advice.view.field].name != "users":
            await pilot.press("right")
        await pilot.press("plus")
        assert [notification.message for notification in pilot.app._notifications] == ["Your facilitator has set this."]
        assert {constraints.users for constraints in journey.constraints} == {3}
        assert advice.view.constraints == Constraints(users=3)
        await pilot.press("w")
        form = await screen(pilot, FormScreen)
        field = form.query_one("#users", Input)
        assert field.disabled
        assert field.value == "3"
        assert any("set by your facilitator" in text(result) for result in form.query(".text").results(Static))


async def test_the_plan_has_the_pinned_name() -> None:
    async with attending(replace(MINE, text="")) as pilot:
        review = await to_review(pilot)
        assert review.view.plan is not None
        assert review.view.plan.name == "mine"
        await pilot.press("n")
        form = await screen(pilot, FormScreen)
        assert form.query_one("#name", Input).disabled
        assert not form.query_one("#http_port", Input).disabled


@pytest.mark.parametrize("hide", [(), ("advice",)])
async def test_a_server_is_started_again_as_the_facilitator_constraints_it(hide: tuple[str, ...]) -> None:
    journey = FakeJourney(off=("demo",), earlier=plan())
    async with attending(Workshop("Mine", pin={"users": 3}, hide=hide), journey) as pilot:
        await to_welcome(pilot)
        await pilot.press("enter")
        if not hide:
            advice = await screen(pilot, AdviceScreen)
            await wait_for(pilot, lambda: advice.view.advice)
            assert advice.view.constraints == Constraints(users=3)
            await pilot.press("enter")
        review = await screen(pilot, ReviewScreen)
        await wait_for(pilot, lambda: review.view.plan)
        assert review.view.plan is not None
        assert review.view.plan.name == "demo"
        assert review.view.answers == {"name": "demo"}
        assert {constraints.users for constraints in journey.constraints} == {3}
        await pilot.press("escape")
        await screen(pilot, WelcomeScreen if hide else AdviceScreen)


async def test_hidden_stages_are_passed_and_going_back_passes_them_too() -> None:
    hidden = replace(MINE, text="", hide=("machine", "model"))
    async with attending(hidden) as pilot:
        welcome = await to_welcome(pilot)
        assert [row.id for row in welcome.rows] == ["serve", "settings", "help", "quit"]
        await pilot.press("enter")
        advice = await screen(pilot, AdviceScreen)
        await wait_for(pilot, lambda: advice.view.advice)
        await pilot.press("escape")
        await screen(pilot, WelcomeScreen)


async def test_everything_hidden_leads_from_the_welcome_to_the_chat() -> None:
    async with attending(replace(MINE, text="", hide=("machine", "model", "advice", "review"))) as pilot:
        await to_welcome(pilot)
        await pilot.press("enter")
        chat = await chat_after(pilot, await screen(pilot, BuildScreen))
        assert about(chat) in panel(chat)


async def test_the_build_leads_back_to_the_plan_even_if_it_is_hidden() -> None:
    async with attending(replace(MINE, text="", hide=("machine", "model", "advice", "review"))) as pilot:
        await to_welcome(pilot)
        await pilot.press("enter")
        build = await screen(pilot, BuildScreen)
        await wait_for(pilot, lambda: build.view.endpoint)
        await pilot.press("escape")
        await screen(pilot, ReviewScreen)
        await pilot.press("escape")
        await screen(pilot, WelcomeScreen)


async def test_a_hidden_stage_that_fails_is_shown() -> None:
    journey = FakeJourney(host=NO_PYTHON)
    async with attending(replace(MINE, text="", hide=("machine", "model")), journey) as pilot:
        await to_welcome(pilot)
        await pilot.press("enter")
        machine = await screen(pilot, MachineScreen)
        await wait_for(pilot, lambda: machine.view.host)
    journey = FakeJourney(advice=HostError("TW-P01", "no advice today", "Come back tomorrow."))
    async with attending(replace(MINE, text="", hide=("machine", "model", "advice")), journey) as pilot:
        await to_welcome(pilot)
        await pilot.press("enter")
        advice = await screen(pilot, AdviceScreen)
        await wait_for(pilot, lambda: advice.view.error)


async def test_a_pinned_temperature_is_closed_in_the_chat() -> None:
    journey = FakeJourney()
    async with attending(Workshop("Mine", pin={"temperature": 0.5}), journey) as pilot:
        chat = await to_chat(pilot)
        assert text(chat.query_one(PinnedLine)).endswith("Temperature: 0.5")
        await pilot.press("ctrl+t")
        form = await screen(pilot, FormScreen)
        assert form.query_one("#temperature", Input).disabled
        await pilot.press("escape")
        await asked(pilot, "Hello", chat)
        assert [conversation.sampling.temperature for conversation in journey.asked] == [0.5]


LONG = " ".join(["Look at the memory."] * 120)


@pytest.mark.parametrize(("words", "longer"), [(LONG, True), ("", False)])
@pytest.mark.parametrize(("stage", "walk"), [("start", to_welcome), ("machine", to_machine), ("model", to_model)])
async def test_an_explanation_that_is_longer_than_its_panel_is_read_with_the_keyboard(
    stage: str, walk: Callable[[Pilot[int]], Awaitable[StageScreen[Any]]], words: str, longer: bool
) -> None:
    workshop = Workshop("Mine", say=Say({stage: words}))
    async with StillApp(FakeJourney(), workshop=workshop, explain=True).run_test(size=(100, 60)) as pilot:
        shown = await walk(pilot)
        explanation = shown.query_one(ExplanationPanel)
        await wait_for(pilot, lambda: explanation.size.height and (explanation.max_scroll_y > 0) == longer)
        await pilot.pause()
        assert ("PgUp/Dn Scroll" in shown.query_one(KeyBar).line(200).plain) == longer
        await pilot.press("pagedown")
        await wait_for(pilot, lambda: (explanation.scroll_y > 0) == longer)
        await pilot.press("pageup")
        await wait_for(pilot, lambda: explanation.scroll_y == 0)
