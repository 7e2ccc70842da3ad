"""What is typed after a slash: every command of plain prompts works here, and none becomes a message by mistake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from tests.tui.chatting import chatting, lines, notes
from tests.tui.fake_journey import FakeJourney
from tests.tui.test_any_server import SECOND
from tests.tui.test_conversations import history, listed, two
from tests.tui.test_waiting import questions
from tests.tui.values import ENDPOINT
from tests.tui.walking import asked, screen, wait_for
from wizard.chat.commands.table import COMMANDS, OTHER_NAMES
from wizard.tui.screens.chat import ChatScreen
from wizard.tui.screens.modal import ReaderScreen
from wizard.tui.widgets.prompt import Prompt


async def types(pilot: Pilot[Any], line: str) -> None:
    """Type a line and Enter, at once."""
    pilot.app.screen.query_one(Prompt).text = line
    await pilot.press("enter")


async def reads(pilot: Pilot[Any], line: str) -> str:
    """Type a command whose answer is read in a window, and close it."""
    await types(pilot, line)
    window = await screen(pilot, ReaderScreen)
    await pilot.press("escape")
    await screen(pilot, ChatScreen)
    return window._text


async def test_no_command_of_plain_prompts_becomes_a_message() -> None:
    made = FakeJourney(running=(ENDPOINT, SECOND))
    async with chatting(made) as (pilot, chat):
        for name in [*COMMANDS, *OTHER_NAMES, "/multi"]:
            await types(pilot, name)
            await pilot.pause()
            await wait_for(pilot, lambda: not any(each.group == "command" for each in chat.workers if each.is_running))
            while pilot.app.screen is not chat:
                await pilot.app.pop_screen()
            assert "TW-U23" not in notes(pilot), name
        assert made.asked == []
        assert not chat.talks.busy


@pytest.mark.parametrize(
    ("line", "note"),
    [
        ("/usr/bin what?", "TW-U23"),
        ("/sav chat.md", "Did you mean /save?"),
        ("/preset nope", "TW-D"),
        ("/set temperature 9", "TW-U32"),
        ("/set temprature 0", "Did you mean temperature?"),
        ("/copy picture", "cannot copy picture"),
        ("/copy", "no answer yet"),
        ("/open 7", "no saved conversation 7"),
        ("/tools off", "no tool servers are configured"),
        ("/save chat.pdf", "TW-U24"),
        ("/model nobody", "the server nobody is not running"),
        ("/prompt nope", "TW-D13"),
    ],
)
async def test_a_command_that_is_wrong_stays_in_the_field(line: str, note: str) -> None:
    made = FakeJourney()
    async with chatting(made) as (pilot, chat):
        await types(pilot, line)
        await wait_for(pilot, lambda: note in notes(pilot))
        await wait_for(pilot, lambda: chat.query_one(Prompt).text == line)
    assert made.asked == []


async def test_a_space_before_it_makes_it_a_question() -> None:
    made = FakeJourney()
    async with chatting(made) as (pilot, chat):
        await types(pilot, "/usr/bin what?")
        await wait_for(pilot, lambda: "put a space before it" in notes(pilot))
        await wait_for(pilot, lambda: chat.query_one(Prompt).text)
        await pilot.press("home", "space", "enter")
        await wait_for(pilot, lambda: made.asked)
    assert questions(made) == ["/usr/bin what?"]


async def test_several_lines_that_begin_with_a_path_are_a_question() -> None:
    made = FakeJourney()
    async with chatting(made) as (pilot, _):
        await types(pilot, "/usr/bin\nWhat is in it?")
        await wait_for(pilot, lambda: made.asked)
    assert questions(made) == ["/usr/bin\nWhat is in it?"]


async def test_settings_are_changed() -> None:
    async with chatting(FakeJourney()) as (pilot, chat):
        await asked(pilot, "Why?", chat)
        await types(pilot, "/preset code")
        await wait_for(pilot, lambda: chat.view.conversation.system)
        await types(pilot, "/set temperature 0.25")
        await wait_for(pilot, lambda: chat.view.conversation.sampling.temperature == 0.25)
        assert "temperature  0.25" in notes(pilot)
        await types(pilot, "/system Be brief.")
        await wait_for(pilot, lambda: chat.view.conversation.system == "Be brief.")
        await types(pilot, "/logprobs off")
        await wait_for(pilot, lambda: "no longer requested" in notes(pilot))
        assert chat.view.texts("user") == ["Why?"]
        assert chat.view.stats is not None


async def test_the_last_turn_is_edited_and_chosen() -> None:
    made = FakeJourney()
    async with chatting(made) as (pilot, chat):
        await asked(pilot, "Why?", chat)
        await types(pilot, "/edit How?")
        await wait_for(pilot, lambda: chat.view.texts("user") == ["How?"] and not chat.talks.busy)
        assert "Version 2 of 2 (current): How?" in await reads(pilot, "/versions")
        await types(pilot, "/versions 1")
        await wait_for(pilot, lambda: chat.view.texts("user") == ["Why?"])
        assert "Why?" in lines(chat.talks.first.transcript)
        await types(pilot, "/questions 1")
        await wait_for(pilot, lambda: len(chat.view.texts("assistant")) == 2)
    assert questions(made)[-1] == made.facts.questions[0]


async def test_files_are_written_and_read() -> None:
    made = FakeJourney()
    async with chatting(made) as (pilot, chat):
        await asked(pilot, "Why?", chat)
        await types(pilot, "/save mine.json")
        await wait_for(pilot, Path("mine.json").is_file)
        await types(pilot, "/save mine.json")
        await wait_for(pilot, lambda: "TW-U25" in notes(pilot))
        await types(pilot, "/new")
        await wait_for(pilot, lambda: not chat.view.texts("user"))
        await types(pilot, "/load mine.json")
        await wait_for(pilot, lambda: chat.view.texts("user") == ["Why?"])
        await wait_for(pilot, lambda: len(history().search("")) == 2)


async def test_saved_conversations() -> None:
    made = FakeJourney()
    async with chatting(made, (140, 40)) as (pilot, chat):
        await two(pilot, chat, made)
        await types(pilot, "/search apples")
        window = await listed(pilot, 1)
        assert window.query_one(Input).value == "apples"
        await pilot.press("enter")
        await wait_for(pilot, lambda: chat.view.texts("user") == ["First"])
        await types(pilot, "/rename Fruit")
        await wait_for(pilot, lambda: "Fruit" in {entry.title for entry in history().search("")})
        await asked(pilot, "More", chat)
        await wait_for(pilot, lambda: history().search("apples")[0].messages == 4)
        assert history().search("apples")[0].title == "Fruit"
        assert "Second" in await reads(pilot, "/history 5")
        number = next(entry.id for entry in history().search("pears") if entry.title == "Second")
        await types(pilot, f"/open {number}")
        await wait_for(pilot, lambda: chat.view.texts("user") == ["Second"])
        await types(pilot, "/delete")
        await wait_for(pilot, lambda: not chat.view.texts("user"))
        assert [entry.title for entry in history().search("")] == ["Fruit"]
        await asked(pilot, "Third", chat)
        await wait_for(pilot, lambda: len(history().search("")) == 2)


async def test_a_second_model_joins_and_leaves() -> None:
    made = FakeJourney(running=(ENDPOINT, SECOND))
    async with chatting(made) as (pilot, chat):
        await types(pilot, "/compare second")
        await wait_for(pilot, lambda: chat.talks.second and chat.talks.second.endpoint == SECOND)
        await types(pilot, "/compare second")
        await wait_for(pilot, lambda: chat.query_one(Prompt).text == "" and len(chat.talks.chats) == 2)
        await types(pilot, "/compare")
        await wait_for(pilot, lambda: chat.talks.second is None)


async def test_during_an_answer_only_keys_that_apply_work() -> None:
    made = FakeJourney(hold_chat=True)
    async with chatting(made) as (pilot, chat):
        await types(pilot, "Hi")
        await wait_for(pilot, lambda: chat.talks.answering)
        await types(pilot, "/set temperature 0.2")
        await wait_for(pilot, lambda: "/set is not possible now" in notes(pilot))
        await wait_for(pilot, lambda: chat.query_one(Prompt).text == "/set temperature 0.2")
        await types(pilot, "/details")
        await wait_for(pilot, lambda: chat.talks.here.transcript.detailed)
    assert len(made.asked) == 1
