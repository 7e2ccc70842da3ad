"""The file that a conversation is saved in: whole or not at all, and never by accident over another."""

from __future__ import annotations

from pathlib import Path

import pytest

from wizard.chat.conversation import Conversation
from wizard.chat.saving import file_name, save, target
from wizard.kernel.errors import UsageError

SAID = Conversation().with_message("user", "Why?").with_message("assistant", "Because.")


def refusal(path: Path, conversation: Conversation = SAID, *, overwrite: bool = False) -> UsageError:
    with pytest.raises(UsageError) as raised:
        save(path, "demo", conversation, overwrite=overwrite)
    return raised.value


def test_a_name_has_a_known_ending() -> None:
    assert refusal(Path("chat.txt")).code == "TW-U24"


def test_a_file_that_is_there_stays_unless_it_is_to_be_overwritten() -> None:
    path = Path("chat.md")
    path.write_text("mine")
    assert refusal(path).code == "TW-U25"
    assert path.read_text() == "mine"
    save(path, "demo", SAID, overwrite=True)
    assert "Because." in path.read_text()


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_failure_leaves_everything_as_it_was(overwrite: bool) -> None:
    path = Path("chat.md")
    if overwrite:
        path.write_text("mine")
    unwritable = SAID.with_message("user", "\ud800")  # no UTF-8: the writing fails in the middle
    assert refusal(path, unwritable, overwrite=overwrite).code == "TW-U25"
    assert [file.name for file in Path().iterdir()] == (["chat.md"] if overwrite else [])
    assert not overwrite or path.read_text() == "mine"


def test_names_that_no_folder_can_hold() -> None:
    for name in ("~nobody-of-that-name/chat.md", "x" * 300 + ".md", "no/such/chat.json"):
        path, there = target(name)
        assert not there
        assert refusal(path).code == "TW-U25"


def test_a_tilde_is_the_home_folder() -> None:
    (Path.home() / "chat.md").write_text("mine")
    assert target("~/chat.md") == (Path.home() / "chat.md", True)


def test_the_name_that_is_offered_is_one_of_a_file_for_a_server_elsewhere_too() -> None:
    assert file_name("demo") == "demo.md"
    assert file_name("http://127.0.0.1:9000/v1") == "http-127.0.0.1-9000-v1.md"
