"""Conversations that are kept: all that was said, nothing that was deleted, and never a file overwritten."""

from __future__ import annotations

import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from wizard.chat.conversation import Conversation, Sampling, Stats
from wizard.chat.history import History, Kept
from wizard.kernel.errors import UsageError, WorkspaceError
from wizard.kernel.paths import Workspace

SAID = (
    Conversation(sampling=Sampling(temperature=0.5, stop=("END",)))
    .with_message("system", "Be brief.")
    .with_message("user", "트리톤 서버란 무엇인가요?")
    .with_message("assistant", "A server for models. 100% open.", stats=Stats(7, 0.1, 0.5, "stop"), at=12.5)
)


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History.of(Workspace.at(tmp_path / "ws"))


def kept(conversation: Conversation = SAID, **more: str) -> Kept:
    return Kept(conversation, "demo", "server", **more)


def bytes_of(history: History) -> bytes:
    return b"".join(path.read_bytes() for path in history.path.parent.iterdir())


def test_looking_makes_nothing(history: History) -> None:
    assert history.entries() == []
    assert history.search("x") == []
    assert history.newest() is None
    assert not history.path.parent.exists()


def test_what_is_kept_comes_back(history: History) -> None:
    saved = history.save(kept(SAID.asked_again("Edited?").with_message("assistant", "Yes.", at=20.0)))
    loaded = history.load(saved.id or 0)
    assert loaded == saved
    assert loaded.conversation.versions()[0][0].answer == "A server for models. 100% open."
    assert loaded.conversation.sampling == SAID.sampling
    assert loaded.title == "Edited?"


def test_a_continued_conversation_stays_a_single_entry(history: History) -> None:
    first = history.save(kept())
    second = history.save(replace(first, conversation=SAID.with_message("user", "More?")))
    shorter = history.save(replace(second, conversation=SAID))
    assert (second.id, shorter.id) == (first.id, first.id)
    (entry,) = history.entries()
    assert (entry.title, entry.model, entry.endpoint, entry.messages) == (SAID.title, "demo", "server", 3)
    assert history.load(entry.id).conversation == SAID


def test_the_newest_is_first_and_an_old_one_comes_up_again(history: History) -> None:
    old = history.save(kept(title="old"))
    history.save(kept(title="new"))
    assert [entry.title for entry in history.entries()] == ["new", "old"]
    history.save(old)
    assert [entry.title for entry in history.entries()] == ["old", "new"]
    assert [entry.title for entry in history.entries(limit=1, offset=1)] == ["new"]
    newest = history.newest()
    assert newest is not None
    assert newest.title == "old"


def test_two_wizards_with_the_same_conversation_lose_nothing(history: History) -> None:
    here = there = history.save(kept())
    here = history.save(replace(here, conversation=SAID.with_message("user", "mine")))
    there = history.save(replace(there, conversation=SAID.with_message("user", "theirs")))
    assert here.id != there.id
    assert {entry.excerpt for entry in history.search("mine")} == {"mine"}
    assert {entry.excerpt for entry in history.search("theirs")} == {"theirs"}


def test_many_at_once(history: History) -> None:
    def talk(number: int) -> None:
        now = Kept(Conversation().with_message("user", f"thread {number}"))
        for turn in range(5):
            now = history.save(replace(now, conversation=now.conversation.with_message("assistant", f"turn {turn}")))

    threads = [threading.Thread(target=talk, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {entry.title: entry.messages for entry in history.entries()} == {
        f"thread {number}": 6 for number in range(4)
    }


@pytest.mark.parametrize("text", ["트리톤", "톤", "서버란", "FOR MODELS", "00%", "dels. 1"])
def test_search_finds_parts_of_words_in_any_language(history: History, text: str) -> None:
    history.save(kept())
    history.save(Kept(Conversation().with_message("user", "Something else entirely, 1000 times")))
    (entry,) = history.search(text)
    assert text.lower() in entry.excerpt.lower()


@pytest.mark.parametrize("text", ['"', 'a" OR "b', "%", "_", "NEAR(", "*", "a\0b\0c", "x \ud800 y", "\\"])
def test_search_takes_every_text_as_it_is(history: History, text: str) -> None:
    history.save(Kept(Conversation().with_message("user", "nothing of the kind")))
    assert history.search(text) == []
    history.save(Kept(Conversation().with_message("user", f"here: {text}")))
    assert len(history.search(text)) == 1


def test_search_knows_the_case_of_every_language(history: History) -> None:
    history.save(Kept(Conversation().with_message("user", "Übung macht den Meister")))
    assert [entry.excerpt for entry in history.search("ÜBUNG MACHT")] == ["Übung macht den Meister"]
    assert history.search("übüng") == []


def test_titles_are_searched_and_can_be_changed(history: History) -> None:
    saved = history.save(kept())
    history.rename(saved.id or 0, "  My\nserver ")
    assert history.load(saved.id or 0).title == "My server"
    assert [entry.excerpt for entry in history.search("my serv")] == [""]
    with pytest.raises(UsageError) as raised:
        history.rename(saved.id or 0, "  ")
    assert raised.value.code == "TW-C24"


def test_deleted_text_is_gone_from_the_file(history: History) -> None:
    secret = "the password is swordfish " * 400  # more than a page
    saved = history.save(
        Kept(Conversation().with_message("user", secret).with_message("assistant", "Noted: swordfish."))
    )
    history.save(kept())
    assert b"swordfish" in bytes_of(history)
    history.delete(saved.id or 0)
    assert b"swordfish" not in bytes_of(history)
    assert history.search("swordfish") == []
    assert len(history.entries()) == 1


def test_a_number_is_never_given_twice(history: History) -> None:
    first = history.save(kept())
    history.delete(first.id or 0)
    assert history.save(kept()).id != first.id
    for refused in (lambda: history.load(99), lambda: history.delete(99), lambda: history.rename(99, "x")):
        with pytest.raises(UsageError) as raised:
            refused()
        assert raised.value.code == "TW-C23"


def test_only_the_owner_can_read(history: History) -> None:
    history.save(kept())
    assert stat.S_IMODE(history.path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(history.path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "content", [b"no database at all, but long enough to have a header" * 40, b"SQLite format 3\0" * 9]
)
def test_a_damaged_file_is_an_error_and_stays(history: History, content: bytes) -> None:
    history.path.parent.mkdir(parents=True)
    history.path.write_bytes(content)
    for refused in (history.entries, lambda: history.save(kept()), lambda: history.delete(1)):
        with pytest.raises(WorkspaceError) as raised:
            refused()
        assert raised.value.code == "TW-C20"
    assert history.path.read_bytes() == content


def test_another_programs_database_is_left_alone(history: History) -> None:
    history.path.parent.mkdir(parents=True)
    with sqlite3.connect(history.path) as store:
        store.execute("CREATE TABLE other (x)")
    before = history.path.read_bytes()
    with pytest.raises(WorkspaceError) as raised:
        history.save(kept())
    assert raised.value.code == "TW-C20"
    assert history.path.read_bytes() == before


def test_a_newer_wizards_file_is_left_alone(history: History) -> None:
    history.save(kept())
    with sqlite3.connect(history.path) as store:
        store.execute("PRAGMA user_version = 99")
    with pytest.raises(WorkspaceError) as raised:
        history.save(kept())
    assert raised.value.code == "TW-C21"


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WorkspaceError) as raised:
        History(tmp_path / "file" / "chats" / "chats.sqlite3").save(kept())
    assert raised.value.code == "TW-C22"
    assert raised.value.what.endswith("chats.sqlite3: Not a directory")


def test_lone_surrogates_do_not_stop_the_keeping(history: History) -> None:
    saved = history.save(Kept(Conversation().with_message("user", "a \ud800 b")))
    assert history.load(saved.id or 0).conversation.messages[0].content == "a ? b"


def test_a_save_that_fails_leaves_what_was_there(history: History) -> None:
    saved = history.save(kept())
    with sqlite3.connect(history.path) as store:
        store.execute(
            "CREATE TRIGGER full BEFORE INSERT ON message WHEN new.content = 'bad' "
            "BEGIN SELECT RAISE(ABORT, 'disk full'); END"
        )
    with pytest.raises(WorkspaceError):
        history.save(replace(saved, conversation=SAID.asked_again("Edited?").with_message("assistant", "bad")))
    assert history.load(saved.id or 0) == saved


def test_a_killed_wizard_loses_nothing_that_was_answered(history: History) -> None:
    program = """
import os, signal, sys
from pathlib import Path
from wizard.chat.conversation import Conversation
from wizard.chat.history import History, Kept

history = History(Path(sys.argv[1]))
history.save(Kept(Conversation().with_message("user", "Why?").with_message("assistant", "Because.")))
with history._open(write=True) as store:
    store.execute("DELETE FROM message")  # in the middle of the next turn
    os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", program, str(history.path)], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert [each.content for each in history.load(1).conversation.messages] == ["Why?", "Because."]


def test_thoughts_are_kept_with_their_answers(history: History) -> None:
    talk = Conversation().with_message("user", "A?").with_message("assistant", "a", thought="Hm.", at=1.0)
    talk = talk.asked_again().with_message("assistant", "b", thought="Well.", at=2.0)
    kept = history.save(Kept(talk))
    assert kept.id is not None
    assert history.load(kept.id).conversation == talk
