"""Messages that are sent during an answer wait for its end."""

from __future__ import annotations

import asyncio
from typing import Any

from textual.pilot import Pilot

from tests.tui.chatting import chatting
from tests.tui.fake_journey import FakeJourney
from tests.tui.test_typing_ahead import burst
from tests.tui.walking import answered, wait_for
from wizard.kernel.errors import ServerError
from wizard.tui.screens.chat import ChatScreen
from wizard.tui.widgets.prompt import Prompt
from wizard.tui.widgets.waiting import Waiting


async def asking(pilot: Pilot[Any], made: FakeJourney, *texts: str) -> None:
    """Send the first of ``texts``, and the others during its answer."""
    await pilot.press(*texts[0], "enter")
    await wait_for(pilot, lambda: made.chat_held)
    for text in texts[1:]:
        await pilot.press(*text, "enter")


def end(made: FakeJourney) -> None:
    """The answer ends by itself, and so does every later one."""
    made.hold_chat = False
    assert isinstance(made.chat_held, asyncio.Event)
    made.chat_held.set()


def waiting(chat: ChatScreen) -> tuple[str, ...]:
    """The messages that wait."""
    return chat.query_one(Waiting).texts


def questions(made: FakeJourney) -> list[str]:
    """What was sent, each time."""
    return [conversation.messages[-1].content for conversation in made.asked]


async def test_messages_wait_in_sight_and_are_sent_in_order() -> None:
    made = FakeJourney(hold_chat=True)
    async with chatting(made, (80, 24)) as (pilot, chat):
        await asking(pilot, made, "one", "two", "three")
        assert questions(made) == ["one"]
        assert waiting(chat) == ("two", "three")
        assert [line.strip() for line in str(chat.query_one(Waiting).render()).splitlines()] == [
            "next: two",
            "next: three",
        ]
        assert chat.query_one(Prompt).text == ""
        end(made)
        await wait_for(pilot, lambda: len(chat.view.texts("assistant")) == 3)
        assert waiting(chat) == ()
    assert questions(made) == ["one", "two", "three"]
    assert [message.role for message in made.asked[2].messages] == ["user", "assistant"] * 2 + ["user"]


async def test_two_messages_in_one_burst_are_both_sent() -> None:
    made = FakeJourney()
    async with chatting(made) as (pilot, chat):
        burst(pilot, "one", "enter")
        burst(pilot, "two", "enter")
        await wait_for(pilot, lambda: len(chat.view.texts("assistant")) == 2)
    assert questions(made) == ["one", "two"]


async def test_many_messages_take_three_lines() -> None:
    made = FakeJourney(hold_chat=True)
    async with chatting(made, (80, 24)) as (pilot, chat):
        await asking(pilot, made, "q", "a", "b", "c", "d")
        assert str(chat.query_one(Waiting).render()).splitlines() == ["next: a", "next: b", "and 2 more messages"]


async def test_up_takes_the_last_one_back_to_change_it() -> None:
    made = FakeJourney(hold_chat=True)
    async with chatting(made) as (pilot, chat):
        await asking(pilot, made, "one", "two", "thre")
        await pilot.press("up")
        assert (chat.query_one(Prompt).text, waiting(chat)) == ("thre", ("two",))
        await pilot.press("e", "enter")
        assert waiting(chat) == ("two", "three")


async def test_control_d_in_the_empty_field_removes_the_last_one_and_else_deletes_a_character() -> None:
    made = FakeJourney(hold_chat=True)
    async with chatting(made) as (pilot, chat):
        await asking(pilot, made, "one", "two", "three")
        await pilot.press(*"ab", "left", "ctrl+d")
        assert (chat.query_one(Prompt).text, waiting(chat)) == ("a", ("two", "three"))
        await pilot.press("backspace", "ctrl+d")
        assert waiting(chat) == ("two",)
        await pilot.press("ctrl+d", "ctrl+d")
        assert waiting(chat) == ()
        await pilot.press("up")
        assert chat.query_one(Prompt).text == "one", "without waiting messages, the last question"


async def test_escape_stops_the_answer_and_keeps_what_waits_until_enter() -> None:
    made = FakeJourney(hold_chat=True)
    async with chatting(made) as (pilot, chat):
        await asking(pilot, made, "one", "two", "three")
        await pilot.press("escape")
        await answered(pilot, chat)
        assert (questions(made), waiting(chat)) == (["one"], ("two", "three"))
        made.hold_chat = False
        await pilot.press("enter")
        await wait_for(pilot, lambda: len(chat.view.texts("assistant")) == 3)
    assert questions(made) == ["one", "two", "three"]


async def test_after_an_error_nothing_that_waits_is_sent() -> None:
    made = FakeJourney(hold_chat=True)
    async with chatting(made) as (pilot, chat):
        await asking(pilot, made, "one", "two", "three")
        made.chat_error = ServerError("TW-C01", "no server", "Start it.")
        end(made)
        await wait_for(pilot, lambda: chat.view.error)
        assert (questions(made), waiting(chat)) == (["one", "two"], ("three",))


async def test_with_two_models_it_waits_for_both() -> None:
    made = FakeJourney(hold_chat=True)
    async with chatting(made, (120, 30)) as (pilot, chat):
        await chat.talks.join(made.elsewhere)  # type: ignore[arg-type]
        await asking(pilot, made, "one", "two")
        await wait_for(pilot, lambda: len(made.asked) == 2)
        await pilot.press("escape")
        await answered(pilot, chat)
        assert waiting(chat) == ("two",)
        made.hold_chat = False
        await pilot.press("enter")
        await wait_for(pilot, lambda: not chat.talks.busy and len(made.asked) == 4)
    assert questions(made)[2:] == ["two", "two"]
