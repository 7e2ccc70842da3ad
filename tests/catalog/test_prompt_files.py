"""The user's prompts."""

from __future__ import annotations

import pytest

from wizard.catalog import prompt_files
from wizard.catalog.profiles import user_folder
from wizard.kernel.errors import UsageError


def test_each_text_file_is_a_prompt() -> None:
    assert prompt_files.names() == []
    folder = user_folder() / "prompts"
    (folder / "folder.md").mkdir(parents=True)
    (folder / "b.md").write_text("\ufeffReview “this”.\n\n")
    (folder / "a.txt").write_text("Short.")
    (folder / "c.toml").write_text("")
    assert prompt_files.names() == ["a", "b"]
    assert prompt_files.text("b") == "Review “this”."


def test_an_unknown_unreadable_or_long_one_is_refused() -> None:
    folder = user_folder() / "prompts"
    folder.mkdir(parents=True)
    (folder / "bad.md").write_bytes(b"\xff")
    (folder / "long.md").write_bytes(b"x" * (prompt_files.LONGEST + 1))
    for name in ("none", "../bad", "", "bad", "long"):
        with pytest.raises(UsageError) as error:
            prompt_files.text(name)
        assert error.value.code == "TW-D13"
