"""What is said of a copy: that it is in the clipboard, or that there is none here and how else one has the text."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot

from tests.tui.chatting import notes
from tests.tui.fake_journey import FakeJourney
from tests.tui.pictured import failing, to_end
from tests.tui.walking import StillApp, screen, to_review, wait_for
from wizard.tui.screens.modal import ReaderScreen

MISSING = "This terminal does not support clipboard copy (OSC 52)."


async def review(pilot: Pilot[Any]) -> None:
    await to_review(pilot)
    await pilot.press("down", "c")


async def build(pilot: Pilot[Any]) -> None:
    await to_end(pilot)
    await pilot.press("c")


async def reader(pilot: Pilot[Any]) -> None:
    await to_end(pilot)
    await pilot.press("l")
    await screen(pilot, ReaderScreen)
    await pilot.press("c")


@pytest.mark.parametrize(
    ("copy", "message", "instead"),
    [(review, " copied", "Press x to save the plan to a file"), (build, " copied", "Press l"), (reader, "Copied", "")],
    ids=["review", "build", "reader"],
)
async def test_a_terminal_without_a_clipboard_gets_a_warning_instead_of_copied(
    copy: Callable[[Pilot[Any]], Awaitable[None]], message: str, instead: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for terminal, wanted in (("xterm-256color", (message,)), ("linux", (MISSING, instead))):
        monkeypatch.setenv("TERM", terminal)
        async with StillApp(failing()).run_test(size=(80, 24)) as pilot:
            await copy(pilot)
            await wait_for(pilot, lambda wanted=wanted: all(word in notes(pilot) for word in wanted))
            assert (MISSING in notes(pilot)) is (terminal == "linux")


async def test_a_browser_has_a_clipboard_whatever_terminal_its_server_runs_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "linux")
    monkeypatch.setattr(App, "is_web", True)
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        await review(pilot)
        await wait_for(pilot, lambda: " copied" in notes(pilot))
