"""Kept conversations in the chat: found, opened, renamed, deleted, and had again after the wizard was left."""

from __future__ import annotations

import math
import os
import signal
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from tests.tui.chatting import chatting, lines, notes, to_running_chat
from tests.tui.fake_journey import FakeJourney
from tests.tui.values import ENDPOINT
from tests.tui.walking import StillApp, asked, screen, to_machine, wait_for
from wizard.chat.history import History
from wizard.kernel.errors import CancelledError, WorkspaceError
from wizard.tui.autosave import Autosave
from wizard.tui.screens.chat import ChatScreen
from wizard.tui.screens.conversations import ConversationsScreen
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.modal import AskScreen
from wizard.tui.widgets.conversations import Conversations
from wizard.tui.widgets.prompt import Prompt

WIDE = (140, 40)
NARROW = (80, 24)


def history() -> History:
    return FakeJourney().history(None)  # type: ignore[arg-type]


def titles(window: Conversations) -> list[str]:
    return [entry.title for entry in window._entries]


async def two(pilot: Pilot[Any], chat: ChatScreen, made: FakeJourney) -> None:
    """Two conversations, the second of which is open."""
    made.answer = "It is about apples."
    await asked(pilot, "First", chat)
    await pilot.press("ctrl+n")
    await pilot.pause()
    made.answer = "It is about pears."
    await asked(pilot, "Second", chat)
    await wait_for(pilot, lambda: len(history().search("")) == 2)


async def listed(pilot: Pilot[Any], count: int) -> Conversations:
    """The list, open beside the chat or in a window, with that many rows."""
    await wait_for(pilot, lambda: [*pilot.app.screen.query(Conversations)])
    window = pilot.app.screen.query_one(Conversations)
    await wait_for(pilot, lambda: len(window._entries) == count and window.is_mounted)
    await pilot.pause()
    return window


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_an_earlier_conversation_is_found_by_its_text_and_resumed(size: tuple[int, int]) -> None:
    made = FakeJourney()
    async with chatting(made, size) as (pilot, chat):
        await two(pilot, chat, made)
        await pilot.press("f4")
        window = await listed(pilot, 2)
        assert titles(window) == ["Second", "First"]
        await pilot.press(*"apples")
        await listed(pilot, 1)
        await pilot.press("enter")
        await screen(pilot, ChatScreen)
        await wait_for(pilot, lambda: chat.view.texts("user") == ["First"])
        assert "It is about apples." in lines(chat.talks.first.transcript)
        if size == WIDE:
            await pilot.press("f4")
            await wait_for(pilot, lambda: not chat.query(Conversations))
        await asked(pilot, "More", chat)
        await wait_for(pilot, lambda: history().search("")[0].messages == 4)
        assert [entry.title for entry in history().search("")] == ["First", "Second"]


async def test_it_is_there_after_the_wizard_was_left() -> None:
    made = FakeJourney()
    async with chatting(made) as (pilot, chat):
        await two(pilot, chat, made)
    async with chatting(made) as (pilot, chat):
        assert chat.view.conversation.messages == ()
        await pilot.press("f4")
        await screen(pilot, ConversationsScreen)
        await listed(pilot, 2)
        await pilot.press("down", "enter")
        await screen(pilot, ChatScreen)
        await wait_for(pilot, lambda: chat.view.texts("assistant") == ["It is about apples."])


async def test_renaming_and_deleting_ask_first() -> None:
    made = FakeJourney()
    async with chatting(made, WIDE) as (pilot, chat):
        await two(pilot, chat, made)
        await pilot.press("f4")
        window = await listed(pilot, 2)
        await pilot.press("ctrl+x")
        await screen(pilot, FormScreen)
        await pilot.press("ctrl+u", *"Pears and more", "enter")
        await wait_for(pilot, lambda: titles(window) == ["Pears and more", "First"])
        await pilot.press("down", "ctrl+d")
        await screen(pilot, AskScreen)
        await pilot.press("enter")
        await screen(pilot, ChatScreen)
        assert len(history().search("")) == 2
        await pilot.press("down", "ctrl+d")
        await screen(pilot, AskScreen)
        await pilot.press("down", "enter")
        await wait_for(pilot, lambda: titles(window) == ["Pears and more"])
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(chat.focused, Prompt)
        await asked(pilot, "Again", chat)
        await wait_for(pilot, lambda: history().search("")[0].messages == 4)
        assert [entry.title for entry in history().search("")] == ["Pears and more"]


async def test_the_open_conversation_can_be_deleted_and_the_next_question_begins_another() -> None:
    made = FakeJourney()
    async with chatting(made, WIDE) as (pilot, chat):
        await two(pilot, chat, made)
        await pilot.press("f4")
        window = await listed(pilot, 2)
        await pilot.press("ctrl+d")
        await screen(pilot, AskScreen)
        await pilot.press("down", "enter")
        await wait_for(pilot, lambda: titles(window) == ["First"])
        await pilot.press("f4")
        await wait_for(pilot, lambda: not chat.query(Conversations))
        await asked(pilot, "On", chat)
        await wait_for(pilot, lambda: len(history().search("")) == 2)


async def test_an_empty_list_and_a_search_in_vain_say_so() -> None:
    async with chatting(FakeJourney(), NARROW) as (pilot, chat):
        await pilot.press("f4")
        window = await screen(pilot, ConversationsScreen)
        await wait_for(pilot, lambda: "Nothing saved yet" in str(window.query_one("#none").render()))
        await pilot.press(*"xy")
        await wait_for(pilot, lambda: "No conversation contains these words" in str(window.query_one("#none").render()))
        assert window.query_one("#search", Input).value == "xy"
        await pilot.press("enter", "ctrl+x", "ctrl+d", "escape")
        assert await screen(pilot, ChatScreen) is chat


async def test_no_other_conversation_is_opened_while_an_answer_comes() -> None:
    made = FakeJourney()
    async with chatting(made, WIDE) as (pilot, chat):
        await two(pilot, chat, made)
        made.hold_chat = True
        await pilot.press(*"Hold", "enter")
        await wait_for(pilot, lambda: chat.view.busy)
        await pilot.press("f4")
        await listed(pilot, 2)
        await pilot.press("down", "enter")
        await wait_for(pilot, lambda: "stop it first" in notes(pilot))
        assert chat.view.texts("user") == ["Second", "Hold"]


async def test_a_damaged_file_is_an_error_with_a_code_and_the_chat_continues() -> None:
    path = history().path
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no database at all, but long enough to be taken for one" * 100)
    async with chatting(FakeJourney(), NARROW) as (pilot, chat):
        await asked(pilot, "Q", chat)
        await wait_for(pilot, lambda: "TW-C20" in notes(pilot))
        assert len(chat.view.texts("assistant")) == 1
        await pilot.press("f4")
        window = await screen(pilot, ConversationsScreen)
        await wait_for(pilot, lambda: "TW-C20" in str(window.query_one("#none").render()))
    assert path.read_bytes().startswith(b"no database")


@pytest.mark.parametrize("downs", [0, 1, 2])  # quit, quit and stop the server, another model
async def test_what_came_of_an_answer_is_kept_when_the_chat_is_left_meanwhile(downs: int) -> None:
    made = FakeJourney(hold_chat=True)
    async with chatting(made, NARROW) as (pilot, chat):
        await pilot.press("Q", "enter")
        await wait_for(pilot, lambda: chat.view.tokens == math.ceil(len(made.answer) / 7))
        await pilot.press("ctrl+q")
        await screen(pilot, AskScreen)
        await pilot.press(*["down"] * downs, "enter")
        await wait_for(pilot, lambda: history().search(""))
        kept = history().load(history().search("")[0].id).conversation
        assert [message.content for message in kept.messages] == ["Q", made.answer]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])  # SIGHUP: the terminal's window was closed
async def test_what_came_of_an_answer_is_kept_when_a_signal_ends_the_wizard(number: signal.Signals) -> None:
    made = FakeJourney(hold_chat=True)
    async with chatting(made, NARROW) as (pilot, chat):
        await pilot.press("Q", "enter")
        await wait_for(pilot, lambda: chat.view.tokens == math.ceil(len(made.answer) / 7))
        os.kill(os.getpid(), number)
        await wait_for(pilot, lambda: pilot.app._exit)
    assert pilot.app.return_value == CancelledError.exit_code
    kept = history().load(history().search("")[0].id).conversation
    assert [message.content for message in kept.messages] == ["Q", made.answer]


async def test_another_model_continues_the_same_saved_conversation() -> None:
    made = FakeJourney()
    async with chatting(made, NARROW) as (pilot, chat):
        await asked(pilot, "Q", chat)
        await wait_for(pilot, lambda: history().search(""))
        await pilot.press("ctrl+q")
        await screen(pilot, AskScreen)
        await pilot.press("down", "down", "enter")
        await to_machine(pilot)
        await pilot.press("escape")
        await asked(pilot, "On", await to_running_chat(pilot))
        await wait_for(pilot, lambda: history().search("")[0].messages == 4)
        assert len(history().search("")) == 1


async def test_what_is_saved_while_another_is_begun_stays_apart() -> None:
    async with StillApp(FakeJourney()).run_test(size=NARROW):
        from wizard.chat.conversation import Conversation

        keeping = Autosave(history(), private=False)
        conversation = Conversation().with_message("user", "one")
        await keeping.save(conversation, ENDPOINT)
        number = keeping.kept.id
        await keeping.save(conversation.with_message("assistant", "1"), ENDPOINT)
        assert keeping.kept.id == number
        keeping.begin(private=False)
        assert keeping.kept.id is None
        await keeping.save(Conversation(), ENDPOINT)
        assert keeping.kept.id is None
        keeping.begin(private=True)
        await keeping.save(conversation, ENDPOINT)
        assert len(await keeping.search("")) == 1
        history().path.chmod(0o000)
        history().path.unlink()
        history().path.mkdir()
        keeping.begin(private=False)
        with pytest.raises(WorkspaceError, match="TW-C2"):
            await keeping.save(conversation, ENDPOINT)


async def test_settings_that_keep_nothing_begin_private() -> None:
    app = StillApp(FakeJourney(running=(ENDPOINT,)))
    async with app.run_test(size=NARROW) as pilot:
        app.change_settings(keep_chats=False)
        chat = await to_running_chat(pilot)
        assert "private" in str(chat.query_one(Prompt).border_title)
        await asked(pilot, "Q", chat)
        await pilot.pause()
    assert not history().path.exists()
