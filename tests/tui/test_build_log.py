"""The output of a build: searched, followed, wrapped, copied, while it comes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Set
from dataclasses import dataclass, field
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Static

from tests.tui.fake_journey import FakeJourney
from tests.tui.walking import StillApp, to_build, wait_for
from wizard.plan.plan import Plan
from wizard.run.events import Event, Output, StepStarted
from wizard.tui.screens.build import BuildScreen
from wizard.tui.widgets.live_log import LiveLog
from wizard.tui.widgets.search_bar import SearchBar

LONG = "a line that is longer than any terminal that is eighty columns wide, and then some; " * 2 + "its end"


@dataclass
class FakeTalker(FakeJourney):
    """A run that says what is put into its queue."""

    log_lines: asyncio.Queue[tuple[str, ...]] = field(default_factory=asyncio.Queue)

    async def run(
        self,
        plan: Plan,
        *,
        redo: Set[str] = frozenset(),
        skip: Set[str] = frozenset(),
        leaving: threading.Event | None = None,
    ) -> AsyncGenerator[Event, None]:
        yield StepStarted("environment", "Create", 1, 6, 0.0)
        while True:
            yield Output("environment", await self.log_lines.get(), 0.0)


async def begun(pilot: Pilot[Any], made: FakeTalker, *lines: str) -> tuple[BuildScreen, LiveLog]:
    build = await to_build(pilot)
    log = build.query_one(LiveLog)
    for start in range(0, len(lines), 500):  # more at once would be skipped
        made.log_lines.put_nowait(lines[start : start + 500])
        await wait_for(pilot, lambda: log.line_count == len(lines[: start + 500]))  # noqa: B023
    return build, log


def position(build: BuildScreen) -> str:
    return str(build.query_one("#found", Static).render())


async def search(pilot: Pilot[Any], build: BuildScreen, text: str) -> None:
    await pilot.press("slash")
    await wait_for(pilot, lambda: build.query_one(SearchBar).has_focus_within)
    await pilot.press(*text)
    await wait_for(pilot, lambda: build.query_one(LiveLog).sought == text)
    await pilot.pause()


async def test_in_40_by_15_the_search_and_its_match_are_visible() -> None:
    made = FakeTalker()
    async with StillApp(made).run_test(size=(40, 15)) as pilot:
        build, log = await begun(pilot, made, "one", "two", "three")
        await search(pilot, build, "two")
        stage = build.query_one("#stage").region
        await wait_for(pilot, lambda: stage.contains_region(build.query_one(SearchBar).region))
        assert stage.overlaps(log.region)


async def test_matches_are_counted_shown_and_gone_through_while_lines_arrive() -> None:
    made = FakeTalker()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        lines = [f"line {n} {'[x]' if n % 50 == 0 else ''}" for n in range(200)]
        build, log = await begun(pilot, made, *lines)
        await search(pilot, build, "[x]")
        assert position(build) == "4 of 4"
        assert not log.follows
        assert lines[150] in log.visible_text()
        made.log_lines.put_nowait(("more [x]",))
        await wait_for(pilot, lambda: position(build) == "4 of 5")
        assert lines[150] in log.visible_text()
        await pilot.press("enter", "N")
        await wait_for(pilot, lambda: position(build) == "3 of 5")
        assert lines[100] in log.visible_text()
        await pilot.press("n", "n", "n")
        await wait_for(pilot, lambda: position(build) == "1 of 5")
        assert lines[0] in log.visible_text()
        await pilot.press("escape")
        await wait_for(pilot, lambda: not log.sought)
        assert not build.query_one(SearchBar).display
        assert pilot.app.screen is build


async def test_arrows_still_work_while_the_field_is_open_and_keys_are_letters_there() -> None:
    made = FakeTalker()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        build, log = await begun(pilot, made, "nfwcb 1", "other", "nfwcb 2")
        await search(pilot, build, "nfwcb")
        assert position(build) == "2 of 2"
        assert not log.wraps
        await pilot.press("down")
        await wait_for(pilot, lambda: position(build) == "1 of 2")
        await pilot.press("up")
        await wait_for(pilot, lambda: position(build) == "2 of 2")
        await pilot.press("escape")
        await wait_for(pilot, lambda: log.has_focus)


async def test_no_matches_are_reported_and_the_log_still_follows_its_end() -> None:
    made = FakeTalker()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        build, log = await begun(pilot, made, *map(str, range(100)))
        await search(pilot, build, "(*")
        assert position(build) == "no matches"
        assert log.follows
        await pilot.press("enter", "n", "N")
        made.log_lines.put_nowait(("(* now",))
        await wait_for(pilot, lambda: position(build) == "1")
        await pilot.press("n")
        await wait_for(pilot, lambda: position(build) == "1 of 1")


async def test_the_title_says_whether_the_end_is_followed() -> None:
    made = FakeTalker()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        _build, log = await begun(pilot, made, *map(str, range(100)))
        assert "following" in str(log.border_title)
        await pilot.press("up")
        await wait_for(pilot, lambda: "paused" in str(log.border_title))
        await pilot.press("f")
        await wait_for(pilot, lambda: "following" in str(log.border_title))
        assert log.is_vertical_scroll_end
        await pilot.press("home")
        await wait_for(pilot, lambda: log.scroll_y == 0)
        await pilot.press("end")
        await wait_for(pilot, lambda: log.follows and log.is_vertical_scroll_end)


async def test_what_is_read_stays_in_sight_while_old_lines_are_dropped() -> None:
    made = FakeTalker()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        _build, log = await begun(pilot, made, *(f"line {n}" for n in range(5000)))
        await pilot.press("up", "up", "up")
        await wait_for(pilot, lambda: not log.follows)
        seen = log.visible_text()
        made.log_lines.put_nowait(tuple(f"new {n}" for n in range(300)))
        await wait_for(pilot, lambda: log.lines[-1] == "new 299")
        await pilot.pause()
        assert log.visible_text() == seen


async def test_long_lines_are_wrapped_and_copied_whole() -> None:
    made = FakeTalker()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        _build, log = await begun(pilot, made, "first", LONG)
        assert log.max_scroll_x > 0
        await pilot.press("w")
        await wait_for(pilot, lambda: log.wraps)
        await wait_for(pilot, lambda: log.max_scroll_x == 0 and log.follows)
        await pilot.press("c")
        assert pilot.app.clipboard == f"first\n{LONG}"
        await pilot.resize_terminal(60, 24)
        await wait_for(pilot, lambda: log.max_scroll_x == 0)
        await pilot.press("w")
        await wait_for(pilot, lambda: not log.wraps and log.max_scroll_x > 0)


async def test_a_match_far_to_the_right_comes_into_sight() -> None:
    made = FakeTalker()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        build, log = await begun(pilot, made, LONG)
        await search(pilot, build, "its end")
        assert log.scroll_x > 0
        assert log.scroll_x + log.size.width >= len(LONG)


async def test_nothing_to_search_in_or_to_copy_is_no_error() -> None:
    made = FakeTalker()
    async with StillApp(made).run_test(size=(40, 15)) as pilot:
        build = await to_build(pilot)
        await search(pilot, build, "x")
        assert position(build) == "no matches"
        await pilot.press("enter", "n", "N", "w", "c", "f", "home", "end")
        await pilot.pause()
        assert pilot.app.clipboard == ""
