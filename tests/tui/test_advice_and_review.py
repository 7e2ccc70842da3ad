"""Stages 3 and 4."""

from __future__ import annotations

from dataclasses import replace

from tests.tui.fake_journey import INFEASIBLE, FakeJourney, choice, plan
from tests.tui.walking import StillApp, screen, to_advice, to_review, wait_for
from wizard.kernel.errors import HostError, InfeasibleError
from wizard.plan.plan import Plan
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.model import ModelScreen


def text_of(found: object, *selectors: str) -> str:
    return "\n".join(str(widget.render()) for one in selectors for widget in found.query(one))  # type: ignore[attr-defined]


async def test_the_advice_shows_memory_reasons_warnings_and_what_does_not_work() -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        advice = await to_advice(pilot)
        shown = text_of(advice, "#headline", "MemoryBill", "Facts Static")
        for word in (
            "llama.cpp serves Q8_0 weights",
            "140 MiB of 21.0 GiB",
            "6 KiB × 4,096 tokens",
            "quickest way to serve a GGUF file",
            "knows little beyond its own subject",
            "vLLM needs an NVIDIA GPU",
            "→ Use a machine with an NVIDIA GPU",
        ):
            assert word in shown
        await pilot.press("down")
        await pilot.pause()
        shown = text_of(advice, "#headline")
        assert "50 tokens/s for each person" in shown
        assert "a measurement on 2 cores" in shown


async def test_a_model_that_does_not_fit_says_why_and_what_would_help() -> None:
    async with StillApp(FakeJourney(advice=INFEASIBLE)).run_test(size=(80, 24)) as pilot:
        advice = await to_advice(pilot)
        shown = text_of(advice, "#headline", "Facts Static")
        assert "cannot be served here" in shown
        assert "It needs 40.2 GiB" in shown
        assert "Take a smaller quantisation" in shown
        await pilot.press("enter")
        assert pilot.app.screen is advice
        await pilot.press("escape")
        await screen(pilot, ModelScreen)


async def test_an_error_of_the_advice_is_shown_in_place() -> None:
    made = FakeJourney(advice=InfeasibleError("TW-A07", "nothing is known of it", "Choose another model."))
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        advice = await to_advice(pilot)
        assert "TW-A07" in text_of(advice, "ErrorPanel")


async def test_wishes_are_asked_with_the_declared_questions_and_checked() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        advice = await to_advice(pilot)
        await pilot.press("w")
        form = await screen(pilot, FormScreen)
        await pilot.press("down", "backspace", "0", "enter")
        await pilot.pause()
        await pilot.pause()
        assert "users cannot be 0" in text_of(form, "#about")
        assert form.focused is form.query_one("#users")
        await pilot.press("backspace", "8", "enter")
        await wait_for(pilot, lambda: len(made.wished) == 2 and pilot.app.screen is advice)
    assert made.wished[1].users == 8


async def test_escape_leaves_the_wishes_as_they_were() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        advice = await to_advice(pilot)
        await pilot.press("w")
        await screen(pilot, FormScreen)
        await pilot.press("down", "9", "escape")
        await wait_for(pilot, lambda: pilot.app.screen is advice)
    assert len(made.wished) == 1


async def test_the_review_shows_each_step_with_its_reason_and_its_exact_commands() -> None:
    made = plan()
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        review = await to_review(pilot)
        overview = text_of(review, "#step")
        assert "Port 8000 is in use" in overview
        assert made.workspace in overview
        for step in made.steps:
            await pilot.press("down")
            await pilot.pause()
            shown = text_of(review, "#step")
            assert step.why in shown
            for action in step.actions:
                assert action.shell() in shown
        assert "180 MiB to download" in text_of(review, "#cost")


async def test_page_down_scrolls_the_commands_while_the_list_keeps_the_cursor() -> None:
    async with StillApp(FakeJourney(planned=_long())).run_test(size=(80, 24)) as pilot:
        review = await to_review(pilot)
        await pilot.press("down")
        await pilot.pause()
        details = review.query_one("#details")
        assert details.max_scroll_y > 0
        await pilot.press("pagedown")
        await pilot.pause()
        assert details.scroll_y > 0
        assert review.view.at == 1


async def test_a_plan_that_cannot_be_made_is_an_error_in_place() -> None:
    made = FakeJourney(planned=HostError("TW-L01", "there is no interpreter", "Install Python 3.11."))
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        review = await to_review(pilot)
        assert "TW-L01" in text_of(review, "ErrorPanel")
        await pilot.press("enter")
        assert pilot.app.screen is review


async def test_name_and_port_can_be_chosen() -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        review = await to_review(pilot)
        await pilot.press("n")
        form = await screen(pilot, FormScreen)
        await pilot.press(*"My Name", "enter")
        await pilot.pause()
        await pilot.pause()
        assert "name cannot be" in text_of(form, "#about")
        await pilot.press("ctrl+u", *"mine", "enter")
        await wait_for(pilot, lambda: review.view.plan and review.view.plan.name == "mine")
        assert review.view.plan is not None
        assert review.view.plan.choice == choice()


def _long() -> Plan:
    made = plan()
    first = replace(made.steps[0], why="A reason. " * 200)
    return replace(made, steps=(first, *made.steps[1:]))
