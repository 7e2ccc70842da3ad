"""The pieces that several screens share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.content import Content
from textual.geometry import Region
from textual.widgets import Static

from tests.tui.fake_journey import FakeJourney
from tests.tui.values import choice
from tests.tui.walking import StillApp, answered, to_chat, to_machine, wait_for
from wizard.advise.advice import Memory, Offload
from wizard.tui.widgets.bill import MARKS, MemoryBill, bar
from wizard.tui.widgets.chrome import KeyBar
from wizard.tui.widgets.fields import WhatIf
from wizard.tui.widgets.lines import Lines, Text
from wizard.tui.widgets.notes import Notes
from wizard.tui.widgets.pane import Pane
from wizard.tui.widgets.picker import Picker

TOO_MUCH = Memory(6 * 2**30, 2**10, 2**20, 2**30, 2**30, 9 * 2**30, 5 * 2**30)


@given(st.integers(10, 200))
def test_a_bar_is_as_wide_as_it_should_be(width: int) -> None:
    assert bar(choice().memory, width).cell_length == bar(TOO_MUCH, width).cell_length == width


def test_the_parts_of_a_memory_breakdown_differ_without_colors() -> None:
    marks = [mark for mark, _ in MARKS.values()]
    assert len(set(marks)) == len(marks)


class LinesApp(App[None]):
    """Counts the layouts that its lines ask for."""

    def compose(self) -> ComposeResult:
        yield MemoryBill()
        yield Notes()
        yield Text()
        yield WhatIf()


@pytest.mark.parametrize("width", [1, 8, 40, 100])
async def test_lines_fit_their_width_and_are_all_there(width: int) -> None:
    app = LinesApp()
    async with app.run_test(size=(width, 60)) as pilot:
        app.query_one(MemoryBill).show(choice(memory=TOO_MUCH))
        app.query_one(Notes).show([(Content("!"), Content("a warning of several words\nand two lines"))])
        app.query_one(Text).show(Content("one line\nand another"))
        app.query_one(WhatIf).show([("tp", "4*"), ("context", "32,768")], 1)
        await pilot.pause()
        for widget in app.query(Lines):
            lines = str(widget.render()).split("\n")
            assert widget.size.height == len(lines)
            assert width < 40 or max(map(len, lines)) <= width
        if width >= 40:
            assert "excess        4.0 GiB" in str(app.query_one(MemoryBill).render())
        assert "another" in " ".join(str(app.query_one(Text).render()).split())


async def test_a_model_on_a_gpu_and_the_host_has_a_bar_of_each() -> None:
    split = choice(devices=(0,), offload=Offload(20, 33, 0, TOO_MUCH))
    app = LinesApp()
    async with app.run_test(size=(100, 60)) as pilot:
        app.query_one(MemoryBill).show(split)
        await pilot.pause()
        shown = str(app.query_one(MemoryBill).render())
        assert "Host memory: 9.0 GiB used of 5.0 GiB usable" in shown
        assert shown.count("weights ") == 2
        assert shown.index("GPU memory") < shown.index("Host memory")


async def test_lines_ask_for_a_layout_only_where_their_number_changes() -> None:
    app = LinesApp()
    async with app.run_test(size=(40, 20)) as pilot:
        text = app.query_one(Text)
        text.show(Content("one"))
        await pilot.pause()
        text.show(Content("two"))
        assert not text._layout_required
        text.show(Content("two\nlines"))
        assert text._layout_required
        await pilot.pause()
        assert text.size.height == 2


async def test_only_changed_lines_are_redrawn() -> None:
    app = LinesApp()
    async with app.run_test(size=(40, 20)) as pilot:
        text = app.query_one(Text)
        text.show(Content("one\ntwo"))
        await pilot.pause()
        text._exchange_repaint_regions()
        text.show(Content("one\ntoo"))
        assert list(text._exchange_repaint_regions()) == [Region(0, 1, 40, 1)]
        assert text.render_line(1).text == "too"
        text.show(Content("one\ntoo"))
        assert not text._exchange_repaint_regions()


async def test_keys_change_the_clicked_constraint() -> None:
    picked: list[int] = []

    class Clicked(LinesApp):
        def on_what_if_picked(self, event: WhatIf.Picked) -> None:
            picked.append(event.at)

    app = Clicked()
    async with app.run_test(size=(60, 20)) as pilot:
        app.query_one(WhatIf).show([("tp", "4"), ("context", "32,768")], 0)
        await pilot.pause()
        line = str(app.query_one(WhatIf).render())
        await pilot.click(WhatIf, offset=(line.index("context"), 0))
        await pilot.click(WhatIf, offset=(2, 0))
    assert picked == [1]


async def test_without_room_for_all_keys_activity_and_help_come_first() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(40, 15)) as pilot:
        chat = await to_chat(pilot)
        await pilot.press(*"Q", "enter")
        await answered(pilot, chat)
        bar = chat.query_one(KeyBar)
        assert bar.line(17).plain.split() == ["⏎", "Send", "F1", "Help"]
        made.hold_chat = True
        await pilot.press(*"Q", "enter")
        await wait_for(pilot, lambda: chat.view.busy)
        await pilot.pause()
        assert bar.line(27).plain.split() == ["⏎", "Send", "Esc", "Stop", "F1", "Help"]


async def test_a_key_in_the_bar_can_be_clicked() -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        machine = await to_machine(pilot)
        line = machine.query_one(KeyBar).line(78).plain
        await pilot.click(KeyBar, offset=(1 + line.index("Help"), 0))
        await pilot.pause()
        assert app.screen is not machine


class PickerApp(App[None]):
    def compose(self) -> ComposeResult:
        yield Picker()


async def test_a_picker_whose_rows_need_a_scroll_bar_wraps_them_beside_it() -> None:
    app = PickerApp()
    async with app.run_test(size=(20, 6)) as pilot:
        picker = app.query_one(Picker)
        picker.show([Content("one two three four")] * 9)  # as wide as there is room, without a scroll bar
        await wait_for(pilot, lambda: picker.show_vertical_scrollbar)
        await pilot.pause()
        assert str(picker.get_option_at_index(1).prompt) == "  one two three\n  four"


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
        picker.show([Content("other"), Content("rows")], 0)
        assert [str(option.prompt) for option in picker.options] == ["▸ other", "  rows"]
        picker.show([Content("other"), Content("rows"), Content("more")], 2)
        assert [str(option.prompt) for option in picker.options] == ["  other", "  rows", "▸ more"]
        picker.show([], None)
        await pilot.press("down", "enter")
        assert picker.highlighted is None


@pytest.mark.parametrize("size", [(40, 15), (80, 24), (120, 40)])
async def test_notifications_cover_no_key_and_no_field(size: tuple[int, int]) -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=size, notifications=True) as pilot:
        chat = await to_chat(pilot)
        app.notify("Cannot save it: the disk is full", title="TW-C04", severity="error")
        await wait_for(pilot, lambda: app.screen.query("Toast") and app.screen.query_one("Toast").region.height)
        toast = app.screen.query_one("Toast").region
        assert not any(toast.overlaps(chat.query_one(selector).region) for selector in ("KeyBar", "Prompt"))


class PaneApp(App[None]):
    def compose(self) -> ComposeResult:
        with Pane():
            yield Static("\n".join(map(str, range(100))))


async def test_no_key_that_scrolls_is_lost_before_the_next_picture() -> None:
    app = PaneApp()
    async with app.run_test(size=(20, 10)) as pilot:
        pane = app.query_one(Pane)
        for _ in range(5):
            pane.action_scroll_down()
        pane.action_scroll_up()
        await pilot.pause()
        assert pane.scroll_y == 4
