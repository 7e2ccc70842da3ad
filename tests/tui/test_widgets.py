"""The pieces that several screens share."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.content import Content

from tests.tui.fake_journey import FakeJourney
from tests.tui.walking import StillApp, answered, to_chat, to_machine
from wizard.advise.advice import Memory
from wizard.tui.widgets.bill import cells, parts
from wizard.tui.widgets.chrome import MOST_LINES, KeyBar, shown_bindings
from wizard.tui.widgets.picker import Picker

SIZE = st.integers(0, 2**40)


@st.composite
def bills(draw: st.DrawFn) -> Memory:
    weights, per_token, tokens = draw(SIZE), draw(st.integers(0, 2**20)), draw(st.integers(0, 2**16))
    activations, overhead = draw(SIZE), draw(SIZE)
    total = weights + per_token * tokens + activations + overhead
    return Memory(weights, per_token, tokens, activations, overhead, total, draw(SIZE))


@given(bills(), st.integers(10, 200))
def test_a_bar_is_as_wide_as_it_should_be_and_shows_whatever_is_not_nothing(memory: Memory, width: int) -> None:
    used = cells(memory, width)
    assert sum(used) == width
    assert min(used) >= 0
    fits = memory.total_bytes <= memory.budget_bytes
    for count, (_, _, name, size, _) in zip(used, parts(memory), strict=True):
        assert (count > 0) >= (size > 0 and name != "too much"), name
    assert parts(memory)[-1][2] == ("left free" if fits else "too much")


def test_the_parts_of_a_bill_can_be_told_apart_without_colours() -> None:
    marks = [part[0] for part in parts(Memory(1, 1, 1, 1, 1, 4, 9))]
    assert len(set(marks)) == len(marks)


async def test_every_shown_key_is_in_the_key_bar_and_no_line_is_too_long() -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        chat = await to_chat(pilot)
        await pilot.press(*"Q", "enter")
        await answered(pilot, chat)
        bar = chat.query_one(KeyBar)
        lines = bar.lines(78)
        assert len(lines) <= MOST_LINES
        assert all(line.cell_length <= 78 for line in lines)
        text = " ".join(line.plain for line in lines)
        for binding in shown_bindings(chat):
            assert binding.description.capitalize() in text


async def test_a_key_in_the_bar_can_be_clicked() -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        machine = await to_machine(pilot)
        line = machine.query_one(KeyBar).lines(78)[0].plain
        await pilot.click(KeyBar, offset=(1 + line.index("Help"), 0))
        await pilot.pause()
        assert app.screen is not machine


class PickerApp(App[None]):
    def compose(self) -> ComposeResult:
        yield Picker()


async def test_a_picker_points_at_its_row_and_shows_markup_as_it_is() -> None:
    app = PickerApp()
    async with app.run_test() as pilot:
        picker = app.query_one(Picker)
        picker.show([Content("[/]\n[bold]"), Content("two")], 1)
        prompts = [str(option.prompt) for option in picker.options]
        assert prompts == ["  [/]\n  [bold]", "▸ two"]
        picker.focus()
        await pilot.press("up")
        prompts = [str(option.prompt) for option in picker.options]
        assert prompts == ["▸ [/]\n  [bold]", "  two"]
        picker.show([], None)
        await pilot.press("down", "enter")
        assert picker.highlighted is None
