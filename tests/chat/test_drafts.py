"""Drafts on the disk."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from wizard.chat.drafts import LONGEST, Draft, Drafts
from wizard.chat.history import History

DRAFT = Draft("What is “Triton”?\n", ("one", "two"))


@pytest.fixture
def drafts(tmp_path: Path) -> Drafts:
    return Drafts.of(History(tmp_path / "chats" / "chats.sqlite3"), "http://[::1]:9000/v1")


def test_only_its_owner_can_read_it(drafts: Drafts) -> None:
    drafts.save(DRAFT)
    assert drafts.load() == DRAFT
    assert stat.S_IMODE(drafts.path.stat().st_mode) == 0o600
    for folder in (drafts.path.parent, drafts.path.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [path.name for path in drafts.path.parent.iterdir()] == [drafts.path.name]


def test_an_empty_one_leaves_no_file(drafts: Drafts) -> None:
    drafts.save(DRAFT)
    drafts.save(Draft())
    drafts.save(Draft())
    assert drafts.load() == Draft()
    assert not drafts.path.exists()


@pytest.mark.parametrize("damage", [b"", b"{", b"[1]", b"\xff", b'{"text": 3}', b" " * (LONGEST + 1)])
def test_a_damaged_file_is_no_draft(drafts: Drafts, damage: bytes) -> None:
    drafts.save(DRAFT)
    drafts.path.write_bytes(damage)
    assert drafts.load() == Draft()


def test_each_server_has_its_own(drafts: Drafts, tmp_path: Path) -> None:
    drafts.save(DRAFT)
    assert Drafts.of(History(tmp_path / "chats" / "chats.sqlite3"), "demo").load() == Draft()


def test_a_lone_surrogate_and_a_disk_that_refuses_do_no_harm(drafts: Drafts, tmp_path: Path) -> None:
    drafts.save(Draft("a\udcff"))
    assert drafts.load() == Draft("a?")
    (tmp_path / "file").write_text("")
    blocked = Drafts(tmp_path / "file" / "draft.json")
    blocked.save(DRAFT)
    assert blocked.load() == Draft()
