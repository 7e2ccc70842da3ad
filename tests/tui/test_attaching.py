"""Files that a question names are shown while it is typed, and sent with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Static

from tests.chat.pdf_files import pdf, slow
from tests.chat.test_images import picture
from tests.tui.chatting import chatting, lines, notes
from tests.tui.fake_journey import FakeJourney
from tests.tui.test_waiting import asking, end, questions, waiting
from tests.tui.walking import answered, screen, wait_for
from wizard.chat.drafts import Draft
from wizard.chat.wire import OPENAI, Wire
from wizard.kernel import fenced
from wizard.tui.screens.chat import ChatScreen
from wizard.tui.screens.modal import AskScreen
from wizard.tui.widgets.prompt import Prompt
from wizard.tui.widgets.transcript import Transcript


def line(chat: ChatScreen) -> str:
    """What is shown above the input field about the files in it."""
    attached = chat.query_one("#attached", Static)
    return str(attached.render()) if attached.display else ""


async def shows(pilot: Pilot[Any], chat: ChatScreen, text: str) -> None:
    """Wait until the line contains ``text``."""
    await wait_for(pilot, lambda: text in line(chat))


async def test_a_file_is_counted_before_and_sent_with_the_question() -> None:
    Path("notes.md").write_text("Triton serves models.")
    made = FakeJourney()
    async with chatting(made, (80, 24)) as (pilot, chat):
        await pilot.press(*"Sum up @notes.md")
        await shows(pilot, chat, "attached: notes.md · ≈ ")
        assert "left in the context" in line(chat)
        await pilot.press("enter")
        await answered(pilot, chat)
        await wait_for(pilot, lambda: not line(chat))
    assert questions(made) == ["Sum up notes.md\n\nnotes.md:\n\n```md\nTriton serves models.\n```"]


async def test_an_image_is_described_before_and_named_in_the_transcript() -> None:
    Path("flag.png").write_bytes(picture())
    made = FakeJourney(wire=Wire(OPENAI))
    async with chatting(made, (80, 24)) as (pilot, chat):
        await pilot.press(*"What is @flag.png")
        await shows(pilot, chat, "flag.png: PNG 30×20, ")
        assert "sent without metadata" in line(chat)
        assert "tokens without images" in line(chat)
        await pilot.press("enter")
        await answered(pilot, chat)
        assert "[flag.png: PNG, 30×20]" in "\n".join(lines(chat.query_one(Transcript)))
    (sent,) = questions(made)
    assert "![flag.png](file:///" in sent


async def test_a_model_that_takes_no_images_says_so_before_and_nothing_is_lost() -> None:
    Path("flag.png").write_bytes(picture())
    made = FakeJourney()
    async with chatting(made) as (pilot, chat):
        await pilot.press(*"@flag.png")
        await shows(pilot, chat, "take no images")
        await pilot.press("enter")
        await wait_for(pilot, lambda: "TW-C32" in notes(pilot))
        assert chat.query_one(Prompt).text == "@flag.png"
    assert questions(made) == []


async def test_the_text_of_a_pdf_is_sent_by_pages() -> None:
    Path("paper.pdf").write_bytes(pdf("One", "Two"))
    made = FakeJourney()
    async with chatting(made) as (pilot, chat):
        await pilot.press(*"Sum up @paper.pdf")
        await shows(pilot, chat, "paper.pdf: text of 2 pages")
        await pilot.press("enter")
        await answered(pilot, chat)
    assert questions(made) == ["Sum up paper.pdf\n\npaper.pdf:\n\n```\n[Page 1]\nOne\n\n[Page 2]\nTwo\n```"]


async def test_a_mistyped_name_is_shown_and_sent_as_text() -> None:
    made = FakeJourney()
    async with chatting(made) as (pilot, chat):
        await pilot.press(*"@reprot.csv")
        await shows(pilot, chat, "reprot.csv: no such file")
        await pilot.press("enter")
        await answered(pilot, chat)
    assert questions(made) == ["@reprot.csv"]


async def test_too_large_for_the_context_sends_nothing_and_loses_nothing() -> None:
    Path("big.txt").write_text("word " * 3000)
    made = FakeJourney()
    async with chatting(made) as (pilot, chat):
        await pilot.press(*"@big.txt")
        await shows(pilot, chat, "≈ 5,0")
        await pilot.press("enter")
        await wait_for(pilot, lambda: "TW-C28" in notes(pilot))
        assert chat.query_one(Prompt).text == "@big.txt"
        await pilot.press(*" or not", "backspace", "backspace", "backspace", "backspace", "enter")
        await wait_for(pilot, lambda: notes(pilot).count("TW-C28") == 2)
        assert chat.query_one(Prompt).text == "@big.txt or"
        chat.query_one(Prompt).text = "no file"
        await pilot.press("enter")
        await answered(pilot, chat)
    assert questions(made) == ["no file"]


async def test_a_file_outside_of_the_folder_is_attached_only_after_a_question(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hush")
    Path("link").symlink_to(tmp_path / "secret")
    made = FakeJourney()
    async with chatting(made) as (pilot, chat):
        await pilot.press(*"@link")
        await shows(pilot, chat, "link: outside of this folder")
        await pilot.press("enter")
        await screen(pilot, AskScreen)
        await pilot.press("enter")  # the first answer: do not send
        await wait_for(pilot, lambda: chat.query_one(Prompt).text == "@link")
        await pilot.press("enter")
        await screen(pilot, AskScreen)
        await pilot.press("down", "enter")
        await answered(pilot, chat)
    assert len(made.asked) == 1
    assert "hush" in questions(made)[0]


async def test_what_is_typed_while_a_window_asks_is_in_the_field_and_in_the_draft(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hush")
    Path("link").symlink_to(tmp_path / "secret")
    made = FakeJourney()
    async with chatting(made) as (pilot, chat):
        await pilot.press(*"@link")
        await shows(pilot, chat, "link: outside of this folder")
        await pilot.press("enter")
        await screen(pilot, AskScreen)
        await pilot.press(*"and q?")
        assert chat.query_one(Prompt).text == "and q?"
        assert chat.asking._draft == Draft("@link", ("and q?",))
        await pilot.press("down", "enter")
        await answered(pilot, chat)
        assert chat.query_one(Prompt).text == "and q?"


async def test_a_waiting_message_that_cannot_be_sent_comes_back_before_what_is_typed() -> None:
    Path("folder").mkdir()
    made = FakeJourney(hold_chat=True)
    async with chatting(made) as (pilot, chat):
        await asking(pilot, made, "one", "@folder", "three")
        await pilot.press(*"four")
        end(made)
        await wait_for(pilot, lambda: "TW-C25" in notes(pilot))
        assert chat.query_one(Prompt).text == "@folder"
        assert waiting(chat) == ("four", "three")
    assert questions(made) == ["one"]


async def test_editing_a_question_does_not_attach_again() -> None:
    Path("a.txt").write_text("@a.txt")
    made = FakeJourney()
    async with chatting(made) as (pilot, chat):
        await pilot.press(*"@a.txt", "enter")
        await answered(pilot, chat)
        await pilot.press("ctrl+e", "enter")
        await wait_for(pilot, lambda: len(made.asked) == 2)
        await answered(pilot, chat)
    first, second = questions(made)
    assert first == second


async def test_esc_stops_attaching_a_file_that_takes_long_to_read_and_loses_nothing() -> None:
    Path("slow.pdf").write_bytes(slow())
    made = FakeJourney()
    try:
        async with chatting(made) as (pilot, chat):
            await pilot.press(*"Sum up @slow.pdf")
            await shows(pilot, chat, "reading slow.pdf …")
            await pilot.press("enter")
            await wait_for(pilot, lambda: not chat.query_one(Prompt).text)
            await shows(pilot, chat, "reading slow.pdf … · Esc to stop")
            await pilot.press(*"next", "enter")
            await pilot.press("escape")
            await wait_for(pilot, lambda: chat.query_one(Prompt).text == "Sum up @slow.pdf")
            assert waiting(chat) == ("next",)
            assert fenced._running
    finally:
        fenced.end()
    assert questions(made) == []
    assert not fenced._running


async def test_a_file_that_was_shown_and_is_gone_when_the_question_is_sent_is_an_error_and_not_text() -> None:
    Path("notes.md").write_text("Triton serves models.")
    made = FakeJourney()
    async with chatting(made) as (pilot, chat):
        await pilot.press(*"Sum up @notes.md")
        await shows(pilot, chat, "attached: notes.md")
        Path("notes.md").unlink()
        await pilot.press("enter")
        await wait_for(pilot, lambda: "TW-C25" in notes(pilot))
        assert chat.query_one(Prompt).text == "Sum up @notes.md"
        await shows(pilot, chat, "notes.md: no such file")
        await pilot.press("enter")
        await answered(pilot, chat)
    assert questions(made) == ["Sum up @notes.md"]
