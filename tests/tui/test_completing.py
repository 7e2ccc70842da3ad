"""Tab completes files, commands and prompts; commands do what their keys do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from tests.tui.chatting import chatting, notes
from tests.tui.fake_journey import FakeJourney
from tests.tui.test_waiting import questions
from tests.tui.walking import answered, screen, wait_for
from wizard.catalog.profiles import user_folder
from wizard.model.chat_format import ChatFormat
from wizard.tui.screens.chat import ChatScreen
from wizard.tui.screens.chat_keys import KEYS
from wizard.tui.screens.modal import ReaderScreen
from wizard.tui.slash import ACTIONS, HELP, candidates, to_complete
from wizard.tui.textual_private import screen_lines
from wizard.tui.widgets.picker import BLANK
from wizard.tui.widgets.prompt import Prompt


def offered(chat: ChatScreen) -> list[str]:
    """The lines above the input field."""
    line = chat.query_one("#completions", Static)
    return [each[len(BLANK) :] for each in str(line.render()).splitlines()] if line.display else []


async def types(pilot: Pilot[Any], chat: ChatScreen, text: str, *lines: str) -> None:
    """Type, and wait for these completions."""
    await pilot.press(*text)
    await wait_for(pilot, lambda: offered(chat) == [*lines])


async def test_tab_completes_a_file_through_its_folders() -> None:
    Path("docs").mkdir()
    Path("docs/my notes.md").write_text("notes")
    Path("Data.csv").write_text("1,2")
    made = FakeJourney()
    async with chatting(made, (80, 24)) as (pilot, chat):
        await types(pilot, chat, "see @D", "@Data.csv", "@docs/")
        await types(pilot, chat, "o", "@docs/")
        await pilot.press("tab")
        await wait_for(pilot, lambda: offered(chat) == ['@"docs/my notes.md"'])
        await pilot.press("tab")
        await wait_for(pilot, lambda: not offered(chat))
        assert chat.query_one(Prompt).text == 'see @"docs/my notes.md"'
        await pilot.press("enter")
        await answered(pilot, chat)
    assert questions(made) == ["see docs/my notes.md\n\ndocs/my notes.md:\n\n```md\nnotes\n```"]


async def test_tab_with_nothing_to_complete_goes_to_the_next_part_of_the_screen() -> None:
    async with chatting(FakeJourney()) as (pilot, chat):
        await pilot.press(*"hello", "tab")
        assert chat.focused is not chat.query_one(Prompt)
        assert chat.query_one(Prompt).text == "hello"


async def test_a_command_is_completed_with_help_and_does_what_its_key_does() -> None:
    made = FakeJourney()
    async with chatting(made, (80, 24)) as (pilot, chat):
        await types(pilot, chat, "/pri", "/private  Private (^G)")
        await pilot.press("tab", "enter")
        await wait_for(pilot, lambda: chat.keeping.private)
        assert chat.query_one(Prompt).text == ""
        await pilot.press(*"/copy", "enter")
        await wait_for(pilot, lambda: "no answer yet" in notes(pilot))
    assert made.asked == []


def test_every_command_is_the_action_of_a_key() -> None:
    assert {*ACTIONS.values()} <= {HELP} | {each.action for each in KEYS}  # type: ignore[union-attr]


async def test_help_is_no_question() -> None:
    made = FakeJourney()
    async with chatting(made, (80, 24)) as (pilot, chat):
        await types(pilot, chat, "/he", "/help  Help (F1)")
        await pilot.press("tab", "enter")
        await screen(pilot, ReaderScreen)
    assert made.asked == []


@pytest.mark.parametrize(
    ("template", "mode", "set_to", "note"),
    [
        ("{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}", "off", "off", "off"),
        ("{{ thinking_budget }}{% if thinking_budget == 0 %}x{% endif %}", "512", "512", "512"),
        ("{% if enable_thinking is defined and not enable_thinking %}x{% endif %}", "high", None, "TW-U24"),
        ("{{ messages[0].content }}", "off", None, "TW-U24"),
    ],
)
async def test_thinking_is_set_by_a_command(template: str, mode: str, set_to: str | None, note: str) -> None:
    made = FakeJourney(chats=ChatFormat(template, None, None, ()))
    async with chatting(made, (80, 24)) as (pilot, chat):
        await pilot.press(*f"/think {mode}", "enter")
        await wait_for(pilot, lambda: note in notes(pilot))
        assert chat.view.conversation.sampling.thinking == set_to
        await wait_for(pilot, lambda: chat.query_one(Prompt).text == ("" if set_to else f"/think {mode}"))
    assert made.asked == []


@pytest.mark.parametrize(
    ("before", "typed"),
    [
        ("/co", "/co"),
        ("a /co", ""),
        ("\n/co", ""),
        ("/prompt re", "/prompt re"),
        ("/private x", ""),
        ("/preset pre", "/preset pre"),
        ("/copy th", "/copy th"),
        ("see @a/b", "@a/b"),
        ('see @"a b', '@"a b'),
        ("me@home", ""),
        ("@a b", ""),
        ("", ""),
    ],
)
def test_what_is_completed(before: str, typed: str) -> None:
    assert to_complete(before) == typed


@pytest.mark.parametrize(
    ("typed", "lines"),
    [
        ("/rena", [("/rename ", "rename this conversation")]),
        ("/preset pre", [("/preset precise", "")]),
        ("/snippet ", [("/snippet curl", ""), ("/snippet python", ""), ("/snippet urllib", "")]),
        ("/tools o", [("/tools off", ""), ("/tools on", "")]),
        ("/copy c", [("/copy code", "Code (^B)")]),
        ("/sy", [("/system ", "set the system prompt; without text, remove it")]),
        ("/nothing", []),
    ],
)
def test_commands_and_their_arguments(typed: str, lines: list[tuple[str, str]]) -> None:
    assert candidates(typed, Path()) == lines


async def test_a_prompt_is_inserted_to_be_edited() -> None:
    folder = user_folder() / "prompts"
    folder.mkdir(parents=True)
    (folder / "review.md").write_text("Review this:\n\n@code.py\n")
    made = FakeJourney()
    async with chatting(made) as (pilot, chat):
        await types(pilot, chat, "/prompt r", "/prompt review")
        await pilot.press("tab", "enter")
        await wait_for(pilot, lambda: chat.query_one(Prompt).text == "Review this:\n\n@code.py")
        chat.query_one(Prompt).text = ""
        await pilot.press(*"/prompt nope", "enter")
        await wait_for(pilot, lambda: "TW-D13" in notes(pilot))
    assert made.asked == []


async def test_the_footer_offers_to_close_completions_only_while_there_are_any() -> None:
    Path("data.csv").write_text("1,2")
    async with chatting(FakeJourney(), (80, 24)) as (pilot, chat):
        await types(pilot, chat, "see @d", "@data.csv")
        await wait_for(pilot, lambda: "Esc Close" in (screen_lines(chat) or [""])[-1])
        await pilot.press("tab")
        await wait_for(pilot, lambda: not offered(chat))
        await pilot.pause()
        assert "Esc Close" not in (screen_lines(chat) or [""])[-1]
