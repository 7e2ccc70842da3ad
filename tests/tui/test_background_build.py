"""A build that goes on while the user is elsewhere, and comes back."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from typing import Any

from textual.pilot import Pilot

from tests.tui.fake_journey import FakeJourney
from tests.tui.values import events, plan
from tests.tui.walking import StillApp, screen, to_build, wait_for
from wizard.kernel.errors import CancelledError, StepError
from wizard.run.build import Build
from wizard.tui.app import WizardApp
from wizard.tui.flow import Flow
from wizard.tui.screens.build import BuildScreen
from wizard.tui.screens.modal import AskScreen
from wizard.tui.screens.welcome import WelcomeScreen
from wizard.tui.views.build import Phase, begun, folded, share
from wizard.tui.widgets.live_log import LiveLog

ERROR = StepError("TW-R03", "no space left on [/] device", "Free some space, then try again.")


def held() -> FakeJourney:
    return FakeJourney(script=lambda made: events(made, until="repository"), hold_run=True)


async def to_background(pilot: Pilot[Any]) -> WizardApp:
    build = await to_build(pilot)
    await wait_for(pilot, lambda: build.view.progress)
    await pilot.press("b")
    await screen(pilot, WelcomeScreen)
    assert isinstance(pilot.app, WizardApp)
    return pilot.app


def toasts(app: WizardApp) -> str:
    return "\n".join(f"{notification.title}: {notification.message}" for notification in app._notifications)


async def test_it_continues_in_the_background_and_reopens_with_its_log() -> None:
    made = held()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        app = await to_background(pilot)
        run = app.runs["demo"]
        assert made.closed.count("run") == 0
        assert 0 < run.share < 1
        welcome = await screen(pilot, WelcomeScreen)
        await wait_for(pilot, lambda: any(server.name == "demo" for server in welcome.view.servers))
        await pilot.press("home", "enter")
        build = await screen(pilot, BuildScreen)
        assert build.run is run
        assert "[bold]fine[/] so far" in build.query_one(LiveLog).lines
        assert build.view.progress
        await pilot.press("escape")
        await screen(pilot, AskScreen)
        await pilot.press("down", "enter")
        await wait_for(pilot, lambda: build.view.phase is Phase.CANCELLED)
        await pilot.press("escape")
        await screen(pilot, WelcomeScreen)
        assert app.runs == {}


async def test_a_toast_says_that_it_is_ready() -> None:
    made = held()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        app = await to_background(pilot)
        app.runs["demo"].stop()
        await wait_for(pilot, lambda: not app.runs["demo"].under_way)
        made.script, made.hold_run = events, False
        app.runs["demo"].begin()
        await wait_for(pilot, lambda: "demo is ready" in toasts(app))
        assert app.runs == {}
        assert "demo" in app.running


async def test_a_toast_says_that_it_failed_and_its_diagnosis_waits() -> None:
    made = held()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        app = await to_background(pilot)
        run = app.runs["demo"]
        run.stop()
        await wait_for(pilot, lambda: not run.under_way)
        made.script, made.run_error, made.hold_run = (
            (lambda plan: events(plan, until="start", error=ERROR)),
            ERROR,
            False,
        )
        run.begin()
        await wait_for(pilot, lambda: "Could not build demo: no space left on [/] device" in toasts(app))
        assert app.runs["demo"] is run


async def test_quitting_asks_and_stops_what_is_built_in_the_background() -> None:
    made = held()
    app = StillApp(made)
    async with app.run_test(size=(80, 24)) as pilot:
        await to_background(pilot)
        await pilot.press("q")
        await screen(pilot, AskScreen)
        await pilot.press("escape")
        await screen(pilot, WelcomeScreen)
        assert app._exit is False
        assert app.runs["demo"].under_way
        await pilot.press("q")
        await screen(pilot, AskScreen)
        await pilot.press("ctrl+q")
        await wait_for(pilot, lambda: app._exit)
    assert "run" in made.closed
    assert app.return_value == CancelledError.exit_code


async def test_a_signal_stops_what_is_built_in_the_background_without_asking() -> None:
    made = held()
    app = StillApp(made)
    async with app.run_test(size=(80, 24)) as pilot:
        await to_background(pilot)
        os.kill(os.getpid(), signal.SIGTERM)
        await wait_for(pilot, lambda: app._exit)
    assert "run" in made.closed
    assert app.return_value == CancelledError.exit_code


async def test_a_second_build_is_refused_in_words() -> None:
    made = held()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        app = await to_background(pilot)
        second = replace(plan(), name="second")
        Flow(app, made, app.workspace).builds.run(second).begin()
        await wait_for(pilot, lambda: not app.runs["second"].under_way)
        error = app.runs["second"].view.error
        assert error is not None
        assert error.code == "TW-R09"
        assert "demo is being built" in error.what
        assert app.runs["demo"].under_way


def test_how_far_a_build_is_goes_by_the_estimates() -> None:
    made = plan()
    view = begun(made, 0.0)
    assert share(view, made) == 0
    script = events(made)
    shares = []
    for event in script:
        view = folded(view, event, 0.0)
        shares.append(share(view, made))
    assert shares == sorted(shares)
    assert shares[-1] == 1


async def test_a_build_of_another_window_is_joined_watched_and_stopped() -> None:
    made = held()
    made.earlier = plan()
    made.elsewhere_built = Build("demo", os.getpid(), "1", "", 0.0)
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        welcome = await screen(pilot, WelcomeScreen)
        await wait_for(pilot, lambda: any(server.building for server in welcome.view.servers or ()))
        assert made.attached == ["demo"]
        await pilot.press("home", "enter")
        build = await screen(pilot, BuildScreen)
        await wait_for(pilot, lambda: build.view.progress)
        assert made.runs == 1, "it was joined, and not started again"
        made.elsewhere_built = None
        await pilot.press("escape")
        await screen(pilot, AskScreen)
        await pilot.press("down", "enter")
        await wait_for(pilot, lambda: build.view.phase is Phase.CANCELLED)
        assert "run" in made.closed


async def test_a_build_that_is_stopped_in_another_window_is_stopped_and_not_failed() -> None:
    made = held()
    made.run_error = CancelledError("TW-U07", "the build was stopped; completed steps are kept", "Run `up` again.")
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        build = await to_build(pilot)
        await wait_for(pilot, lambda: made.held)
        assert made.held is not None
        made.held.set()
        await wait_for(pilot, lambda: build.view.phase is Phase.CANCELLED)
        assert "Stopped" in str(build.query_one("#outcome").render())
