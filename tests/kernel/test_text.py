from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wizard.kernel import units
from wizard.kernel.text import make_printable, plain, table, width, wrap


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;a title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link", "link"),
        ("a\rb\x00c\x9bd", "abcd"),
        ("right\u202eleft", "rightleft"),
        ("tab\tand\nline stay", "tab\tand\nline stay"),
    ],
)
def test_nothing_foreign_can_move_the_cursor(text: str, expected: str) -> None:
    assert plain(text) == expected


@given(st.text())
def test_plain_text_holds_no_escape_and_stays_as_it_is(text: str) -> None:
    once = plain(text)
    assert "\x1b" not in once
    assert plain(once) == once


def test_columns_are_aligned_also_with_wide_characters() -> None:
    lines = table([("日本", "a"), ("xy", "b")]).splitlines()
    assert [width(line[: line.index(mark)]) for line, mark in zip(lines, "ab", strict=True)] == [6, 6]


def test_what_is_to_be_typed_is_never_broken() -> None:
    text = "Stop it with `triton-wizard down demo`, or a ` alone."
    assert wrap(text, 20).split("\n") == ["Stop it with", "`triton-wizard down demo`,", "or a ` alone."]


def test_an_ascii_stream_replaces_what_it_cannot_show() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    make_printable(stream)
    print("→ é", file=stream, flush=True)
    assert raw.getvalue() == b"? ?\n"


@pytest.mark.parametrize(
    ("function", "value", "expected"),
    [
        (units.size, None, "unknown"),
        (units.size, 0, "0 B"),
        (units.size, 2048, "2 KiB"),
        (units.size, 2560, "2.5 KiB"),
        (units.size, -2560, "-2.5 KiB"),
        (units.size, 25_600, "25 KiB"),
        (units.size, 3_670_016, "3.5 MiB"),
        (units.size, 150_754_820_096, "140 GiB"),
        (units.size, 5 * 1024**4, "5.0 TiB"),
        (units.duration, 0.42, "0.4 s"),
        (units.duration, 59.6, "1 min 0 s"),
        (units.duration, 7500, "2 h 5 min"),
        (units.count, 8_030_261_248, "8.03 B"),
        (units.count, None, "unknown"),
        (units.count, 999, "999"),
        (units.count, 999_499_999, "999 M"),
        (units.count, 999_885_952, "1 B"),
        (units.count, 999_999, "1 M"),
        (units.count, 9_999_999_999_999_999, "10,000 T"),
    ],
)
def test_units_in_words(function: object, value: object, expected: str) -> None:
    assert function(value) == expected  # type: ignore[operator]
