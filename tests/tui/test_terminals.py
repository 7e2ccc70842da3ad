"""Small terminals, no colours, other themes."""

from __future__ import annotations

import re
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.e2e.terminal import Terminal
from tests.tui.fake_journey import FakeJourney
from tests.tui.values import events
from tests.tui.walking import (
    StillApp,
    answered,
    asked,
    screen,
    to_advice,
    to_build,
    to_chat,
    to_machine,
    to_model,
    to_review,
    wait_for,
)
from wizard.kernel.errors import ServerError
from wizard.run.events import Progress
from wizard.tui.screens.modal import AskScreen
from wizard.tui.widgets.bill import MemoryBill
from wizard.tui.widgets.picker import Picker
from wizard.tui.widgets.progress import ProgressLines
from wizard.tui.widgets.prompt import Prompt

FRAME = {"ff5f57", "febc2e", "28c840", "c5c8c6"}
"""Colours of the window that Rich draws around every picture: its buttons and its title."""
HELD = ["env", "COLUMNS=40", "LINES=30", sys.executable, "-m", "wizard", "--offline"]
"""The program below another that has told the size of a terminal that was there once."""
WALKS = [to_machine, to_model, to_advice, to_review, to_build, to_chat]


@pytest.mark.parametrize("size", [(40, 15), (20, 6), (1, 1), (300, 100)])
async def test_the_whole_journey_works_in_a_terminal_of_any_size(size: tuple[int, int]) -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=size) as pilot:
        chat = await to_chat(pilot)
        await pilot.press(*"Q", "enter")
        await answered(pilot, chat)
    assert chat.view.texts("assistant") == [made.answer]


def test_a_size_from_the_environment_is_ignored() -> None:
    terminal = Terminal(HELD)
    try:
        terminal.shows("◆", "○ Machine", "○ Chat", "Quit")
        assert "◆" in terminal.screen.display[0]
        terminal.child.setwinsize(24, 60)
        terminal.until(lambda: "○ Machine" not in terminal.text)
    finally:
        terminal.child.close(force=True)


async def test_in_40_by_15_the_field_is_in_sight_and_the_whole_machine_can_be_read() -> None:
    async with StillApp(FakeJourney()).run_test(size=(40, 15)) as pilot:
        machine = await to_machine(pilot)
        stage = machine.query_one("#stage")
        assert stage.max_scroll_y > 0
        await pilot.press("down")
        await wait_for(pilot, lambda: stage.scroll_y > 0)
        await pilot.press("enter")
    async with StillApp(FakeJourney()).run_test(size=(40, 15)) as pilot:
        chat = await to_chat(pilot)
        prompt = chat.query_one(Prompt)
        assert chat.region.contains_region(prompt.region)
        assert prompt.size.height >= 1


async def test_in_40_by_15_the_bill_and_the_progress_are_wrapped_and_not_cut() -> None:
    async with StillApp(FakeJourney()).run_test(size=(40, 15)) as pilot:
        bill = (await to_advice(pilot)).query_one(MemoryBill)
        await wait_for(pilot, lambda: bill.size.width)
        await pilot.pause()
        shown = str(bill.render())
        assert "…" not in shown
        assert "6 KiB × 4,096 tokens of conversation" in " ".join(shown.split())
        assert bill.size.height == len(shown.splitlines())
    made = FakeJourney(hold_run=True, script=lambda plan: events(plan, until="model"))
    async with StillApp(made).run_test(size=(40, 15)) as pilot:
        lines = (await to_build(pilot)).query_one(ProgressLines)
        lines.show(Progress("model", 0.5, 3600.0, "downloading 123 MiB of 5.2 GiB", 0.0), 60.0, stopping=False)
        await wait_for(pilot, lambda: lines.size.height == 3)
        assert "downloading 123 MiB of 5.2 GiB" in " ".join(str(lines.render()).split())


async def test_in_40_by_15_an_error_in_the_chat_is_in_sight_and_so_is_the_field() -> None:
    made = FakeJourney(chat_error=ServerError("TW-C03", "the server went away", "Start it again."))
    async with StillApp(made).run_test(size=(40, 15)) as pilot:
        chat = await to_chat(pilot)
        await asked(pilot, "Q", chat)
        stage, panel, prompt = chat.query_one("#stage"), chat.query_one("ErrorPanel"), chat.query_one(Prompt)
        await wait_for(pilot, lambda: panel.region.height and stage.region.contains_region(panel.region))
        await wait_for(pilot, lambda: stage.region.contains_region(prompt.region))
        assert prompt.region.y >= panel.region.bottom


@pytest.mark.parametrize("walk", WALKS)
async def test_a_terminal_may_change_its_size_at_any_time(walk: Callable[[Pilot[Any]], Awaitable[Any]]) -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=(120, 40)) as pilot:
        await walk(pilot)
        for size in ((40, 15), (80, 24), (10, 3), (120, 40)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
        assert app.is_running


async def test_no_color_is_obeyed_and_states_have_marks_and_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        await to_machine(pilot)
        picture = app.export_screenshot()
        assert app.no_color
        assert "Ready" in picture
        colours = {*re.findall("#([0-9a-f]{6})", picture)} - FRAME
        assert len(colours) > 2
        assert {colour for colour in colours if len({colour[:2], colour[2:4], colour[4:]}) != 1} == set()


async def test_an_empty_no_color_asks_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "")
    assert not StillApp(FakeJourney()).no_color


@pytest.mark.parametrize("theme", ["textual-light", "ansi-dark", "dracula"])
async def test_any_theme_can_be_chosen(theme: str) -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        await to_chat(pilot)
        app.theme = theme
        await pilot.pause()
        assert app.theme == theme


async def test_the_command_palette_opens_and_closes() -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        machine = await to_machine(pilot)
        await pilot.press("ctrl+p")
        await wait_for(pilot, lambda: app.screen is not machine)
        await pilot.press("escape")
        await wait_for(pilot, lambda: app.screen is machine)


async def test_a_question_in_a_tiny_terminal_shows_its_answers() -> None:
    async with StillApp(FakeJourney()).run_test(size=(20, 8)) as pilot:
        await to_chat(pilot)
        await pilot.press("ctrl+q")
        asked = await screen(pilot, AskScreen)
        picker = asked.query_one(Picker)
        await wait_for(pilot, lambda: picker.region.height >= 2)
        assert asked.region.contains_region(picker.region)
        await pilot.press("down")
        assert picker.highlighted == 1
