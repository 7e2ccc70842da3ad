"""A conversation is saved from the chat, and nothing is lost if that fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tui.fake_journey import FakeJourney
from tests.tui.walking import StillApp, asked, screen, to_chat, wait_for
from wizard.tui.screens.chat import ChatScreen
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.modal import AskScreen


async def test_the_conversation_is_saved_under_the_offered_name_and_under_another() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(120, 40)) as pilot:
        chat = await to_chat(pilot)
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert pilot.app.screen is chat  # nothing was said yet
        await asked(pilot, "Why?", chat)
        await pilot.press("ctrl+s")
        await screen(pilot, FormScreen)
        await pilot.press("enter")
        await screen(pilot, ChatScreen)
        await wait_for(pilot, Path("demo.md").is_file)
        assert Path("demo.md").read_text().startswith("# Chat with demo\n")
        await pilot.press("ctrl+s")
        await screen(pilot, FormScreen)
        await pilot.press("ctrl+u", *"~/a.json", "enter")
        saved = Path.home() / "a.json"
        await wait_for(pilot, saved.is_file)
        await wait_for(
            pilot, lambda: any(str(saved) in notification.message for notification in pilot.app._notifications)
        )
    assert [load["content"] for load in json.loads(saved.read_text())["messages"]] == ["Why?", made.answer]


@pytest.mark.parametrize(("keys", "kept"), [(("enter",), True), (("escape",), True), (("down", "enter"), False)])
async def test_a_file_is_written_over_only_after_a_question(keys: tuple[str, ...], kept: bool) -> None:
    Path("demo.md").write_text("mine")
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        chat = await to_chat(pilot)
        await asked(pilot, "Why?", chat)
        await pilot.press("ctrl+s")
        await screen(pilot, FormScreen)
        await pilot.press("enter")
        await screen(pilot, AskScreen)
        await pilot.press(*keys)
        await screen(pilot, ChatScreen)
        await wait_for(pilot, lambda: kept or pilot.app._notifications)
    assert (Path("demo.md").read_text() == "mine") == kept


async def test_a_path_that_cannot_be_written_is_an_error_with_a_code_and_the_chat_stays() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        chat = await to_chat(pilot)
        await asked(pilot, "Why?", chat)
        before = chat.view.conversation
        await pilot.press("ctrl+s")
        form = await screen(pilot, FormScreen)
        await pilot.press("ctrl+u", *"chat.txt", "enter")
        await pilot.pause()
        await pilot.pause()
        assert "must end in .md or .json" in str(form.query_one("#about").render())
        await pilot.press("ctrl+u", *"no/such/chat.md", "enter")
        await wait_for(pilot, lambda: [notification.title for notification in pilot.app._notifications] == ["TW-U25"])
        assert chat.view.conversation == before
        await pilot.press("ctrl+s")
        form = await screen(pilot, FormScreen)
        assert form.query_one("#file").value == "no/such/chat.md"  # type: ignore[attr-defined]
