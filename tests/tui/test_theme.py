"""The wizard's own colours can be read; the high contrast as WCAG 2.2 asks at level AAA (success criterion 1.4.6)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.color import Color
from textual.theme import Theme

from tests.tui.fake_journey import FakeJourney
from tests.tui.values import GPU_HOST
from tests.tui.walking import (
    StillApp,
    screen,
    to_advice,
    to_build,
    to_chat,
    to_machine,
    to_model,
    to_review,
    to_welcome,
)
from wizard.kernel import settings
from wizard.tui.screens.settings import SettingsScreen
from wizard.tui.theme import CONTRAST, LIGHT, THEMES, WIZARD
from wizard.tui.widgets.picker import Picker

TEXTS = ("foreground", "text-muted", "primary", "secondary", "accent", "warning", "error", "success")
"""Variables that the screens write with."""
GROUNDS = ("background", "surface", "panel", "block-cursor-background", "block-cursor-blurred-background")
"""Variables that the screens write on."""
TINTS = (("panel", "primary", 0.35), ("surface", "primary", 0.25), ("background", "error", 0.12))
"""Grounds that are mixed: the present stage, a field with the focus, an error; only `foreground` stands on them."""


def variables(theme: Theme) -> dict[str, str]:
    return theme.to_color_system().generate() | theme.variables


def luminance(color: Color) -> float:
    """Relative luminance (WCAG 2.2)."""
    parts = [part / 255 for part in color.rgb]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(color: Color, other: Color) -> float:
    low, high = sorted((luminance(color), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_ratio_is_that_of_the_standard() -> None:
    assert contrast(Color.parse("#000000"), Color.parse("#ffffff")) == pytest.approx(21)
    assert contrast(Color.parse("#777777"), Color.parse("#ffffff")) == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize(
    ("theme", "least"), [(WIZARD, 4.5), (LIGHT, 4.5), (CONTRAST, 7.0)], ids=lambda parameter: str(parameter)[:30]
)
def test_every_text_can_be_read_on_every_ground(theme: Theme, least: float) -> None:
    colors = variables(theme)
    ratios = {
        (text, ground): round(contrast(Color.parse(colors[text]), Color.parse(colors[ground])), 2)
        for text in TEXTS
        for ground in GROUNDS
    }
    for ground, tint, part in TINTS:
        mixed = Color.parse(colors[ground]).blend(Color.parse(colors[tint]), part, alpha=1)
        ratios["foreground", f"{ground} with {tint}"] = round(contrast(Color.parse(colors["foreground"]), mixed), 2)
    assert {pair: ratio for pair, ratio in ratios.items() if ratio < least} == {}


@pytest.mark.parametrize("theme", [theme.name for theme in THEMES])
async def test_the_theme_of_the_settings_is_put_on(theme: str) -> None:
    settings.change(theme=theme)
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        await to_machine(pilot)
        assert app.theme == theme
        assert not app._notifications


async def test_an_unknown_theme_is_reported() -> None:
    settings.change(theme="no-such [/]")
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        await to_machine(pilot)
        assert app.theme == WIZARD.name
        assert ["no-such [/]" in note.message for note in app._notifications] == [True]


async def test_what_is_below_a_window_is_seen_with_every_theme() -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        await to_machine(pilot)
        await pilot.press("f2")
        window = await screen(pilot, SettingsScreen)
        for theme in app.available_themes:
            app.theme = theme
            await pilot.pause()
            assert window.styles.background.a < 1, theme


def unreadable(app: StillApp, least: float) -> dict[str, float]:
    """Texts on the screen, or in the window over it, and how little they contrast with what they stand on."""
    shown = next(iter(app.screen.query(".window")), app.screen).region
    ratios: dict[str, float] = {}
    for strip in app.screen._compositor.render_strips()[shown.y : shown.bottom]:
        for text, style, _control in strip.crop(shown.x, shown.right):
            if style is None or not any(map(str.isalnum, text)):
                continue  # bars and frames
            pair = [Color.from_rich_color(color) for color in (style.color, style.bgcolor) if color is not None]
            ratio = contrast(*pair) if len(pair) == 2 and not style.dim else 0.0
            if ratio < least:
                ratios[text.strip()] = round(ratio, 2)
    return ratios


@pytest.mark.parametrize(
    ("walk", "keys"),
    [
        (to_model, []),
        (to_advice, ["w"]),
        (to_review, ["n"]),
        (to_build, ["slash", "f"]),
        (to_chat, []),
        (to_chat, ["f4"]),
        (to_welcome, ["f2"]),
        (to_welcome, ["f1"]),
    ],
)
async def test_what_is_on_the_screens_can_be_read(walk: Callable[[Any], Awaitable[object]], keys: list[str]) -> None:
    app = StillApp(FakeJourney(host=GPU_HOST))
    async with app.run_test(size=(120, 40)) as pilot:
        await walk(pilot)
        for key in keys:
            await pilot.press(key)
        await pilot.pause()
        for theme, least in ((CONTRAST, 7.0), (WIZARD, 4.5), (LIGHT, 4.5)):
            app.theme = theme.name
            await pilot.pause()
            assert unreadable(app, least) == {}, theme.name
        app.exit("")


@pytest.mark.parametrize("theme", ["ansi-dark", "ansi-light"])
async def test_every_word_of_the_chosen_row_is_seen_with_the_terminal_s_own_colours(theme: str) -> None:
    """The terminal's own foreground on its white or blue may be white on white: only its two own colours are a pair."""
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        welcome = await to_welcome(pilot)
        app.theme = theme
        await pilot.pause()
        rows = welcome.query_one(Picker).region
        grounds = {}
        for strip in welcome._compositor.render_strips()[rows.y : rows.y + 2]:
            for text, style, _control in strip:
                if style is not None and style.bgcolor is not None and any(map(str.isalnum, text)):
                    grounds[text.strip()] = style.bgcolor.is_default
        assert len(grounds) >= 2
        assert all(grounds.values()), grounds
