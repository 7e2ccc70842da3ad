"""The machine's problems in the full-screen wizard: one line on the first screen, and a window with all checks."""

from __future__ import annotations

import threading
from dataclasses import replace

from textual.widgets import Static

from tests.tui.fake_journey import FakeJourney
from tests.tui.test_palette import offered, type_command
from tests.tui.values import CPU_HOST
from tests.tui.walking import StillApp, screen, to_machine, to_welcome, wait_for
from wizard.doctor.finding import Finding, failed, passed, warned
from wizard.kernel.errors import UsageError
from wizard.kernel.paths import Workspace
from wizard.probe.host import Host
from wizard.tui.screens.doctor import DoctorScreen, Report
from wizard.tui.screens.welcome import WelcomeScreen

FULL = failed("shm.full-container", free_bytes=1 << 20, total_bytes=64 << 20)
LOW = warned("disk.low", free_bytes=9 << 30, path="/data")
GOOD = passed("driver.works", version="580.95.05", cuda="13.0")


def shown(window: DoctorScreen) -> str:
    report = window.query_one(Report)
    return "\n".join(line.plain for line in report.lines(100))


def line(welcome: WelcomeScreen) -> str:
    problem = welcome.query_one("#problem", Static)
    return str(problem.content) if problem.display else ""


async def test_the_first_screen_has_a_line_about_the_worst_problem() -> None:
    async with StillApp(FakeJourney(findings=(GOOD, LOW, FULL))).run_test(size=(80, 24)) as pilot:
        welcome = await to_welcome(pilot)
        await wait_for(pilot, lambda: line(welcome))
        assert line(welcome).startswith("[d] ✗ Shared memory: only 1.0 MiB of 64.0 MiB free in this container (and 1")
        assert welcome.query_one("#problem").size.height == 1
        await pilot.press("d")
        window = await screen(pilot, DoctorScreen)
        await wait_for(pilot, lambda: window.findings is not None)
        assert shown(window).startswith("1 failed, 1 warning, 1 passed\n\nStorage\n  ! Disk space")


async def test_nothing_is_shown_if_all_is_well_or_for_another_machine() -> None:
    async with StillApp(FakeJourney(findings=(GOOD,))).run_test(size=(80, 24)) as pilot:
        welcome = await to_welcome(pilot)
        await wait_for(pilot, lambda: welcome.view.findings)
        assert line(welcome) == ""
    journey = FakeJourney(host=replace(CPU_HOST, source="4xH100"), findings=(FULL,))
    async with StillApp(journey).run_test(size=(80, 24)) as pilot:
        welcome = await to_welcome(pilot)
        await wait_for(pilot, lambda: welcome.view.suggestions is not None)
        assert line(welcome) == ""


async def test_the_palette_finds_it_on_every_screen() -> None:
    app = StillApp(FakeJourney(findings=(GOOD,)))
    async with app.run_test(size=(80, 24)) as pilot:
        await to_machine(pilot)
        assert "Check for problems" in offered(app)
        await type_command(pilot, "doctor")
        window = await screen(pilot, DoctorScreen)
        await wait_for(pilot, lambda: window.findings is not None)
        assert "✓ NVIDIA driver" in shown(window)
        await pilot.press("escape")
        await wait_for(pilot, lambda: not isinstance(app.screen, DoctorScreen))


class SlowJourney(FakeJourney):
    """The checks of the window wait until they are allowed to end."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()
        self.times = 0

    def doctor(
        self, workspace: Workspace, host: Host | None = None, *, quick: bool = False, offline: bool = False
    ) -> tuple[Finding, ...]:
        if quick:
            return ()
        self.times += 1
        self.go.wait()
        if self.times > 1:
            raise UsageError("TW-D02", "a damaged profile", "Fix it.")
        return (LOW,)


async def test_it_waits_copies_and_checks_again() -> None:
    journey = SlowJourney()
    app = StillApp(journey)
    async with app.run_test(size=(60, 20)) as pilot:
        await to_welcome(pilot)
        await pilot.press("d")
        window = await screen(pilot, DoctorScreen)
        assert shown(window) == "◌ Checking this machine and the network …"
        await pilot.press("c")
        assert app.clipboard == ""
        journey.go.set()
        await wait_for(pilot, lambda: window.findings is not None)
        await pilot.press("c")
        assert app.clipboard.startswith("Storage\n  ! Disk space: only 9.0 GiB free at /data\n")
        await pilot.press("r")
        await wait_for(pilot, lambda: "TW-D02" in shown(window))
        assert window.findings is None


async def test_it_can_be_left_while_it_waits() -> None:
    journey = SlowJourney()
    app = StillApp(journey)
    async with app.run_test(size=(80, 24)) as pilot:
        await to_welcome(pilot)
        await pilot.press("d")
        await screen(pilot, DoctorScreen)
        await pilot.press("escape")
        await wait_for(pilot, lambda: not isinstance(app.screen, DoctorScreen))
        journey.go.set()
        await pilot.pause()


async def test_another_language_is_shown_at_once() -> None:
    app = StillApp(FakeJourney(findings=(LOW,)))
    async with app.run_test(size=(80, 24)) as pilot:
        await to_welcome(pilot)
        await pilot.press("d")
        window = await screen(pilot, DoctorScreen)
        await wait_for(pilot, lambda: window.findings is not None)
        made = window.query_one(Report)._made
        app.change_settings(language="ko")
        await wait_for(pilot, lambda: window.query_one(Report)._made is not made)
