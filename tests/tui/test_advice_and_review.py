"""Stages 3 and 4."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from textual.widgets import Input

from tests.tui.fake_journey import FakeJourney
from tests.tui.values import ADVICE, INFEASIBLE, LLAMA, choice, plan
from tests.tui.walking import StillApp, Walk, screen, to_advice, to_review, wait_for
from wizard.advise.advice import Advice, Constraints
from wizard.advise.ranking import advise as ranked
from wizard.kernel.errors import HostError, InfeasibleError
from wizard.plan.plan import Plan
from wizard.plan.questions import CONSTRAINTS, SETUP
from wizard.probe.shorthand import host
from wizard.texts import report
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.modal import ReaderScreen
from wizard.tui.screens.model import ModelScreen
from wizard.tui.screens.stage import StageScreen
from wizard.tui.widgets.chrome import shown_bindings

Route = Callable[[Walk], Awaitable[StageScreen[Any]]]


def text_of(root: object, *selectors: str) -> str:
    return "\n".join(str(widget.render()) for selector in selectors for widget in root.query(selector))  # type: ignore[attr-defined]


async def test_the_advice_shows_memory_reasons_and_warnings() -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        advice = await to_advice(pilot)
        shown = text_of(advice, "Text", "MemoryBill", "Notes")
        for word in (
            "llama.cpp with Q8_0 weights",
            "140 MiB used of 21.0 GiB",
            "6 KiB × 4,096 tokens",
            "quickest way to serve a GGUF file",
            "knows little beyond its own subject",
            "1 more alternative is not possible",
        ):
            assert word in shown
        await pilot.press("down")
        await pilot.pause()
        shown = text_of(advice, "Text")
        assert "50 tokens/s per user" in shown
        assert "a measurement on 2 cores" in " ".join(shown.split())


async def test_rejections_are_grouped_with_their_fixes_in_words() -> None:
    async with StillApp(gpus()).run_test(size=(120, 40)) as pilot:
        await to_advice(pilot)
        await pilot.press("x")
        shown = text_of(await screen(pilot, ReaderScreen), "Static")
        assert "✗ vLLM" in shown
        assert "→ " in shown
        assert "--" not in shown


async def test_every_number_of_the_choice_is_explained() -> None:
    async with StillApp(gpus()).run_test(size=(120, 40)) as pilot:
        await to_advice(pilot)
        await pilot.press("e")
        shown = text_of(await screen(pilot, ReaderScreen), "Static")
        assert "KV cache per token = 131,072 bytes (128 KiB)\n" in shown
        assert "\n  = 2 × 32 layers × 8 KV heads × 128 × 2 bytes\n" in shown


async def test_numbers_without_a_formula_say_so() -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        await to_advice(pilot)
        await pilot.press("e")
        assert "no formula" in text_of(await screen(pilot, ReaderScreen), "Static")


async def test_what_if_changes_bar_and_speed_at_once_and_is_taken_back() -> None:
    made = gpus()
    async with StillApp(made).run_test(size=(120, 40)) as pilot:
        advice = await to_advice(pilot)
        before = text_of(advice, "Text", "MemoryBill")
        assert "bfloat16" in before
        assert "r" not in {binding.key for binding in shown_bindings(advice)}
        await pilot.press("plus")
        assert made.constraints[-1] == Constraints(users=made.constraints[0].users, quantization="fp8")
        after = text_of(advice, "Text", "MemoryBill")
        assert "with FP8 weights" in after
        assert "FP8*" in text_of(advice, "WhatIf")
        await pilot.press("right", "plus", "minus", "right", "plus", "right", "minus", "right", "plus")
        constraints = made.constraints[-1]
        assert (constraints.quantization, constraints.tp, constraints.kv_dtype) == ("fp8", 1, "fp8")
        assert (made.constraints[0].users, constraints.users) == (None, 8)
        assert constraints.max_len is not None
        assert advice.view.choice is not None
        assert advice.view.choice.max_seq_len == constraints.max_len
        await pilot.press("r")
        assert text_of(advice, "Text", "MemoryBill") == before
        assert made.constraints[-1] == made.constraints[0]


async def test_a_what_if_that_has_no_further_value_says_so_once() -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        advice = await to_advice(pilot)
        before = advice.view
        await pilot.press("plus")
        await wait_for(pilot, lambda: advice.query("Toast"))
        await pilot.press("plus")
        await pilot.pause()
        assert len(app._notifications) == 1
        assert "No further values" in next(iter(app._notifications)).message
        assert advice.view == before


async def test_an_impossible_what_if_is_refused_and_its_remedy_taken() -> None:
    made = gpus()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        advice = await to_advice(pilot)
        await pilot.press("right", "plus", "plus")
        assert made.constraints[-1].tp == 4
        shown = text_of(advice, "Text", "Notes")
        assert "Not possible with the constraints" in shown
        assert "r: reset" in shown
        assert "needs 4 identical GPUs" in " ".join(shown.split())
        assert "→ tp " in shown
        await pilot.press("enter")
        assert pilot.app.screen is advice
        await pilot.press("t")
        assert advice.view.choice is not None
        assert (made.constraints[-1].tp, advice.view.choice.tp) == (2, 2)
        await pilot.press("plus", "r")
        assert advice.view.choice is not None
        assert advice.view.constraints == made.constraints[0]


async def test_no_key_offers_to_undo_a_constraint_of_the_recipe() -> None:
    made = FakeJourney(advice=INFEASIBLE)
    async with StillApp(made, answers={"model": "demo", "users": 2}).run_test(size=(80, 24)) as pilot:
        advice = await to_advice(pilot)
        shown = text_of(advice, "Text")
        assert "Not possible with the constraints" in shown
        assert "r:" not in shown
        assert "r" not in {shown_binding.key for shown_binding in shown_bindings(advice)}


async def test_a_step_beyond_the_last_value_asks_nothing() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        await to_advice(pilot)
        await pilot.press("plus", "minus", "left", "left", "plus")
        assert len(made.constraints) == 1, "a GGUF file has one format, and the context of this model is at its longest"


async def test_an_error_of_a_what_if_is_shown_in_place() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        advice = await to_advice(pilot)
        made.advice = InfeasibleError("TW-A07", "nothing is known of it", "Choose another model.")
        await pilot.press("left", "plus")
        assert "TW-A07" in text_of(advice, "ErrorPanel")
        made.advice = ADVICE
        await pilot.press("r")
        assert advice.view.choices


async def test_the_constraints_form_keeps_what_was_fixed_in_place() -> None:
    made = gpus()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        advice = await to_advice(pilot)
        await pilot.press("right", "plus", "w")
        await screen(pilot, FormScreen)
        await pilot.press("down", "backspace", "8", "enter")
        await wait_for(pilot, lambda: made.constraints[-1].users == 8 and pilot.app.screen is advice)
        assert made.constraints[-1].tp == 2


def gpus() -> FakeJourney:
    """An 8B model on two GPUs, really advised."""
    return FakeJourney(host=host("2xH100"), facts=LLAMA, advice=None)


async def test_a_model_that_does_not_fit_says_why_and_what_would_help() -> None:
    async with StillApp(FakeJourney(advice=INFEASIBLE)).run_test(size=(80, 24)) as pilot:
        advice = await to_advice(pilot)
        shown = text_of(advice, "Text", "Notes")
        assert "cannot be served on this machine" in shown
        assert "It needs 40.2 GiB" in " ".join(shown.split())
        assert "Take a smaller quantisation" in " ".join(shown.split())
        await pilot.press("enter")
        assert pilot.app.screen is advice
        await pilot.press("escape")
        await screen(pilot, ModelScreen)


async def test_an_error_of_the_advice_is_shown_in_place() -> None:
    made = FakeJourney(advice=InfeasibleError("TW-A07", "nothing is known of it", "Choose another model."))
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        advice = await to_advice(pilot)
        assert "TW-A07" in text_of(advice, "ErrorPanel")


async def test_constraints_are_asked_with_the_declared_questions_and_checked() -> None:
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
        await wait_for(pilot, lambda: len(made.constraints) == 2 and pilot.app.screen is advice)
    assert made.constraints[1].users == 8


async def test_escape_leaves_the_constraints_as_they_were() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        advice = await to_advice(pilot)
        await pilot.press("w")
        await screen(pilot, FormScreen)
        await pilot.press("down", "9", "escape")
        await wait_for(pilot, lambda: pilot.app.screen is advice)
    assert len(made.constraints) == 1


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
        assert "downloads estimated at 20 MB/s" in text_of(review, "#cost")


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
    made = FakeJourney(planned=HostError("TW-L01", "there is not a interpreter", "Install Python 3.11."))
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        review = await to_review(pilot)
        assert "TW-L01" in text_of(review, "ErrorPanel")
        assert "Press Esc to return to the recommendations" in text_of(review, "#cost")
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


async def test_all_constraints_are_asked_in_groups_and_none_is_lost() -> None:
    made = gpus()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        advice = await to_advice(pilot)
        await pilot.press("w")
        form = await screen(pilot, FormScreen)
        assert {*form._fields} == {constraint.name for constraint in (*CONSTRAINTS, *SETUP)}
        shown = text_of(form, ".group")
        assert "Use case" in shown
        assert "never overridden; an error if not possible" in shown
        for name, keys in (("tp", "2"), ("gpu_memory_utilization", "0.8"), ("quantization", "fp8")):
            form.query_one(f"#{name}").focus()
            await pilot.press(*keys)
        await pilot.press("enter")
        await wait_for(pilot, lambda: made.constraints[-1].tp == 2 and pilot.app.screen is advice)
        constraints = made.constraints[-1]
        assert (constraints.gpu_memory_utilization, constraints.quantization, constraints.as_published) == (
            0.8,
            "fp8",
            False,
        )
        await pilot.press("w")
        form = await screen(pilot, FormScreen)
        assert form.query_one("#tp", Input).value == "2"


async def test_the_alternative_is_named_with_its_disadvantage() -> None:
    async with StillApp(gpus()).run_test(size=(120, 40)) as pilot:
        advice = await to_advice(pilot)
        assert advice.view.advice is not None
        second = advice.view.advice.choices[1]
        shown = " ".join(text_of(advice, "Notes").split())
        assert f"Alternative: {report.choice_title(second)}" in shown
        assert report.reason(second, report.BEHIND).split(".")[0] in shown
        await pilot.press("down")
        await wait_for(pilot, lambda: "Alternative" not in text_of(advice, "Notes"))


@pytest.mark.parametrize("to_stage", [to_advice, to_review])
async def test_the_key_that_scrolls_is_shown_while_there_is_something_to_scroll(to_stage: Route) -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 60)) as pilot:
        stage = await to_stage(pilot)
        await wait_for(pilot, lambda: "pageup" not in {shown_binding.key for shown_binding in shown_bindings(stage)})
        await pilot.resize_terminal(80, 16)
        await wait_for(pilot, lambda: "pageup" in {shown_binding.key for shown_binding in shown_bindings(stage)})
        await pilot.resize_terminal(80, 60)
        await wait_for(pilot, lambda: "pageup" not in {shown_binding.key for shown_binding in shown_bindings(stage)})


async def test_a_key_leads_from_an_engine_to_what_serves_the_same_model_today() -> None:
    made = gpus()
    async with StillApp(made, answers={"stack": "trtllm-engine", "release": "24.09"}).run_test(size=(120, 40)) as pilot:
        advice = await to_advice(pilot)
        assert advice.view.choice is not None
        assert advice.view.choice.release == "24.09-trtllm-python-py3"
        assert "removed engines in 2026-07" in " ".join(text_of(advice, "Notes").split())
        assert "Without an engine" in {shown_binding.description for shown_binding in shown_bindings(advice)}
        await pilot.press("s")
        assert advice.view.choice.stack == "vllm"
        assert advice.view.choice.release > "25"
        assert (made.constraints[-1].stack, made.constraints[-1].release) == ("vllm", None)
        assert "removed engines" not in text_of(advice, "Notes")
        assert "Without an engine" not in {shown_binding.description for shown_binding in shown_bindings(advice)}
        await pilot.press("r")
        assert advice.view.choice.stack == "trtllm-engine"


async def test_a_draft_model_is_looked_up_without_blocking_the_screen() -> None:
    """The Hub may take seconds to answer, and a lookup that failed is repeated by the next what-if."""
    made = gpus()
    blocked: list[bool] = []

    def answer(constraints: Constraints) -> Advice:
        if constraints.draft:
            blocked.append(threading.current_thread() is threading.main_thread())
        return ranked(host("2xH100"), LLAMA, replace(constraints, draft=None))

    made.advice = answer
    async with StillApp(made).run_test(size=(120, 40)) as pilot:
        advice = await to_advice(pilot)
        advice.view = replace(advice.view, constraints=replace(advice.view.constraints, draft="me/eagle3"))
        await pilot.press("plus")
        await wait_for(pilot, lambda: bool(blocked))
        assert blocked == [False]
        await wait_for(pilot, lambda: "with FP8 weights" in text_of(advice, "Text", "MemoryBill"))
