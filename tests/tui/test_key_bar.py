"""The footer is one line with the keys that matter now; all others are in the help and the palette."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.tui.chatting import chatting
from tests.tui.fake_journey import FakeJourney
from tests.tui.pictured import STATES
from tests.tui.values import ENDPOINT, SECOND
from tests.tui.walking import StillApp, asked, wait_for
from wizard.tui.palette import commands
from wizard.tui.widgets.chrome import KeyBar, active_keys
from wizard.tui.widgets.live_log import LiveLog

SIZES = ((80, 24), (120, 40), (40, 15))


@pytest.mark.parametrize("name", ["welcome", "machine", "model", "advice", "review", "build", "build_failed", "chat"])
async def test_it_is_one_line_with_help_in_every_stage_and_size(name: str) -> None:
    journey, walk = STATES[name]
    app = StillApp(journey())
    async with app.run_test(size=SIZES[0]) as pilot:
        await walk(pilot)
        for size in SIZES:
            await pilot.resize_terminal(*size)
            await pilot.pause()
            bar = app.screen.query_one(KeyBar)
            line = bar.line(bar.content_size.width)
            assert bar.size.height == 1
            assert line.cell_length <= bar.content_size.width
            assert "\n" not in line.plain
            assert "F1 Help" in line.plain
            assert size[0] < 80 or "^P Commands" in line.plain


async def test_related_keys_are_neighbors() -> None:
    async with chatting(FakeJourney(), (120, 40)) as (pilot, chat):
        await asked(pilot, "One", chat)
        left = chat.query_one(KeyBar).line(118).plain.partition("F1")[0]
        groups = [group.strip() for group in left.split("│")]
    assert [group.split("  ")[0] for group in groups] == ["⏎ Send", "^O Model", "^Y Copy", "^N New"]


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (120, 40)])
async def test_a_wider_line_has_all_keys_of_a_narrower_one_that_matter(size: tuple[int, int]) -> None:
    async with chatting(FakeJourney(), size) as (pilot, chat):
        await asked(pilot, "One", chat)
        assert "^R Retry" in chat.query_one(KeyBar).line(size[0] - 2).plain


async def test_every_function_key_of_the_chat_is_in_the_palette() -> None:
    async with chatting(FakeJourney()) as (pilot, chat):
        await asked(pilot, "One", chat)
        listed = {command.help for command in commands(pilot.app, chat)}  # type: ignore[arg-type]
        keys = {each.binding.key for each in active_keys(chat) if each.binding.id}
        functions = {key.upper() for key in keys if key[0] == "f" and key[1:].isdigit()}
        assert {"F4", "F6", "F7", "F8", "F9", "F10"} <= functions <= listed
        assert {"^F", "^S", "^G", "^Q"} <= listed


async def test_the_log_panel_follows_the_model_that_answers(tmp_path: Path) -> None:
    logs = [tmp_path / name for name in ("first.log", "second.log")]
    for log in logs:
        log.write_text(f"{log.name}\n")
    first, second = (replace(each, log=str(log)) for each, log in zip((ENDPOINT, SECOND), logs, strict=True))
    async with chatting(FakeJourney(running=(first, second))) as (pilot, chat):
        await pilot.press("f7")
        await wait_for(pilot, lambda: chat.query_one(LiveLog).lines == ["first.log"])
        chat.go_on_with(second)
        await wait_for(pilot, lambda: chat.query_one(LiveLog).lines == ["second.log"])
