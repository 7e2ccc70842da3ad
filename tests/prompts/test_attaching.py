"""Files and prompts in the chat of a plain terminal."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from tests.chat.pdf_files import pdf, slow
from tests.chat.test_images import picture
from tests.prompts.fake_journey import ENDPOINT, FakeJourney
from tests.prompts.terminal import CTRL_C, DOWN, ENTER, Terminal
from wizard.catalog.profiles import user_folder
from wizard.prompts.chat import run_chat


def test_a_file_is_counted_and_sent_and_one_that_cannot_be_sent_loses_nothing(tmp_path: Path) -> None:
    Path("notes.md").write_text("Triton serves models.")
    Path("folder").mkdir()
    with Terminal("chat", str(tmp_path)) as terminal:
        terminal.sees("> ")
        terminal.types("Sum up @notes.md\n")
        terminal.sees("attached: notes.md · ≈ ")
        terminal.sees("You asked: Sum up notes.md")
        terminal.sees("Triton serves models.")
        terminal.sees("> ")
        terminal.types("@folder and more\n")
        terminal.sees("TW-C25")
        terminal.sees("> @folder and more")


def test_a_pdf_is_sent_and_a_model_that_takes_no_images_says_so(tmp_path: Path) -> None:
    Path("paper.pdf").write_bytes(pdf("One", "Two"))
    Path("flag.png").write_bytes(picture())
    with Terminal("chat", str(tmp_path), size=(24, 120)) as terminal:
        terminal.sees("> ")
        terminal.types("Sum up @paper.pdf\n")
        terminal.sees("paper.pdf: text of 2 pages")
        terminal.sees("[Page 2]")
        terminal.sees("> ")
        terminal.types("What is @flag.png\n")
        terminal.sees("TW-C32")
        terminal.sees("> What is @flag.png")


def test_a_file_outside_of_the_folder_is_attached_only_after_a_question(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hush")
    with Terminal("chat", str(tmp_path)) as terminal:
        terminal.sees("> ")
        terminal.types(f"@{tmp_path}/secret\n")
        terminal.sees("outside of this folder")
        terminal.sees("Do not send")
        terminal.types(ENTER)
        terminal.sees(f"> @{tmp_path}/secret")
        terminal.types("\n")
        terminal.sees("Do not send")
        terminal.types(DOWN + ENTER)
        terminal.sees("hush")


def test_a_prompt_is_inserted_to_be_edited(tmp_path: Path) -> None:
    folder = user_folder() / "prompts"
    folder.mkdir(parents=True)
    (folder / "review.md").write_text("Review this: ")
    with Terminal("chat", str(tmp_path)) as terminal:
        terminal.sees("> ")
        terminal.types("/prompt review\n")
        terminal.sees("> Review this:")
        terminal.types(" x\n")
        terminal.sees("You asked: Review this: x")
        terminal.types(CTRL_C)


def test_in_a_pipe_at_is_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("notes.md").write_text("Triton")
    monkeypatch.setattr(sys, "stdin", io.StringIO("Sum up @notes.md\n"))
    journey = FakeJourney(tmp_path / "notes")
    run_chat(ENDPOINT, journey=journey)
    run_chat(ENDPOINT, message="Sum up @notes.md", journey=journey)
    assert [each.messages[-1].content for each in journey.asked] == ["Sum up @notes.md"] * 2
    capsys.readouterr()


def test_ctrl_c_stops_attaching_a_file_that_takes_long_to_read_and_loses_nothing(tmp_path: Path) -> None:
    Path("slow.pdf").write_bytes(slow())
    with Terminal("chat", str(tmp_path)) as terminal:
        terminal.sees("> ")
        terminal.types("Sum up @slow.pdf\n")
        terminal.sees("reading slow.pdf")
        terminal.types(CTRL_C)
        terminal.sees("stopping")
        terminal.sees("> Sum up @slow.pdf")
