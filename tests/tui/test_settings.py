"""The settings' window: every change holds at once and is kept."""

from __future__ import annotations

import pytest
from textual.widgets import Static

from tests.tui.fake_journey import FakeJourney
from tests.tui.walking import (
    StillApp,
    Walk,
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
from wizard.kernel import language, settings
from wizard.kernel.settings import Settings, load
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.machine import MachineScreen
from wizard.tui.screens.settings import SettingsScreen
from wizard.tui.screens.welcome import WelcomeScreen
from wizard.tui.widgets.chrome import KeyBar
from wizard.tui.widgets.picker import Picker


async def to_settings(pilot: Walk) -> SettingsScreen:
    await to_welcome(pilot)
    await pilot.press("f2")
    return await screen(pilot, SettingsScreen)


def row(window: SettingsScreen, at: int) -> str:
    return " ".join(str(window.query_one(Picker).get_option_at_index(at).prompt).split())


@pytest.mark.parametrize("walk", [to_welcome, to_machine, to_model, to_advice, to_review, to_build, to_chat])
async def test_they_are_one_key_away_from_every_stage(walk: object) -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        stage = await walk(pilot)  # type: ignore[operator]
        await pilot.press("f2")
        await screen(pilot, SettingsScreen)
        await pilot.press("escape")
        assert await screen(pilot, type(stage)) is stage


async def test_they_are_not_opened_over_a_window() -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        await to_advice(pilot)
        await pilot.press("w")
        form = await screen(pilot, FormScreen)
        await pilot.press("f2", "ctrl+p")
        await pilot.pause()
        assert pilot.app.screen is form


async def test_colours_change_at_once_and_are_kept() -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        window = await to_settings(pilot)
        await pilot.press("down", "right")
        assert row(window, 1) == "▸ Colors ‹ triton-wizard-light ›"
        assert app.theme == "triton-wizard-light" == load().theme == app.settings.theme
        await pilot.press("left", "left")
        assert app.theme not in ("triton-wizard", "triton-wizard-light")
        assert load().theme == app.theme
        await pilot.press("enter")
        assert app.theme == "triton-wizard"


async def test_explanations_and_conversations_are_yes_or_no() -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        window = await to_settings(pilot)
        await pilot.press("down", "down", "right", "down", "enter")
        assert row(window, 2).endswith("‹ yes ›")
        assert row(window, 3).endswith("‹ no ›")
        assert load() == app.settings == Settings(explain=True, keep_chats=False)


async def test_the_language_is_another_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        window = await to_settings(pilot)
        assert "system default" in row(window, 0)
        languages: list[str] = []
        monkeypatch.setattr(WelcomeScreen, "relabel", lambda self: languages.append(language.used()))
        await pilot.press("right", "right")
        assert (language.used(), load().language) == ("ko", "ko")
        await pilot.press("left")
        assert (language.used(), load().language) == ("en", "en")
        await pilot.press("left")
        assert (language.used(), load().language) == ("ko", None)
    assert languages == ["en", "ko", "en", "ko"]


async def test_what_another_wizard_has_set_is_kept_and_shown() -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        window = await to_settings(pilot)
        settings.change(theme="triton-wizard-light", keep_chats=False)  # as a wizard in another terminal does
        await pilot.press("down", "down", "right")
        assert [row(window, at)[-10:] for at in (1, 2, 3)] == ["rd-light ›", "de ‹ yes ›", "ons ‹ no ›"]
        assert app.theme == "triton-wizard-light"
        assert load() == app.settings == Settings(theme="triton-wizard-light", explain=True, keep_chats=False)


async def test_each_row_says_what_it_is_for() -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        window = await to_settings(pilot)
        texts = set()
        for _ in range(5):
            texts.add(str(window.query_one("#about", Static).render()))
            await pilot.press("down")
            await pilot.pause()
        assert len(texts) == 5


async def test_unreadable_settings_are_reported_and_set_aside_by_the_first_change() -> None:
    path = settings.path()
    path.parent.mkdir(parents=True)
    path.write_text("theme = ?")
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        await to_machine(pilot)
        assert [note.title for note in app._notifications] == ["TW-K06"]
        assert app.settings == Settings()
        assert path.read_text() == "theme = ?"
        app.change_settings(explain=True)
        aside = path.with_suffix(".damaged")
        assert aside.read_text() == "theme = ?"
        await wait_for(pilot, lambda: any(str(aside) in note.message for note in app._notifications))
        assert load() == app.settings == Settings(explain=True)


async def test_settings_that_cannot_be_written_hold_until_the_end() -> None:
    folder = settings.path().parent
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("no folder")
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        await to_settings(pilot)
        await pilot.press("down", "right")
        assert app.theme == "triton-wizard-light"
        assert [note.title for note in app._notifications] == ["TW-K07"]


async def test_a_flag_s_language_is_not_changed_by_the_settings_file() -> None:
    settings.change(language="ko")
    language.use("en")  # as ``--language en`` does
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        await to_welcome(pilot)
        assert language.used() == "en"


async def test_the_key_bar_names_them() -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        await to_welcome(pilot)
        bar = pilot.app.screen.query_one(KeyBar)
        assert "F2 Settings" in bar.line(200).plain
    async with StillApp(FakeJourney()).run_test(size=(20, 24)) as pilot:
        machine = await to_machine(pilot)
        assert isinstance(machine, MachineScreen)
        text = machine.query_one(KeyBar).line(18).plain
        assert "F1 Help" in text
        assert "Settings" not in text
