"""The Pareto front on the screen: readable in a small terminal, each point with its load, and one is a constraint."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from tests.tui.fake_journey import FakeJourney
from tests.tui.test_advice_and_review import text_of
from tests.tui.values import LLAMA
from tests.tui.walking import StillApp, screen, to_advice, wait_for
from wizard.kernel.errors import UsageError
from wizard.probe.shorthand import host
from wizard.tui.screens.pareto import ParetoScreen, Plot
from wizard.tui.widgets.picker import Picker


def on(gpus: str, **changes: Any) -> FakeJourney:
    return FakeJourney(host=host(gpus), facts=replace(LLAMA, **changes), advice=None)


async def shown(pilot: Any) -> ParetoScreen:
    await to_advice(pilot)
    await pilot.press("p")
    window = await screen(pilot, ParetoScreen)
    await wait_for(pilot, lambda: window._front)
    await pilot.pause()
    return window


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_plot_points_and_load_are_visible(size: tuple[int, int]) -> None:
    async with StillApp(on("2xL4")).run_test(size=size) as pilot:
        window = await shown(pilot)
        text = text_of(window, "Static", "Plot")
        assert "1,024 tokens in and 256 out" in text
        assert "tokens/s each" in text
        assert window.query_one(Plot).region.height == 10
        picker = window.query_one(Picker)
        assert picker.option_count == len(window._front.points)  # type: ignore[union-attr]
        assert picker.region.height >= 3
        assert window.region.contains_region(picker.region)


async def test_a_chosen_point_becomes_the_constraints() -> None:
    async with StillApp(on("2xL4")).run_test(size=(80, 24)) as pilot:
        window = await shown(pilot)
        await pilot.press("down", "enter")
        await wait_for(pilot, lambda: pilot.app.screen is not window)
        advice: Any = pilot.app.screen
        point = window._front.points[1]  # type: ignore[union-attr]
        await wait_for(pilot, lambda: advice.view.constraints.users == point.users)
        assert advice.view.choice.speed == point.choice.speed
        assert advice.view.choice.stack == point.choice.stack


async def test_closing_it_changes_nothing() -> None:
    async with StillApp(on("2xL4")).run_test(size=(80, 24)) as pilot:
        window = await shown(pilot)
        await pilot.press("escape")
        await wait_for(pilot, lambda: pilot.app.screen is not window)
        assert pilot.app.screen.view.constraints == pilot.app.screen.view.given  # type: ignore[attr-defined]


async def test_without_a_known_speed_there_is_no_point_to_choose() -> None:
    async with StillApp(on("1xL4", unknown={"speed": "its names are odd"})).run_test(size=(80, 24)) as pilot:
        window = await shown(pilot)
        assert "its names are odd" in text_of(window, "Static")
        await pilot.press("enter")
        await pilot.pause()
        assert pilot.app.screen is window


async def test_an_error_is_shown_and_the_window_closes() -> None:
    def fail(*_: object, **_named: object) -> Any:
        raise UsageError("TW-D02", "a profile is damaged", "Repair it.")

    journey = on("1xL4")
    journey.pareto = fail  # type: ignore[method-assign]
    async with StillApp(journey).run_test(size=(80, 24)) as pilot:
        await to_advice(pilot)
        await pilot.press("p")
        window = await screen(pilot, ParetoScreen)
        await wait_for(pilot, lambda: "a profile is damaged" in text_of(window, "ErrorPanel", "ErrorPanel Static"))
        await pilot.press("escape")
        await wait_for(pilot, lambda: pilot.app.screen is not window)
        await asyncio.sleep(0)


async def test_the_list_of_setups_says_the_length_of_requests() -> None:
    async with StillApp(on("2xL4")).run_test(size=(80, 24)) as pilot:
        advice = await to_advice(pilot)
        assert "1,024 tokens in and 256 out" in text_of(advice, "#load")
