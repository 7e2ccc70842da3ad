"""Measuring from the chat: what is asked, the progress, the report, and everything that goes wrong on the way.

The benchmark is the real one, with FakeAiperf in AIPerf's place.
"""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from tests.bench.fake_bench import BENCHMARK
from tests.bench.installed import install
from tests.bench.sample_reports import keep_each
from tests.tui.fake_journey import FakeJourney
from tests.tui.walking import StillApp, screen, shown, to_chat, wait_for
from wizard import journey
from wizard.bench.bench import Agree, BenchItem, Outlook
from wizard.bench.folder import Folder
from wizard.bench.order import Wanted
from wizard.chat.conversation import Conversation
from wizard.chat.openai import elsewhere
from wizard.kernel.errors import CancelledError, HostError, StepError, WizardError
from wizard.kernel.paths import Workspace
from wizard.plan.plan import Done, Estimate, Step
from wizard.serve.endpoint import Endpoint
from wizard.tui.opening import Opening
from wizard.tui.screens.bench import BenchScreen
from wizard.tui.screens.chat import ChatScreen
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.help import help_screen
from wizard.tui.screens.measure import MeasureScreen
from wizard.tui.screens.modal import AskScreen
from wizard.tui.screens.report import ReportScreen
from wizard.tui.widgets.error import ErrorPanel
from wizard.tui.widgets.live_log import LiveLog
from wizard.tui.widgets.notes import Notes
from wizard.tui.widgets.picker import Picker

SERVER = elsewhere("http://127.0.0.1:9/v1", "demo")
"""FakeAiperf sends nothing to it."""
INSTALL = Step("bench-environment", "Create it", "", (), Done(), Estimate(20, 228 * 1024**2, 781 * 1024**2))
SIZES = [(80, 24), (60, 20)]


@dataclass
class Measuring(FakeJourney):
    """Measures as the real journey does."""

    install: Step | None = None
    unable: WizardError | None = None
    "Why this machine cannot run AIPerf."
    broken: WizardError | None = None
    "Why AIPerf cannot be installed."

    def bench_order(self, workspace: Workspace, endpoint: Endpoint, wanted: Wanted) -> Any:
        if self.unable:
            raise self.unable
        return journey.bench_order(workspace, endpoint, wanted)

    def load_generator(self, workspace: Workspace) -> Step | None:
        return self.install

    async def bench(
        self,
        workspace: Workspace,
        endpoint: Endpoint,
        wanted: Wanted,
        folder: Path | None,
        agree: Agree,
        command: str = "",
    ) -> AsyncGenerator[BenchItem, None]:
        if self.broken:
            raise self.broken
        async for item in journey.bench(workspace, endpoint, wanted, folder, agree, command):
            yield item

    def bench_pages(self, folder: Path) -> tuple[Path, ...]:
        return journey.bench_pages(folder)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path / "ws")
    install(made)
    return made


@pytest.fixture
def behave(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    return lambda behavior: monkeypatch.setenv("FAKE_AIPERF", behavior)


def opened(workspace: Workspace, **how: Any) -> StillApp:
    conversation = Conversation().with_message("user", "Hello?").with_message("assistant", "Hello!")
    return StillApp(Measuring(**how), workspace, opening=Opening(SERVER, conversation, None))


async def to_bench(pilot: Pilot[int]) -> BenchScreen:
    """From the chat, by its key."""
    await screen(pilot, ChatScreen)
    await pilot.press("alt+m")
    bench = await screen(pilot, BenchScreen)
    await wait_for(pilot, lambda: bench.view.offers or bench.view.error)
    await pilot.pause()
    return bench


async def fill(pilot: Pilot[int], **answers: str) -> FormScreen:
    await pilot.press("w")
    form = await screen(pilot, FormScreen)
    for name, value in answers.items():
        while not form.query_one(f"#{name}").has_focus:
            await pilot.press("down")
        await pilot.press("end", "shift+home", "backspace", *value)
    await pilot.press("enter")
    return form


async def measuring(pilot: Pilot[int]) -> MeasureScreen:
    """A quick benchmark that hangs in its first run."""
    await to_bench(pilot)
    await pilot.press("enter")
    running = await screen(pilot, MeasureScreen)
    await wait_for(pilot, lambda: running.view.progress)
    await pilot.pause()
    return running


def text(app: StillApp) -> str:
    return "\n".join(shown(app))


@pytest.mark.parametrize("size", SIZES)
async def test_from_the_chat_to_the_report_and_back(workspace: Workspace, size: tuple[int, int]) -> None:
    app = opened(workspace)
    async with app.run_test(size=size) as pilot:
        bench = await to_bench(pilot)
        assert "Quick benchmark" in text(app)
        assert "1 at once, 4 at once" in " ".join(text(app).split())
        await pilot.press("enter")
        report = await screen(pilot, ReportScreen)
        assert [point.point.concurrency for point in report.opened.report.points] == [1, 4]
        assert report.opened.report.command.endswith(f"bench {SERVER.url} --model demo --quick")
        (folder,) = (path.parent for path in workspace.bench.glob("*/report.json"))
        assert (folder / "report.html").is_file()
        await pilot.press("escape")
        bench = await screen(pilot, BenchScreen)
        await wait_for(pilot, lambda: bench.view.reports)
        await pilot.pause()
        assert "Benchmark  " in text(app)
        assert bench.query_one(Picker).highlighted == 2, "the report that was just read"
        await pilot.press("enter")
        await screen(pilot, ReportScreen)
        await pilot.press("escape")
        bench = await screen(pilot, BenchScreen)
        await pilot.press("escape")
        chat = await screen(pilot, ChatScreen)
        assert chat.view.texts("assistant") == ["Hello!"]
        assert chat.endpoint == SERVER


@pytest.mark.parametrize("size", SIZES)
async def test_the_progress_is_shown_and_escape_keeps_what_was_measured(
    workspace: Workspace, behave: Callable[[str], None], size: tuple[int, int]
) -> None:
    behave("hangs")
    app = opened(workspace)
    async with app.run_test(size=size) as pilot:
        running = await measuring(pilot)
        assert "Step 1 of 2 · 1 concurrent request, run 1 of 1" in text(app)
        assert "tokens/s so far" in " ".join(text(app).split())
        await pilot.press("escape")
        report = await screen(pilot, ReportScreen)
        assert report.opened.report.partial == "stopped"
        assert report.opened.report.points[0].sent > 0
        assert running.view.phase == "stopping"
        await pilot.press("escape")
        bench = await screen(pilot, BenchScreen)
        await wait_for(pilot, lambda: bench.view.reports)


@pytest.mark.parametrize("key", ["ctrl+c", "ctrl+q"])
async def test_leaving_stops_it_first(workspace: Workspace, behave: Callable[[str], None], key: str) -> None:
    behave("hangs")
    app = opened(workspace)
    async with app.run_test(size=(80, 24)) as pilot:
        await measuring(pilot)
        await pilot.press(key)
        await screen(pilot, ReportScreen)
        await pilot.press("ctrl+q")
        await wait_for(pilot, lambda: app._exit)
    assert app.return_value == 0


async def test_a_signal_ends_it_with_its_report(workspace: Workspace, behave: Callable[[str], None]) -> None:
    behave("hangs")
    app = opened(workspace)
    async with app.run_test(size=(80, 24)) as pilot:
        await measuring(pilot)
        os.kill(os.getpid(), signal.SIGTERM)
        await wait_for(pilot, lambda: app._exit)
    assert app.return_value == CancelledError.exit_code
    (path,) = workspace.bench.glob("*/report.json")
    assert Folder(path.parent).read()[0].partial == "stopped"


@pytest.mark.parametrize("size", SIZES)
async def test_a_server_that_dies_in_the_middle_leaves_a_report(
    workspace: Workspace, behave: Callable[[str], None], size: tuple[int, int]
) -> None:
    behave("server-dies")
    app = opened(workspace)
    async with app.run_test(size=size) as pilot:
        await to_bench(pilot)
        await pilot.press("enter")
        running = await screen(pilot, MeasureScreen)
        await wait_for(pilot, lambda: running.view.phase == "failed")
        await pilot.pause()
        assert running.view.error is not None
        assert running.view.error.code == "TW-C65"
        assert "TW-C65" in text(app)
        assert "is kept in" in str(running.query_one("#outcome", Static).render())
        await pilot.press("enter")
        report = await screen(pilot, ReportScreen)
        assert report.opened.report.partial == "TW-C65"


async def test_nothing_measured_leads_back(workspace: Workspace, behave: Callable[[str], None]) -> None:
    behave("nothing")
    async with opened(workspace).run_test(size=(80, 24)) as pilot:
        await to_bench(pilot)
        await pilot.press("enter")
        running = await screen(pilot, MeasureScreen)
        await wait_for(pilot, lambda: running.view.phase == "failed")
        await pilot.pause()
        assert "Nothing was measured." in str(running.query_one("#outcome", Static).render())
        await pilot.press("enter")
        assert pilot.app.screen is running
        await pilot.press("escape")
        await screen(pilot, BenchScreen)


@pytest.mark.parametrize("size", SIZES)
async def test_a_machine_that_cannot_measure_shows_why_and_leads_back_to_the_chat(
    workspace: Workspace, size: tuple[int, int]
) -> None:
    Folder(workspace.bench / "demo-1").make()
    Folder(workspace.bench / "demo-1").keep(BENCHMARK)
    unable = HostError("TW-C61", "AIPerf needs x86_64", "Measure from another machine.")
    app = opened(workspace, unable=unable)
    async with app.run_test(size=size) as pilot:
        bench = await to_bench(pilot)
        assert "TW-C61" in text(app)
        assert "Open the report" in text(app)  # earlier reports can be read
        assert bench.query_one(Picker).option_count == 1
        await pilot.press("enter")
        await screen(pilot, ReportScreen)
        await pilot.press("escape")
        await screen(pilot, BenchScreen)
        await pilot.press("escape")
        await screen(pilot, ChatScreen)


@pytest.mark.parametrize("size", SIZES)
async def test_reports_of_every_kind_are_listed_and_opened(workspace: Workspace, size: tuple[int, int]) -> None:
    keep_each(workspace.bench)
    app = opened(workspace)
    async with app.run_test(size=size) as pilot:
        bench = await to_bench(pilot)
        rows = [str(each.prompt)[2:].split("  ") for each in bench.query_one(Picker).options][2:]
        kinds = ["Benchmark", "Tuning", "Comparison", "Blind vote", "Perplexity", "Quality"]
        assert [row[0] for row in rows] == kinds
        assert " ".join(rows[2][1].split()) == "2026-11-24 12:00 · sample, faster"
        titles = ["Benchmark of example/Sample-8B", "Settings of sample", "Comparison of sample"]
        await pilot.press("down")
        for down, title in enumerate([*titles, *["Quality of small"] * 3], 2):
            await pilot.press("down", "enter")  # from the report before
            report = await screen(pilot, ReportScreen)
            assert str(report.query_one(".heading", Static).render()).startswith(title)
            assert report.check_action("vote", ()) is (kinds[down - 2] in ("Comparison", "Blind vote", "Quality"))
            await pilot.press("escape")
            bench = await screen(pilot, BenchScreen)
            await wait_for(pilot, lambda: bench.view.offers and bench.view.reports)  # noqa: B023
            await pilot.pause()
        await pilot.press("escape")
        bench = await to_bench(pilot)
        assert bench.query_one(Picker).highlighted == 0, "whoever comes from the chat wants to measure"


async def test_the_installation_is_confirmed_and_its_error_leads_back(workspace: Workspace) -> None:
    broken = StepError("TW-C62", "pip failed", "Check the network.")
    app = opened(workspace, install=INSTALL, broken=broken)
    async with app.run_test(size=(80, 24)) as pilot:
        bench = await to_bench(pilot)
        assert "228 MiB to download, 781 MiB on disk" in " ".join(text(app).split())
        await pilot.press("enter")
        await screen(pilot, AskScreen)
        await pilot.press("escape")
        await wait_for(pilot, lambda: app.screen is bench)
        await pilot.press("enter")
        await screen(pilot, AskScreen)
        await pilot.press("enter")
        running = await screen(pilot, MeasureScreen)
        await wait_for(pilot, lambda: running.view.phase == "failed")
        assert "TW-C62" in str(running.query_one(ErrorPanel).render())
        await pilot.press("escape")
        await screen(pilot, BenchScreen)
        await pilot.press("escape")
        await screen(pilot, ChatScreen)


async def test_a_benchmark_of_hours_is_announced_and_a_shorter_one_offered(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted: list[Wanted] = []

    async def bench(
        _: object, __: Workspace, ___: Endpoint, asked: Wanted, *____: Any
    ) -> AsyncGenerator[BenchItem, None]:
        wanted.append(asked)
        raise StepError("TW-C63", "enough", "Nothing.")
        yield

    monkeypatch.setattr(Measuring, "bench", bench)
    app = opened(workspace)
    async with app.run_test(size=(80, 24)) as pilot:
        bench_screen = await to_bench(pilot)
        await fill(pilot, concurrency="1,2,4", seconds="3600")
        await wait_for(pilot, lambda: bench_screen.view.wanted.seconds == 3600)
        await pilot.press("down", "enter")
        question = await screen(pilot, AskScreen)
        assert "This benchmark takes about 9 h" in str(question.query_one(".question", Static).render())
        await pilot.press("escape")
        await wait_for(pilot, lambda: app.screen is bench_screen)
        assert wanted == []
        await pilot.press("enter")
        await screen(pilot, AskScreen)
        await pilot.press("enter")
        await screen(pilot, MeasureScreen)
        await wait_for(pilot, lambda: wanted)
        assert (wanted[0].seconds, wanted[0].repeats, wanted[0].concurrency) == (194, 1, (1, 2, 4))


async def test_a_long_rest_is_asked_about_only_once(workspace: Workspace) -> None:
    asked: list[Any] = []

    async def start(agree: Agree) -> AsyncGenerator[BenchItem, None]:
        for load in (expected_long, unexpected):
            asked.append(await agree(Outlook(9000.0, load, load, 60.0)))
        return
        yield

    load = BENCHMARK.load
    expected_long, unexpected = replace(load, seconds=3600.0, requests=None), replace(load, seconds=None, requests=9)
    app = StillApp(FakeJourney(), workspace)
    async with app.run_test(size=(80, 24)) as pilot:
        running = MeasureScreen("demo", start, workspace.bench, lambda: False, clock=lambda: 0.0)
        app.push_screen(running)
        await screen(pilot, AskScreen)
        assert asked == [expected_long]
        await pilot.press("escape")
        await wait_for(pilot, lambda: running.view.phase == "stopped")
        assert asked == [expected_long, None]


@pytest.mark.parametrize(
    ("answers", "code", "field"),
    [
        ({"concurrency": "1,4", "request_rate": "0.5"}, "both", "request_rate"),
        ({"concurrency": "many"}, "numbers with commas", "concurrency"),
        ({"concurrency": "0"}, "above 0", "concurrency"),
        ({"concurrency": ",".join("1" * 17)}, "at most 16", "concurrency"),
        ({"request_rate": "nan"}, "above 0", "request_rate"),
        ({"seconds": "-1"}, "from 1", "seconds"),
        ({"isl": "long"}, "an integer", "isl"),
        ({"ttft": "0"}, "from 1", "ttft"),
    ],
)
async def test_what_does_not_fit_is_refused_in_its_field(
    workspace: Workspace, answers: dict[str, str], code: str, field: str
) -> None:
    async with opened(workspace).run_test(size=(80, 24)) as pilot:
        bench = await to_bench(pilot)
        before = bench.view.wanted
        form = await fill(pilot, **answers)
        about = form.query_one("#about", Static)
        await wait_for(pilot, lambda: about.has_class("wrong"))
        assert code in str(about.render())
        assert form.query_one(f"#{field}").has_focus
        await pilot.press("escape")
        await screen(pilot, BenchScreen)
        assert bench.view.wanted == before


async def test_options_are_kept_and_those_that_do_not_suit_the_server_are_refused(workspace: Workspace) -> None:
    async with opened(workspace).run_test(size=(80, 24)) as pilot:
        bench = await to_bench(pilot)
        await fill(pilot, concurrency="2", isl="16", osl="8", ttft="200")
        await wait_for(pilot, lambda: bench.view.wanted.concurrency == (2,))
        assert bench.view.wanted == Wanted(concurrency=(2,), isl=16, osl=8, ttft=200.0)
        await pilot.press("enter")
        report = await screen(pilot, ReportScreen)
        assert report.opened.report.command.endswith("--quick --concurrency 2 --isl 16 --osl 8 --ttft 200")
        await pilot.press("escape")
        bench = await screen(pilot, BenchScreen)
        assert bench.view.wanted.concurrency == (2,)  # for the next one


async def test_the_output_and_the_results_are_shown_while_it_runs(workspace: Workspace) -> None:
    from wizard.run.events import Output, Progress, StepStarted

    async def start(_agree: Agree) -> AsyncGenerator[BenchItem, None]:
        yield StepStarted("c1-1", "1 concurrent request, run 1 of 3", 1, 6, 0.0)
        yield Output("c1-1", ("12:00 INFO [bold]phase[/] started",), 0.0)
        yield Progress("c1-1", 0.5, 10.0, "12 requests, 310 tokens/s so far", 0.0)
        yield BENCHMARK.points[0]
        await held.wait()

    import asyncio

    held = asyncio.Event()
    app = StillApp(FakeJourney(), workspace)
    async with app.run_test(size=(80, 24)) as pilot:
        running = MeasureScreen("demo", start, workspace.bench, lambda: False, clock=lambda: 0.0)
        app.push_screen(running)
        await wait_for(pilot, lambda: running.view.measured)
        await pilot.pause()
        assert "[bold]phase[/]" in "\n".join(running.query_one(LiveLog).lines)
        assert "tokens/s" in str(running.query_one(Notes).render())
        held.set()


async def test_the_leave_menu_measures_too_unless_the_workshop_hides_it() -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        await to_chat(pilot)
        await pilot.press("ctrl+q")
        question = await screen(pilot, AskScreen)
        assert [str(option.prompt).strip() for option in question.query_one(Picker).options][3] == "Measure this server"
        await pilot.press("down", "down", "down", "enter")
        await screen(pilot, BenchScreen)


async def test_keys_are_in_the_help(workspace: Workspace) -> None:
    async with opened(workspace).run_test(size=(80, 24)) as pilot:
        chat = await screen(pilot, ChatScreen)
        assert "Measure this server" in help_screen(chat)._text
        bench = await to_bench(pilot)
        assert "What to measure" in help_screen(bench)._text
        assert "docs/bench.md" in help_screen(bench)._text
