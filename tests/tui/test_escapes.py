"""What models, tools and files say never reaches the terminal raw, on any screen."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from textual.pilot import Pilot

from tests.bench.sample import REPORT, RUNS
from tests.cli.test_escapes import EVIL, RAW
from tests.tui.chatting import to_running_chat
from tests.tui.fake_journey import FakeJourney
from tests.tui.values import CPU_HOST, ENDPOINT, FACTS, events
from tests.tui.walking import StillApp, screen, to_advice, to_build, wait_for
from wizard.bench.opened import Opened
from wizard.kernel.values import mapped
from wizard.plan.plan import Plan
from wizard.run.events import Event, Output
from wizard.tui.screens.report import ReportScreen


def drawn(pilot: Pilot[Any]) -> str:
    """All text of the screen, as it goes to the terminal."""
    strips = pilot.app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


def evil_events(plan: Plan) -> list[Event]:
    return [replace(each, lines=(f"begin {EVIL}",)) if isinstance(each, Output) else each for each in events(plan)]


@asynccontextmanager
async def app(made: FakeJourney, **options: Any) -> AsyncGenerator[Pilot[Any], None]:
    async with StillApp(made, **options).run_test(size=(100, 40)) as pilot:
        yield pilot


async def test_a_report() -> None:
    evil = mapped(REPORT, lambda text: text if text in ("runs", "openai", "generated") else f"{EVIL} {text}")
    async with app(FakeJourney(), report=Opened(evil, RUNS)) as pilot:
        await screen(pilot, ReportScreen)
        for _ in range(8):
            await pilot.pause()
            assert not RAW.search(drawn(pilot))
            await pilot.press("right")


async def test_a_chat() -> None:
    made = FakeJourney(answer=f"begin {EVIL}\n```\n{EVIL}\n```\n\n| {EVIL} | a |\n|--|--|\n| 1 | 2 |\n\n- {EVIL}")
    made.running = (replace(ENDPOINT, model=f"m{EVIL}"),)
    async with app(made) as pilot:
        await to_running_chat(pilot)
        await pilot.press(*"Hi", "enter")
        await wait_for(pilot, lambda: "begin" in drawn(pilot) and "end" in drawn(pilot))
        assert not RAW.search(drawn(pilot))


async def test_a_build() -> None:
    async with app(FakeJourney(script=evil_events, hold_run=True)) as pilot:
        await to_build(pilot)
        await wait_for(pilot, lambda: "begin" in drawn(pilot))
        assert not RAW.search(drawn(pilot))


async def test_a_model_and_a_machine() -> None:
    made = FakeJourney()
    made.facts = mapped(FACTS, lambda text: text if text == FACTS.source else f"{text}{EVIL}")
    made.host = replace(CPU_HOST, cpu=replace(CPU_HOST.cpu, model=EVIL), source=EVIL)
    async with app(made) as pilot:
        await to_advice(pilot)
        assert not RAW.search(drawn(pilot))
