"""Lines that are appended to what a killed writer may have left."""

from __future__ import annotations

from pathlib import Path

import pytest

from wizard.kernel.lines import append


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "é\nb\n"),
        ("\n", "\né\nb\n"),
        ("{", "{\né\nb\n"),
        ("whole\n", "whole\né\nb\n"),
        ("whole\nhal", "whole\nhal\né\nb\n"),
    ],
)
def test_a_line_begins_after_what_is_there(tmp_path: Path, before: str, after: str) -> None:
    path = tmp_path / "lines"
    path.write_text(before)
    append(path, "é")
    append(path, "b")
    assert path.read_text(encoding="utf-8") == after


def test_the_file_is_made(tmp_path: Path) -> None:
    append(tmp_path / "lines", "a")
    assert (tmp_path / "lines").read_text() == "a\n"
    with pytest.raises(OSError, match="directory"):
        append(tmp_path, "a")
