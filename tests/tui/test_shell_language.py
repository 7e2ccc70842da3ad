"""The welcome, settings, keys, help and commands say everything through the catalog, and anew where they can."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from textual.command import CommandPalette
from textual.pilot import Pilot

from tests import pseudo
from tests.tui.fake_journey import FakeJourney
from tests.tui.values import CPU_HOST, ENDPOINT, GPU_HOST, NO_PYTHON, SUGGESTIONS
from tests.tui.walking import StillApp, choose, screen, to_welcome, wait_for
from wizard.kernel.language import LANGUAGES, tr
from wizard.tui.keys import declared
from wizard.tui.palette import commands
from wizard.tui.screens.keys import KeysScreen, PressScreen
from wizard.tui.screens.modal import ReaderScreen
from wizard.tui.screens.recipes import RecipesScreen
from wizard.tui.screens.settings import SettingsScreen
from wizard.tui.widgets.chrome import JourneyBar, KeyBar
from wizard.tui.widgets.picker import Picker

DATA = (
    *("triton-wizard", "Esc", "PgUp/Dn", "PgUp", "PgDn", "Tab", "Home", "End", "Space", "Del"),
    *LANGUAGES.values(),
    *(CPU_HOST.cpu.model or "", "Python", "docker", *(gpu.name for gpu in GPU_HOST.gpus)),
    *(suggestion.title for suggestion in SUGGESTIONS),
    *("apache", "Offline demo", "demo"),
)
"""Names of keys, languages, devices and models."""


def words(app: StillApp) -> list[str]:
    """What is on the screen, or in the window over it, and was not said through the catalog."""
    shown = next(iter(app.screen.query(".window")), app.screen).region
    strips = app.screen._compositor.render_strips()[shown.y : shown.bottom]
    lines = [strip.crop(shown.x, shown.right).text for strip in strips]
    return pseudo.escaped("\n".join(lines), DATA)


async def recipes(pilot: Pilot[Any]) -> None:
    await to_welcome(pilot)
    await choose(pilot, "recipes")
    recipes_screen = await screen(pilot, RecipesScreen)
    await wait_for(pilot, lambda: recipes_screen.query_one(Picker).option_count)
    await pilot.pause()


async def settings(pilot: Pilot[Any]) -> None:
    await to_welcome(pilot)
    await pilot.press("f2")
    await screen(pilot, SettingsScreen)


async def keys(pilot: Pilot[Any]) -> None:
    await settings(pilot)
    await pilot.press("up", "enter")
    await screen(pilot, KeysScreen)


async def press(pilot: Pilot[Any]) -> None:
    await keys(pilot)
    await pilot.press("enter")
    await screen(pilot, PressScreen)


async def help(pilot: Pilot[Any]) -> None:
    await to_welcome(pilot)
    await pilot.press("f1")
    await screen(pilot, ReaderScreen)


WALKS: list[tuple[FakeJourney, Callable[[Pilot[Any]], Awaitable[Any]]]] = [
    (FakeJourney(), to_welcome),
    (FakeJourney(host=GPU_HOST, running=(ENDPOINT,)), to_welcome),
    (FakeJourney(host=NO_PYTHON, offered=()), to_welcome),
    (FakeJourney(host=replace(GPU_HOST, source="4xH100")), to_welcome),
    (FakeJourney(), recipes),
    (FakeJourney(), settings),
    (FakeJourney(), keys),
    (FakeJourney(), press),
    (FakeJourney(), help),
]


@pytest.mark.parametrize(("made", "walk"), WALKS)
async def test_every_text_is_in_the_language(made: FakeJourney, walk: Callable[[Pilot[Any]], Awaitable[Any]]) -> None:
    with pseudo.spoken():
        app = StillApp(made)
        async with app.run_test(size=(200, 60)) as pilot:
            await walk(pilot)
            await pilot.pause()
            assert words(app) == []


async def test_the_commands_are_in_the_language() -> None:
    with pseudo.spoken():
        app = StillApp(FakeJourney())
        async with app.run_test(size=(200, 60)) as pilot:
            welcome = await to_welcome(pilot)
            for command in commands(app, welcome):
                assert pseudo.escaped(f"{command.title}\n{command.help}", (*DATA, *app.available_themes)) == []
            await pilot.press("ctrl+p")
            palette = await screen(pilot, CommandPalette)
            assert tr("Search for a command") in str(palette.query_one("CommandInput").placeholder)  # type: ignore[attr-defined]


def test_every_place_and_key_is_in_the_language() -> None:
    with pseudo.spoken():
        for declaration in declared():
            assert pseudo.escaped(declaration.where) == []
            assert pseudo.escaped(tr(declaration.binding.description)) == []


async def test_another_language_is_seen_at_once_on_the_welcome_and_in_the_bars() -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=(200, 60)) as pilot:
        welcome = await to_welcome(pilot)
        with pseudo.spoken():
            app.change_settings(language="ko")  # which the pseudo-language is spoken for
            await pilot.pause()
            assert pseudo.OPEN in str(welcome.query_one(JourneyBar).render())
            assert pseudo.OPEN in str(welcome.query_one(KeyBar).render())
            assert words(app) == []
