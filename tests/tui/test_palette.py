"""The command palette: what the present screen can do, and what can be set."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.command import CommandPalette, Hit

from tests.tui.fake_journey import FakeJourney
from tests.tui.values import ENDPOINT
from tests.tui.walking import StillApp, Walk, asked, screen, to_machine, to_model, to_welcome, wait_for
from wizard.chat.ask import unreachable
from wizard.chat.conversation import Conversation
from wizard.kernel import language
from wizard.kernel.settings import load
from wizard.tui.keys import declared
from wizard.tui.opening import Opening
from wizard.tui.palette import Command, Commands, commands
from wizard.tui.palette_words import WORDS
from wizard.tui.screens.chat import ChatScreen
from wizard.tui.screens.modal import ReaderScreen


def offered(app: StillApp) -> dict[str, Command]:
    return {command.title: command for command in commands(app, app.screen)}


async def type_command(pilot: Walk, name: str) -> None:
    """Open the palette, search ``name`` and take what is found."""
    await pilot.press("ctrl+p")
    palette = await screen(pilot, CommandPalette)
    await pilot.press(*name)
    await wait_for(pilot, lambda: (hits := palette.query_one("CommandList")).option_count and hits.highlighted == 0)  # type: ignore[attr-defined]
    await pilot.press("enter")


async def test_it_offers_what_the_screen_can_do_with_its_keys() -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        await to_machine(pilot)
        commands = offered(app)
        assert commands["Refresh"].help == "r"
        assert {"Choose a model", "Help", "Settings", "Quit", "Back", "Theme", "Language: English"} <= commands.keys()
        assert "Scroll" not in commands
        assert "Commands" not in commands
        await pilot.press("escape")
        await to_welcome(pilot)
        assert "Choose a model" not in offered(app)


async def test_a_command_is_found_by_its_words_and_run() -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        await to_machine(pilot)
        await type_command(pilot, "Help")
        await screen(pilot, ReaderScreen)


@pytest.mark.parametrize(
    ("typed", "key"),
    [
        ("race", "F6"),
        ("second model", "F6"),
        ("logs", "F7"),
        ("error", "F7"),
        ("probability", "F8"),
        ("confidence", "F8"),
        ("logprobs", "F8"),
        ("presets", "F9"),
        ("persona", "F9"),
        ("curl", "F10"),
        ("python", "F10"),
        ("api", "F10"),
        ("reasoning", "F12"),
        ("think", "F12"),
        ("copy thinking", "Shift+F12"),
        ("restart", "F5"),
        ("history", "F4"),
        ("temp", "^T"),
        ("system prompt", "^T"),
        ("search", "^F"),
        ("export", "^S"),
        ("incognito", "^G"),
        ("llm", "^O"),
        ("quit", "^Q"),
        ("exit", "^Q"),
        ("clear", "^N"),
    ],
)
async def test_a_function_of_the_chat_is_found_by_a_users_word(typed: str, key: str) -> None:
    made = FakeJourney(running=(ENDPOINT,), chat_error=unreachable(ENDPOINT.http, "refused"))
    talk = Conversation().with_message("user", "Hi").with_message("assistant", "Yes", thought="Hm.")
    async with StillApp(made, opening=Opening(ENDPOINT, talk, None)).run_test() as pilot:
        chat = await screen(pilot, ChatScreen)
        await asked(pilot, "One", chat)
        hits = [hit async for hit in Commands(chat).search(typed)]
        best = sorted((hit for hit in hits if isinstance(hit, Hit)), key=lambda hit: -hit.score)
        assert key in [hit.help for hit in best[:2]]


async def test_no_command_has_words_that_nobody_can_find() -> None:
    """Each action is one of a key."""
    assert {*WORDS} <= {key.binding.action.removeprefix("app.") for key in declared()}


async def test_a_theme_that_is_chosen_there_is_kept() -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        await to_welcome(pilot)
        await type_command(pilot, "Theme")
        await wait_for(pilot, lambda: isinstance(app.screen, CommandPalette))
        await pilot.press(*"contrast")
        palette = await screen(pilot, CommandPalette)
        await wait_for(pilot, lambda: palette.query_one("CommandList").option_count == 1)  # type: ignore[attr-defined]
        await pilot.press("enter")
        await wait_for(pilot, lambda: app.theme == "triton-wizard-contrast")
    assert load().theme == "triton-wizard-contrast"


async def test_a_language_that_is_chosen_there_is_used_and_kept() -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        await to_welcome(pilot)
        await type_command(pilot, "한국어")
        await wait_for(pilot, lambda: language.used() == "ko")
    assert load().language == "ko"


async def test_the_screen_is_copied_as_text() -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        await to_machine(pilot)
        await type_command(pilot, "Copy the screen")
        await wait_for(pilot, lambda: app.clipboard)
        lines = app.clipboard.splitlines()
        assert "● Machine" in lines[0]
        assert any("Your machine" in line for line in lines)
        assert all(line == line.rstrip() for line in lines)


async def test_a_theme_is_found_by_its_name() -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        await to_welcome(pilot)
        await type_command(pilot, "dracula")
        await wait_for(pilot, lambda: app.theme == "dracula")
    assert load().theme == "dracula"


@pytest.mark.parametrize("downloads", [True, False])
async def test_a_picture_is_saved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, downloads: bool) -> None:
    """Where there is no folder of downloads, as on a server, it lies in that of the user."""
    folder = tmp_path if downloads else tmp_path / "none"
    monkeypatch.setattr("platformdirs.user_downloads_path", lambda: folder)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        await to_model(pilot)
        await type_command(pilot, "Save a screenshot")
        await wait_for(pilot, lambda: app._notifications)
        (picture,) = tmp_path.glob("*.svg")
        assert [note.message for note in app._notifications] == [f"Saved as {picture}"]
        assert "Which" in picture.read_text(encoding="utf-8")
