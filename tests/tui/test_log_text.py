"""The lines of a log as rows and matches: wrapped, dropped, found."""

from __future__ import annotations

import pytest

from wizard.tui.views.log_text import LogText


def rows(text: LogText) -> list[str]:
    return [text.text(text.row(at)) for at in range(text.height)]


def log(*lines: str, most: int = 100, width: int | None = None) -> LogText:
    text = LogText(most)
    text.wrap(width)
    text.add(lines)
    return text


def test_a_line_is_a_row_until_it_is_wrapped() -> None:
    text = log("0123456789", "", "ab")
    assert rows(text) == ["0123456789", "", "ab"]
    text.wrap(4)
    assert rows(text) == ["0123", "4567", "89", "", "ab"]
    assert [text.row_of(0, column) for column in (0, 3, 4, 9)] == [0, 0, 1, 2]
    assert text.row_of(2) == 4
    text.wrap(None)
    assert rows(text) == ["0123456789", "", "ab"]


def test_wide_characters_are_counted_and_not_cut() -> None:
    text = log("모델을 읽는다", width=5)
    assert rows(text) == ["모델", "을 읽", "는다"]
    assert text.longest == 13


def test_what_is_copied_breaks_only_where_the_lines_do() -> None:
    text = log("0123456789", "ab", width=4)
    assert text.joined(0, 5) == "0123456789\nab"
    assert text.joined(1, 3) == "456789"
    assert text.joined(3, 99) == "ab"


@pytest.mark.parametrize("width", [None, 3])
def test_the_oldest_lines_go_and_numbers_stay(width: int | None) -> None:
    text = log("aaaa", "b", "c", most=3, width=width)
    text.seek("b")
    assert text.matches == [(1, 0, 1)]
    assert text.add(["d"]) == (1 if width is None else 2)
    assert rows(text) == ["b", "c", "d"]
    assert text.matches == [(1, 0, 1)]
    assert text.row_of(1) == 0
    text.add(["e"])
    assert text.matches == []


def test_a_flood_is_cut_before_it_is_kept() -> None:
    text = log(*map(str, range(1000)), most=10)
    assert rows(text) == [str(n) for n in range(990, 1000)]


@pytest.mark.parametrize("sought", ["[bold]", "a.c", "(x", "*", "\\d", "gpu0: 5%|"])
def test_what_is_searched_for_is_no_pattern(sought: str) -> None:
    text = log("abc 12", f"here: {sought}!", "axc")
    text.seek(sought)
    assert text.matches == [(1, 6, 6 + len(sought))]


def test_upper_and_lower_case_are_one_and_lines_that_come_are_searched() -> None:
    text = log("Error", "fine")
    text.seek("ERROR")
    text.add(["an error, an Error"])
    assert text.matches == [(0, 0, 5), (2, 3, 8), (2, 13, 18)]
    text.seek("")
    assert text.matches == []


def test_going_on_begins_again_at_the_other_end() -> None:
    text = log("x", "-", "x x")
    text.seek("x")
    assert text.beside(0, 0, 1) == (2, 0, 1)
    assert text.beside(2, 2, 1) == (0, 0, 1)
    assert text.beside(0, 0, -1) == (2, 2, 3)
    text.seek("y")
    assert text.beside(0, 0, 1) is None


def test_a_match_shows_in_every_row_that_it_runs_over() -> None:
    text = log("0123456789", width=4)
    text.seek("3456789")
    assert [text.in_row(text.row(at)) for at in range(3)] == [[(0, 3, 10)]] * 3


def test_the_last_line_with_words_is_found() -> None:
    text = log("error: a", "error: b", "fine")
    assert text.last_with("error") == 1
    assert text.last_with("nothing of it") is None
    assert text.last_with("") is None
