"""The review's commands in the clipboard, and the plan in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from tests.tui.fake_journey import FakeJourney
from tests.tui.values import plan
from tests.tui.walking import StillApp, screen, to_review, wait_for
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.modal import AskScreen
from wizard.tui.screens.review import ReviewScreen
from wizard.tui.widgets.chrome import shown_bindings


def toasts(pilot: Pilot[Any]) -> str:
    return "\n".join(f"{notification.title}: {notification.message}" for notification in pilot.app._notifications)


async def to_form(pilot: Pilot[Any], *keys: str) -> FormScreen:
    await to_review(pilot)
    await pilot.press("x")
    await screen(pilot, AskScreen)
    await pilot.press(*keys, "enter")
    return await screen(pilot, FormScreen)


async def test_the_commands_of_a_step_are_copied_as_a_shell_takes_them() -> None:
    async with StillApp(FakeJourney()).run_test(size=(40, 15)) as pilot:
        review = await to_review(pilot)
        assert "c" not in {shown_binding.key for shown_binding in shown_bindings(review)}
        for step in plan().steps[:3]:
            await pilot.press("down", "c")
            assert pilot.app.clipboard == "\n".join(action.shell() for action in step.actions)


@pytest.mark.parametrize(
    ("keys", "name", "words"),
    [
        ((), "demo.sh", "#!/usr/bin/env bash"),
        (("down",), "demo.plan.json", '"workspace"'),
        (("down", "down"), "demo.answers.toml", 'name = "demo"'),
    ],
)
async def test_the_plan_is_written_under_the_proposed_name(keys: tuple[str, ...], name: str, words: str) -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        await to_form(pilot, *keys)
        await pilot.press("enter")
        await wait_for(pilot, lambda: "Saved" in toasts(pilot))
        assert isinstance(pilot.app.screen, ReviewScreen)
    assert words in Path(name).read_text(encoding="utf-8")


async def test_a_file_that_is_there_is_written_over_only_after_a_question() -> None:
    path = Path("demo.sh")
    path.write_text("precious", encoding="utf-8")
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        await to_form(pilot)
        await pilot.press("enter")
        await screen(pilot, AskScreen)
        await pilot.press("enter")  # the careful answer is the first
        await screen(pilot, ReviewScreen)
        assert path.read_text(encoding="utf-8") == "precious"
        await pilot.press("x")
        await screen(pilot, AskScreen)
        await pilot.press("enter")
        await screen(pilot, FormScreen)
        await pilot.press("enter")
        await screen(pilot, AskScreen)
        await pilot.press("down", "enter")
        await wait_for(pilot, lambda: "Saved" in toasts(pilot))
    assert path.read_text(encoding="utf-8").startswith("#!")


async def test_a_missing_folder_is_reported_and_the_input_can_be_corrected() -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        form = await to_form(pilot)
        await pilot.press("ctrl+u", *"no/such.sh", "enter")
        await wait_for(pilot, lambda: "TW-U48" in toasts(pilot))
        await wait_for(pilot, lambda: pilot.app.screen is not form)
        again = await screen(pilot, FormScreen)
        assert again.query_one(Input).value == "no/such.sh"
        await pilot.press("home", "delete", "delete", "delete", "enter")
        await wait_for(pilot, lambda: "Saved" in toasts(pilot))
        await screen(pilot, ReviewScreen)
    assert Path("such.sh").is_file()


async def test_escape_anywhere_writes_nothing() -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        await to_form(pilot)
        await pilot.press("escape")
        await screen(pilot, ReviewScreen)
        await pilot.press("x")
        await screen(pilot, AskScreen)
        await pilot.press("escape")
        await screen(pilot, ReviewScreen)
    assert list(Path().iterdir()) == []
