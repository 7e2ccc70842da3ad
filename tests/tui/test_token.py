"""A gated model: who is asked for a token, who is not, and what becomes of it."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from tests.tui.fake_journey import FakeJourney
from tests.tui.values import FACTS
from tests.tui.walking import StillApp, screen, to_machine, wait_for
from wizard.tui.screens.advice import AdviceScreen
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.model import ModelScreen


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a test sets is unset after it."""
    monkeypatch.setenv("HF_TOKEN", "")
    monkeypatch.delenv("HF_TOKEN")


async def to_form(pilot: Pilot[Any]) -> FormScreen:
    await to_machine(pilot)
    await pilot.press("enter")
    return await screen(pilot, FormScreen)


async def test_who_may_not_read_it_is_asked_for_a_token_unseen_and_it_is_read_again() -> None:
    made = FakeJourney(token="hf_good")
    app = StillApp(made, answers={"model": "a/b"})
    async with app.run_test(size=(80, 24)) as pilot:
        form = await to_form(pilot)
        assert form.query_one(Input).password
        await pilot.press(*"hf_good")
        await pilot.pause()
        assert "hf_good" not in app.export_screenshot()
        await pilot.press("enter")
        await screen(pilot, AdviceScreen)
        assert os.environ["HF_TOKEN"] == "hf_good"
    assert made.read == ["a/b", "a/b"]


@pytest.mark.parametrize("before", [None, "hf_mine"])
async def test_a_token_that_does_not_help_is_forgotten_and_the_error_shown(
    before: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if before:
        monkeypatch.setenv("HF_TOKEN", before)
    made = FakeJourney(token="hf_good")
    async with StillApp(made, answers={"model": "a/b"}).run_test(size=(80, 24)) as pilot:
        await to_form(pilot)
        await pilot.press(*"hf_bad", "enter")
        model = await screen(pilot, ModelScreen)
        await wait_for(pilot, lambda: model.view.error and not model.view.reading)
        await pilot.pause()
        assert "TW-M12" in str(model.query_one("ErrorPanel").render())
        assert os.environ.get("HF_TOKEN") == before
        await pilot.press("enter")
        await screen(pilot, FormScreen)


async def test_escape_shows_what_to_do_instead() -> None:
    made = FakeJourney(token="hf_good")
    async with StillApp(made, answers={"model": "a/b"}).run_test(size=(80, 24)) as pilot:
        await to_form(pilot)
        await pilot.press("escape")
        model = await screen(pilot, ModelScreen)
        assert "Accept its licence" in str(model.query_one("ErrorPanel").render())
    assert made.read == ["a/b"]


async def test_who_may_read_a_gated_model_is_not_asked() -> None:
    made = FakeJourney(facts=replace(FACTS, gated=True))
    async with StillApp(made, answers={"model": "a/b"}).run_test(size=(80, 24)) as pilot:
        await to_machine(pilot)
        await pilot.press("enter")
        await screen(pilot, AdviceScreen)
    assert made.read == ["a/b"]
