"""Completion of paths."""

from __future__ import annotations

import subprocess
from pathlib import Path

from wizard.chat.paths import completions


def test_hidden_and_ignored_ones_come_last(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    for name in (".env", "build.log", "b.md", "A.py"):
        (tmp_path / name).write_text("")
    (tmp_path / "src").mkdir()
    (tmp_path / ".gitignore").write_text("*.log\n")
    assert completions("", tmp_path, most=9) == ["A.py", "b.md", "src/", ".env", ".git/", ".gitignore", "build.log"]
    assert completions("B", tmp_path) == ["b.md", "build.log"]


def test_folders_are_completed_one_after_the_other(tmp_path: Path) -> None:
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "src" / "deep.py").write_text("")
    assert completions("src/de", tmp_path) == ["src/deep/", "src/deep.py"]
    assert completions("src/deep/", tmp_path) == []
    assert completions(f"{tmp_path}/s", tmp_path) == [f"{tmp_path}/src/"]


def test_what_cannot_be_listed_has_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for typed in ("nowhere/", "file/", "a\0/", "~nobody-of-that-name/x"):
        assert completions(typed, tmp_path) == []


def test_only_the_first_are_given(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number:02}").write_text("")
    assert completions("", tmp_path) == ["00", "01", "02", "03", "04"]
