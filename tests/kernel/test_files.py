"""Files in one piece."""

from __future__ import annotations

from pathlib import Path

import pytest

from wizard.kernel.files import private_folder, unfinished, write_whole


def test_a_file_is_replaced_and_private_if_asked(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_whole(path, "one ‹é›")
    write_whole(path, b"two")
    assert path.read_bytes() == b"two"
    write_whole(tmp_path / "b", "mine", private=True)
    assert (tmp_path / "b").stat().st_mode & 0o077 == 0
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.json", "b"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the kernel has no /dev/full")
def test_a_full_disk_leaves_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("before")
    unfinished(path).symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, "after")
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("a.json", "before")]
    with pytest.raises(UnicodeError):
        write_whole(path, "\ud800")
    assert path.read_text() == "before"


def test_folders_that_are_missing_are_private_and_others_unchanged(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir(mode=0o755)
    private_folder(tmp_path / "there" / "a" / "b")
    modes = {name: (tmp_path / "there" / name).stat().st_mode & 0o777 for name in (".", "a", "a/b")}
    assert modes == {".": 0o755, "a": 0o700, "a/b": 0o700}
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="exists"):
        private_folder(tmp_path / "file")
