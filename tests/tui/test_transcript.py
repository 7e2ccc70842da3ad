"""The transcript: Markdown as lines, growing, and a conversation of any length."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from textual.app import App, ComposeResult
from textual.geometry import Offset
from textual.selection import Selection

from tests.tui.chatting import in_sight, lines
from tests.tui.walking import wait_for
from wizard.chat.conversation import Message, Stats
from wizard.tui.widgets.markdown_growing import growing
from wizard.tui.widgets.markdown_lines import Block, blocks
from wizard.tui.widgets.transcript import Transcript
from wizard.tui.widgets.turn import LONGEST, Turn

EVERYTHING = """# Title with `code`

Some **bold** and [a link](http://example.org/x) and
a second line

- one
- two
  1. first
  2. second

> quoted

| a | long column |
|---|---|
| 1 | a cell with many words in it |

```python
def f(x):
    return 1
```

---
<b>tags</b> and [bold]markup[/] stay
"""


def shown(text: str, width: int) -> list[str]:
    return [line.plain.rstrip() for block in blocks(text) for line in block.lines(width)]


def test_markdown_becomes_lines() -> None:
    assert shown(EVERYTHING, 60) == [
        "Title with code",
        "Some bold and a link (http://example.org/x) and",
        "a second line",
        "• one",
        "• two",
        "  1. first",
        "  2. second",
        "▏ quoted",
        "a │ long column",
        "──┼─────────────────────────────",
        "1 │ a cell with many words in it",
        "│ python",
        "│ def f(x):",
        "│     return 1",
        "─" * 60,
        "<b>tags</b> and [bold]markup[/] stay",
    ]


@pytest.mark.parametrize("width", [1, 3, 8, 20, 33])
def test_no_line_is_wider_than_the_room_and_nothing_is_lost(width: int) -> None:
    lines = [line for block in blocks(EVERYTHING) for line in block.lines(width)]
    least = 30  # what a table of two columns and its bar, or a list in a list, takes at least
    assert max(line.cell_length for line in lines) <= max(width, least)
    letters = "".join("".join(line.plain.split()) for line in lines)
    for word in ("Title", "second", "quoted", "python"):
        assert word in letters.replace("│", "").replace("▏", "") or width < len(word) + 6


def test_a_table_with_too_many_columns_for_the_screen_shows_each_row_below_the_one_before() -> None:
    head = "| name | " + " | ".join(f"column {number}" for number in range(6)) + " |\n" + "|---" * 7 + "|\n"
    text = head + "".join(f"| {name} | " + " | ".join(["a few words"] * 6) + " |\n" for name in ("one", "two"))
    assert shown(text, 100)[0].startswith("name │ column 0")
    lines = shown(text, 40)
    assert lines[:3] == ["name: one", "column 0: a few words", "column 1: a few words"]
    assert lines[7:9] == ["─" * 40, "name: two"]
    assert shown(head, 40)[0].startswith("nam")  # the rows may still come


def test_wide_characters_and_tabs_in_code_are_folded_by_cells() -> None:
    lines = [line for block in blocks("```\n\t한국어한국어한국어\n```") for line in block.lines(20)]
    assert {line.cell_length for line in lines} == {20}


@pytest.mark.parametrize("step", [1, 7, 50])
def test_a_text_that_grows_ends_as_the_whole_text_is(step: int) -> None:
    turn, whole = Turn("assistant", grows=True), Turn("assistant", EVERYTHING)
    for start in range(0, len(EVERYTHING), step):
        turn.add(EVERYTHING[start : start + step])
        turn.lines(60)
    assert turn.text == EVERYTHING
    assert [line.plain for line in turn.lines(60)] == [line.plain for line in whole.lines(60)]
    turn.finish()
    assert [line.plain for line in turn.lines(60)] == [line.plain for line in whole.lines(60)]


def test_only_the_last_block_of_a_growing_text_is_read_again() -> None:
    done, left, rest = growing("one\n\ntwo\n\n```py\nx = 1\n")
    assert [block.text.plain for block in done] == ["one", "two"]
    assert left.startswith("```py")
    assert [(block.kind, block.partial) for block in rest] == [("code", True)]
    assert growing("") == ([], "", [])


def test_what_a_terminal_would_obey_is_left_out() -> None:
    turn = Turn("assistant", "a\x1b[31mb\x07 \x9b2Jc")
    assert "ab 2Jc" in "".join(line.plain for line in turn.lines(40))


def test_of_a_pasted_book_the_beginning_and_the_end_are_shown() -> None:
    turn = Turn("user", "A" * LONGEST + "x" * 100_000 + "Z" * LONGEST)
    text = "\n".join(line.plain for line in turn.lines(80))
    assert "102,000 more characters" in text
    assert "A" in text
    assert "Z" in text
    assert len(turn.lines(80)) < 40
    assert len(turn.text) == 100_000 + 2 * LONGEST


class Shown(App[None]):
    """A transcript and nothing else."""

    CSS = "Transcript { height: 1fr; }"

    def compose(self) -> ComposeResult:
        yield Transcript()


@asynccontextmanager
async def transcript(messages: list[Message], size: tuple[int, int] = (60, 20)) -> AsyncGenerator[tuple, None]:  # type: ignore[type-arg]
    async with Shown().run_test(size=size) as pilot:
        view = pilot.app.query_one(Transcript)
        view.show(messages)
        await pilot.pause()
        yield pilot, view


def long(turns: int) -> list[Message]:
    """A conversation in which every line says which it is."""
    answer = [f"line {line} has **some** words that are `wrapped` where the terminal is narrow" for line in range(30)]
    return [
        message
        for turn in range(turns)
        for message in (
            Message("user", f"question {turn}"),
            Message("assistant", f"turn {turn}\n\n" + "\n\n".join(answer)),
        )
    ]


async def test_of_a_long_conversation_only_what_is_in_sight_is_laid_out() -> None:
    async with transcript(long(100)) as (_pilot, view):
        assert sum(turn.known for turn in view.turns) <= 3
        assert view.is_vertical_scroll_end
        assert "line 29" in "\n".join(in_sight(view))


async def test_scrolling_back_page_by_page_shows_every_line_once() -> None:
    async with transcript(long(12)) as (pilot, view):
        seen = in_sight(view)
        page = view.size.height
        while view.scroll_offset.y > 0:
            rest = view.virtual_size.height - view.scroll_offset.y
            view.scroll_relative(y=-page, animate=False)
            await pilot.pause()
            moved = view.virtual_size.height - view.scroll_offset.y - rest
            seen = in_sight(view)[:moved] + seen
    assert [line for line in seen if line] == [
        line.plain[2:].rstrip() for turn in view.turns for line in turn.lines(59) if line.plain[2:].strip()
    ]


async def test_it_follows_the_end_until_one_scrolls_up() -> None:
    async with transcript(long(3)) as (pilot, view):
        turn = view.say(Turn("assistant", grows=True))
        turn.add("first\n\n" * 30)
        view.grown()
        await wait_for(pilot, lambda: view.is_vertical_scroll_end and "first" in "".join(in_sight(view)))
        view.scroll_relative(y=-10, animate=False)
        await pilot.pause()
        here = in_sight(view)
        turn.add("last\n\n" * 30)
        view.grown()
        await wait_for(pilot, lambda: "last" in "".join(lines(view)))
        assert in_sight(view) == here
        view.scroll_end(animate=False)
        await pilot.pause()
        turn.add("again\n\n")
        view.grown()
        await wait_for(pilot, lambda: "again" in "".join(in_sight(view)))


async def test_what_came_after_a_picture_is_laid_out_with_the_next_one_and_not_with_each_repaint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted = list[str]()

    def count(text: str, after: Block | None = None) -> tuple[list[Block], str, list[Block]]:
        counted.append(text)
        return growing(text, after)

    monkeypatch.setattr("wizard.tui.widgets.turn.growing", count)
    async with transcript([]) as (pilot, view):
        turn = view.say(Turn("assistant", grows=True))
        turn.add("one ")
        view.complete()
        assert in_sight(view)[:2] == ["", "one"]
        before = len(counted)
        turn.add("two")
        assert in_sight(view)[:2] == ["", "one"]
        assert len(counted) == before
        view.grown()
        await wait_for(pilot, lambda: in_sight(view)[:2] == ["", "one two"])


async def test_another_width_keeps_what_is_read_in_sight() -> None:
    async with transcript(long(20), (80, 24)) as (pilot, view):
        view.go_to(view.turns[21], 5)
        await pilot.pause()
        top = next(line for line in in_sight(view) if line)
        await pilot.resize_terminal(44, 24)
        await wait_for(pilot, lambda: view.size.width == 44)
        await pilot.pause()
        assert "line" in top
        assert top.split(" has")[0] in "\n".join(in_sight(view))


async def test_turns_are_gone_to_one_after_the_other_and_behind_the_last_is_the_end() -> None:
    async with transcript(long(5)) as (pilot, view):
        view.step(-1)
        await pilot.pause()
        assert view.current is view.turns[-1]
        view.step(-1)
        await pilot.pause()
        assert view.current is view.turns[-2]
        assert "question 4" in "\n".join(in_sight(view)[:3])
        view.step(1)
        view.step(1)
        await pilot.pause()
        assert view.current is None
        assert view.is_vertical_scroll_end


async def test_matches_are_found_backwards_in_turns_not_yet_shown() -> None:
    async with transcript(long(40)) as (pilot, view):
        assert view.seek("TURN 7", 0) == (1, 1)
        await pilot.pause()
        assert "turn 7" in "\n".join(in_sight(view))
        at, count = view.seek("line 3 ", 0)
        assert (at, count) == (40, 40)
        assert view.seek("line 3 ", -1) == (39, 40)
        assert view.seek("line 3 ", 1) == (40, 40)
        assert view.seek("line 3 ", 1) == (40, 40)
        assert view.seek("nowhere", 0) == (0, 0)
        assert view.seek("", 0) == (0, 0)
        assert view.seek("turn 7", 0) == (1, 1)
        view.detail(detailed=True)  # one more line above each turn
        await pilot.pause()
        assert view.seek("turn 7", -1) == (1, 1)


async def test_the_next_block_of_code_is_the_one_before_the_marked_one_in_the_turn_that_was_gone_to_if_any() -> None:
    code = [Message("assistant", "```\n1\n```\n\n```\n2\n```"), Message("assistant", "```\n3\n```")]
    async with transcript(code) as (_pilot, view):
        assert [view.next_code() for _ in range(4)] == [("3\n", 3, 3), ("2\n", 2, 3), ("1\n", 1, 3), ("3\n", 3, 3)]
        view.step(-1)
        view.step(-1)
        assert [view.next_code() for _ in range(3)] == [("2\n", 2, 2), ("1\n", 1, 2), ("2\n", 2, 2)]
    async with transcript(long(2)) as (_pilot, view):
        assert view.next_code() is None


async def test_what_the_mouse_selects_is_the_text_without_bars() -> None:
    async with transcript([Message("assistant", "one two\n\nthree")]) as (_pilot, view):
        selected, _end = view.get_selection(Selection(Offset(4, 1), Offset(3, 3)))
        assert selected == "two\n\nthr"
        assert view.get_selection(Selection(None, None))[0] == "\none two\n\nthree"


@pytest.mark.parametrize("size", [(1, 1), (2, 2), (5, 3), (10, 4), (20, 8)])
async def test_no_terminal_is_too_small(size: tuple[int, int]) -> None:
    async with transcript([Message("user", "Q"), Message("assistant", EVERYTHING)], size) as (pilot, view):
        view.scroll_relative(y=-3, animate=False)
        await pilot.pause()
        view.seek("bold", 0)
        view.step(-1)
        await pilot.pause()
        assert len(in_sight(view)) == view.size.height


@pytest.mark.parametrize("width", [20, 38, 78])
async def test_the_line_of_a_thought_is_never_cut_and_a_click_on_it_opens_it(width: int) -> None:
    stats = Stats(512, 0.1, 4.0, "length", 512, 3.9)
    cut_off = Message("assistant", "", stats=stats, thought="Wait.", model="a")
    async with transcript([Message("user", "Why?"), cut_off], (width, 30)) as (pilot, view):
        text = " ".join(in_sight(view))
        assert "max_tokens reached before the answer: raise it, or turn thinking off · F12" in text
        assert "Wait." not in text
        title = next(at for at, line in enumerate(lines(view)) if line.startswith("▸"))
        await pilot.click(view, offset=(4, title - 1))
        assert "Wait." not in lines(view)
        await pilot.click(view, offset=(4, title))
        assert "Wait." in lines(view)
        await pilot.click(view, offset=(4, title))
        assert "Wait." not in lines(view)
