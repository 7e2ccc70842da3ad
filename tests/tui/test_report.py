"""A report on the screen: every chart, readable in small terminals and without colors, and nothing of it is markup."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from textual.widgets import Static

from tests.bench.sample import HOSTILE, REPORT, RUNS
from tests.bench.sample_reports import COMPARISON, PERPLEXITY, QUALITY, VOTED
from tests.tui.fake_journey import FakeJourney
from tests.tui.walking import StillApp, screen, wait_for
from wizard.bench.opened import AnyReport, Opened
from wizard.bench.report import Report
from wizard.kernel.values import mapped
from wizard.texts.benchmark.canvas import MARKS
from wizard.tui.screens.modal import ReaderScreen
from wizard.tui.screens.report import ReportScreen, Text
from wizard.tui.widgets.chart import ChartView

TITLES = (
    "1/8 Results",
    "2/8 Throughput and time to first token",
    "3/8 Throughput and time between tokens",
    "4/8 Distribution of time to first token",
    "5/8 Throughput: predicted and measured",
    "6/8 Time between tokens: predicted and measured",
    "7/8 Output tokens/s over time",
    "8/8 What ran",
)


KINDS: dict[str, tuple[AnyReport, list[str]]] = {
    "comparison": (
        COMPARISON,
        [
            *("Results", "Ratio of throughput", "Ratio of time to first token", "Throughput by load"),
            *("Time to first token by load", "Time between tokens by load", "Throughput and time to first token"),
            *("Ratios", "Differences", "What ran"),
        ],
    ),
    "quality": (QUALITY, ["Results", "Scores", "Difference", "What ran"]),
    "perplexity": (PERPLEXITY, ["Results", "Perplexity", "KL divergence", "What ran"]),
    "votes": (VOTED, ["Results", "Votes", "What ran"]),
}


def opened(report: AnyReport = REPORT, runs: Any = RUNS) -> StillApp:
    return StillApp(FakeJourney(), report=Opened(report, runs))


def heading(shown: ReportScreen) -> str:
    return str(shown.query_one(".heading", Static).render())


def visible(shown: ReportScreen) -> str:
    part = next(part for part in (shown.query_one(ChartView), shown.query_one(Text)) if part.region)
    return str(part.render())


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (40, 15), (200, 60)])
async def test_every_view_is_reached_and_fits(size: tuple[int, int]) -> None:
    async with opened().run_test(size=size) as pilot:
        shown = await screen(pilot, ReportScreen)
        for title in TITLES:
            await pilot.pause()
            assert title in heading(shown)
            chart = shown.query_one(ChartView)
            if chart.display:
                text = str(chart.render())
                assert "└──" in text
                assert sum(mark in text for mark in MARKS) >= 2
                assert len(text.split("\n")) <= chart.size.height
            else:
                assert shown.query_one(Text).region
            await pilot.press("right")
        assert TITLES[0] in heading(shown)
        await pilot.press("left")
        assert TITLES[-1] in heading(shown)


@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
@pytest.mark.parametrize("kind", KINDS)
async def test_every_kind_of_report_has_its_views(kind: str, size: tuple[int, int]) -> None:
    report, titles = KINDS[kind]
    async with opened(report, ()).run_test(size=size) as pilot:
        shown = await screen(pilot, ReportScreen)
        for at, title in enumerate(titles, 1):
            await pilot.pause()
            assert f"{at}/{len(titles)} {title}" in heading(shown)
            chart = shown.query_one(ChartView)
            assert chart.display == (title not in ("Results", "Ratios", "Differences", "What ran"))
            assert not chart.display or "└──" in str(chart.render())
            await pilot.press("right")


async def test_intervals_and_what_no_difference_is_are_drawn() -> None:
    async with opened(QUALITY, ()).run_test(size=(80, 24)) as pilot:
        shown = await screen(pilot, ReportScreen)
        await pilot.press("right")
        await pilot.pause()
        lines = visible(shown).split("\n")
        (row,) = (at for at, line in enumerate(lines) if "wizard_arithmetic ┤" in line)
        drawn = "".join(lines[row - 1 : row + 2])
        assert "---o---" in drawn
        assert "---x---" in drawn
        await pilot.press("right")
        await pilot.pause()
        assert ": no difference" in visible(shown)
        await pilot.press("w")
        window = await screen(pilot, ReaderScreen)
        assert "wizard_arithmetic: -30.0 (" in window._text


async def test_results_warnings_and_command_are_there() -> None:
    partial = replace(REPORT, partial="stopped", points=REPORT.points[:2])
    async with opened(partial).run_test(size=(100, 40)) as pilot:
        shown = await screen(pilot, ReportScreen)
        await pilot.pause()
        assert "This report is partial: the benchmark was stopped." in visible(shown)
        assert "145 ±4%" in visible(shown)
        await pilot.press("right")
        await pilot.pause()
        assert "This report is partial" in str(shown.query_one("#about", Static).render())
        await pilot.press("left", "left")
        await pilot.pause()
        assert REPORT.command[:60] in visible(shown)
        assert "0123456789abcdef" in visible(shown)


async def test_a_chart_can_be_read_in_words() -> None:
    async with opened().run_test(size=(80, 24)) as pilot:
        shown = await screen(pilot, ReportScreen)
        await pilot.press("w")
        assert pilot.app.screen is shown  # the results are words
        await pilot.press("right", "w")
        window = await screen(pilot, ReaderScreen)
        assert "8 at once: 775 (744 to 806) tokens/s, median 55.4 (53.2 to 57.6) ms" in window._text
        await pilot.press("escape")
        await wait_for(pilot, lambda: pilot.app.screen is shown)


async def test_in_a_tiny_terminal_a_chart_is_its_sentences() -> None:
    async with opened().run_test(size=(24, 8)) as pilot:
        shown = await screen(pilot, ReportScreen)
        await pilot.press("right")
        await pilot.pause()
        assert "1 at once: 145" in str(shown.query_one(ChartView).render())


async def test_a_chart_that_is_left_out_says_why() -> None:
    async with opened(replace(REPORT, predicted={}), ()).run_test(size=(80, 24)) as pilot:
        shown = await screen(pilot, ReportScreen)
        await pilot.press(*["right"] * 4)
        await pilot.pause()
        assert "5/7 Predicted and measured" in heading(shown)
        assert "The wizard had no estimate" in visible(shown)
        await pilot.press("right")
        await pilot.pause()
        assert "not beside the report" in visible(shown)


async def test_text_of_others_is_only_text() -> None:
    report = mapped(REPORT, lambda text: text if text in ("runs", "openai", "generated") else f"[bold red]{HOSTILE}")
    assert isinstance(report, Report)
    async with opened(report).run_test(size=(120, 40)) as pilot:
        shown = await screen(pilot, ReportScreen)
        for _ in TITLES:
            await pilot.pause()
            assert "[bold red]<img" in heading(shown)
            assert "\x1b" not in visible(shown) + heading(shown)
            await pilot.press("right")


@pytest.mark.parametrize("key", ["escape", "q"])
async def test_closing_it_leaves(key: str) -> None:
    app = opened()
    async with app.run_test(size=(80, 24)) as pilot:
        await screen(pilot, ReportScreen)
        await pilot.press(key)
        await wait_for(pilot, lambda: app.return_value is not None)
    assert app.return_value == 0


async def test_the_language_can_change() -> None:
    async with opened().run_test(size=(80, 24)) as pilot:
        shown = await screen(pilot, ReportScreen)
        await pilot.press("right")
        shown.relabel()
        await pilot.pause()
        assert TITLES[1] in heading(shown)
