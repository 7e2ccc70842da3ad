"""The question whether an engine that is there serves, between the model and the advice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.advise.worlds import VENV
from tests.tui.fake_journey import FakeJourney
from tests.tui.values import LLAMA
from tests.tui.walking import StillApp, screen, to_model, wait_for
from tests.values import GGUF
from wizard.probe.shorthand import host
from wizard.tui.screens.advice import AdviceScreen
from wizard.tui.screens.modal import AskScreen
from wizard.tui.screens.model import ModelScreen


@pytest.mark.parametrize(("keys", "taken"), [(("enter",), VENV.path), (("down", "enter"), None), (("escape",), None)])
async def test_it_is_asked_once_and_the_advice_follows(keys: tuple[str, ...], taken: str | None) -> None:
    made = FakeJourney(host=replace(host("2xH100"), engine_pythons=(VENV,)), facts=LLAMA, advice=None)
    app = StillApp(made)
    async with app.run_test(size=(100, 40)) as pilot:
        await to_model(pilot)
        await pilot.press("enter")
        await screen(pilot, AskScreen)
        await pilot.press(*keys)
        advice = await screen(pilot, AdviceScreen)
        await wait_for(pilot, lambda: advice.view.advice or advice.view.error)
        assert advice.view.constraints.engine_python == taken
        assert {choice.engine_python for choice in advice.view.choices} == {taken}


@pytest.mark.parametrize("same", [True, False])
async def test_the_answer_is_for_its_model_only(same: bool) -> None:
    made = FakeJourney(host=replace(host("2xH100"), engine_pythons=(VENV,)), facts=LLAMA, advice=None)
    app = StillApp(made)
    async with app.run_test(size=(100, 40)) as pilot:
        await to_model(pilot)
        await pilot.press("enter")
        await screen(pilot, AskScreen)
        await pilot.press("enter")
        advice = await screen(pilot, AdviceScreen)
        await wait_for(pilot, lambda: advice.view.advice or advice.view.error)
        assert "engine_python" not in app.answers
        made.facts = LLAMA if same else GGUF
        await pilot.press("escape")
        models = await screen(pilot, ModelScreen)
        await wait_for(pilot, lambda: models.view.suggestions is not None and not models.view.looking)
        await pilot.pause()
        await pilot.press(*(("enter",) if same else ("down", "enter")))
        again = await screen(pilot, AdviceScreen)
        await wait_for(pilot, lambda: again.view.advice or again.view.error)
        assert again.view.constraints.engine_python == (VENV.path if same else None)


async def test_an_answer_given_before_is_not_asked_for_again() -> None:
    made = FakeJourney(host=replace(host("2xH100"), engine_pythons=(VENV,)), facts=LLAMA, advice=None)
    async with StillApp(made, answers={"engine_python": "none"}).run_test(size=(100, 40)) as pilot:
        await to_model(pilot)
        await pilot.press("enter")
        advice = await screen(pilot, AdviceScreen)
        await wait_for(pilot, lambda: advice.view.advice or advice.view.error)
        assert advice.view.constraints.engine_python is None
