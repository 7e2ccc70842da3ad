"""Messages of parsers come from our catalog, and so in every language."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from pydantic import TypeAdapter, ValidationError

from tests import pseudo
from wizard.kernel import toml
from wizard.kernel.errors import UsageError, WorkspaceError
from wizard.kernel.paths import Workspace
from wizard.kernel.reasons import misfit, unreadable, unwritten
from wizard.kernel.values import from_data, from_json


@pytest.fixture
def few_files(tmp_path: Path) -> Iterator[Path]:
    """A disk with room, which takes no more files."""
    command = ["mount", "-t", "tmpfs", "-o", "size=1m,nr_inodes=2", "none", tmp_path]
    made = subprocess.run(command, check=False, capture_output=True)
    if made.returncode:
        pytest.skip(f"cannot mount a disk here: {made.stderr.decode().strip()}")
    (tmp_path / "only").touch()
    yield tmp_path
    subprocess.run(["umount", "--lazy", tmp_path], check=True)


def test_a_disk_that_takes_no_more_files_is_not_called_full(few_files: Path) -> None:
    with pytest.raises(WorkspaceError) as caught:
        Workspace(few_files / "new" / "one").make()
    assert "no inodes left" in caught.value.what
    with pytest.raises(OSError, match="No space left") as full:
        (few_files / "only").write_bytes(b"x" * 2**21)
    assert unwritten(full.value, Path("/proc/self/mem")) == "No space left on device"


@dataclass(frozen=True, slots=True)
class Part:
    size: int


@dataclass(frozen=True, slots=True)
class Whole:
    name: str
    share: float = 0.5
    shown: bool = True
    side: Literal["left", "right"] = "left"
    words: tuple[str, ...] = ()
    texts: dict[str, str] = field(default_factory=dict)
    part: Part | None = None


def toml_error(text: str) -> Exception:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the parser's own
        toml.loads(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("model = demo", "line 1, column 9: invalid value; strings need quotation marks"),
        ("a = 1\nb", "end of file: expected: name = value, or [table]"),
        ("a = 1\nb 2", "line 2, column 3: expected: name = value, or [table]"),
        ("= 2", "line 1, column 1: expected: name = value, or [table]"),
        ("a = 1 b = 2", "line 1, column 7: expected the end of the line"),
        ("a = 1\na = 2\nb = 3", "line 2, column 6: this key or table is already defined"),
        ("[a]\n[a]", "line 2, column 3: this key or table is already defined"),
        ("a = {b = 1, b = 2}", "line 1, column 18: this key or table is already defined"),
        ('a = "x', "end of file: unclosed quotation mark or bracket"),
        ("[a", "end of file: unclosed quotation mark or bracket"),
        ('a = "\\x"', "line 1, column 8: invalid character"),
        ("a = 2026-02-31", "line 1, column 5: invalid value; strings need quotation marks"),
    ],
)
def test_what_is_wrong_with_toml_and_where(text: str, reason: str) -> None:
    assert unreadable(toml_error(text)) == reason


def test_what_else_keeps_a_file_from_being_read() -> None:
    with pytest.raises(UnicodeDecodeError) as bad:
        b"ab\xff".decode()
    assert unreadable(bad.value) == "byte 3 is not UTF-8"
    assert unreadable(RecursionError("maximum recursion depth exceeded")) == "it is nested too deeply"
    assert unreadable(PermissionError(13, "Permission denied")) == "Permission denied"
    assert unreadable(ValueError("something new")) == "something new"
    with pytest.raises(json.JSONDecodeError) as broken:
        json.loads('{"a":\n x}')
    assert unreadable(broken.value) == "line 2, column 2"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({}, "name: missing"),
        ({"name": None}, "name: missing"),
        ({"name": 3}, "name: must be a string, not 3"),
        ({"name": "x", "share": "much"}, "share: must be a number, not 'much'"),
        ({"name": "x", "shown": "perhaps"}, "shown: must be true or false, not 'perhaps'"),
        ({"name": "x", "side": "up"}, "side: must be one of 'left', 'right', not 'up'"),
        ({"name": "x", "words": "one"}, "words: must be a list, not 'one'"),
        ({"name": "x", "words": [1]}, "words.0: must be a string, not 1"),
        ({"name": "x", "texts": 3}, "texts: must be a table, not 3"),
        ({"name": "x", "part": 3}, "part: must be a table, not 3"),
        ({"name": "x", "part": {"size": 1.5}}, "part.size: must be an integer, not 1.5"),
        ([], "the top level: must be a table, not []"),
        ({"name": 10**100}, "name: must be a string, not 1" + "0" * 59 + " …"),
    ],
)
def test_the_field_and_what_was_expected_of_it(data: object, reason: str) -> None:
    with pytest.raises(UsageError) as caught:
        from_data(Whole, data, where="a file")
    assert caught.value.code == "TW-K01"
    assert caught.value.what == f"a file is invalid: {reason}"


def test_a_problem_without_our_text_keeps_pydantics() -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(complex).validate_python("x")
    first = caught.value.errors()[0]
    assert misfit(first) == first["msg"]


def test_all_of_it_comes_from_the_catalog() -> None:
    with pseudo.spoken():
        for text in ("model = demo", "a", "[a]\n[a]", 'a = "x', "a = 1 b", 'a = "\\x"'):
            assert pseudo.escaped(unreadable(toml_error(text))) == []
        for data in ({}, {"name": 3}, {"name": "x", "side": "up"}):
            with pytest.raises(UsageError) as caught:
                from_data(Whole, data, where="FILE")
            assert pseudo.escaped(caught.value.what, ("name", "side", "left", "right", "up")) == []
        with pytest.raises(UsageError) as caught:
            from_json(Whole, "{", where="FILE")
        assert pseudo.escaped(caught.value.what) == []


def test_half_a_surrogate_pair_is_no_text() -> None:
    with pytest.raises(UsageError, match=r"half a surrogate pair \(\\udc00\)") as caught:
        from_json(dict, '{"name": ["\\ud83d\\ude00", "\\udc00"]}', where="host.json")
    assert caught.value.code == "TW-K02"
