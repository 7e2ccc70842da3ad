"""The welcome follows what is built here, and what is stopped and started elsewhere: one look after the other."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from tests.tui.fake_journey import FakeJourney
from tests.tui.values import ENDPOINT, GPU_HOST, SUGGESTIONS, events, plan
from tests.tui.walking import StillApp, Walk, screen, to_build, to_machine, to_welcome, wait_for
from wizard.advise.calibration import Calibration
from wizard.kernel.errors import WorkspaceError
from wizard.kernel.paths import Workspace
from wizard.serve.status import Status
from wizard.tui.screens.welcome import WelcomeScreen
from wizard.tui.widgets.picker import Picker


def text(welcome: WelcomeScreen) -> str:
    return "\n".join(str(option.prompt) for option in welcome.query_one(Picker).options)


class Looks:
    """Looks for servers that are counted, and wait for the ``gate``."""

    def __init__(self, made: FakeJourney) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.begun = self.waited = 0
        self._look = made.statuses
        made.statuses = self  # type: ignore[method-assign]

    def __call__(self, workspace: Workspace) -> list[Status]:
        self.begun += 1
        self.waited += not self.gate.is_set()
        assert self.gate.wait(30)
        return self._look(workspace)


async def ticks(app: StillApp, pilot: Walk, seconds: float, number: int = 5) -> None:
    """Let a timer of so many ``seconds`` fire a ``number`` of times."""
    fired: list[None] = []
    timer = app.set_interval(seconds, lambda: fired.append(None))
    await wait_for(pilot, lambda: len(fired) >= number)
    timer.stop()


async def following(pilot: Walk, made: FakeJourney) -> WelcomeScreen:
    """The welcome while a build goes on."""
    build = await to_build(pilot)
    await wait_for(pilot, lambda: made.held)
    build.dismiss("background")
    welcome = await to_welcome(pilot)
    await wait_for(pilot, lambda: "See the progress of demo" in text(welcome))
    return welcome


async def test_a_build_is_shown_live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WelcomeScreen, "EVERY", 0.01)
    made = FakeJourney(hold_run=True, script=events)
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        welcome = await following(pilot, made)
        made.running = (ENDPOINT,)
        assert made.held is not None
        made.held.set()
        await wait_for(pilot, lambda: "Chat with demo" in text(welcome))
        assert "See the progress of" not in text(welcome)
        assert welcome.rows[welcome.query_one(Picker).highlighted or 0].id == "server:demo"


async def test_a_look_that_takes_long_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WelcomeScreen, "EVERY", 0.01)
    made = FakeJourney(hold_run=True, script=lambda plan: events(plan, until="model"))
    app, looks = StillApp(made), Looks(made)
    async with app.run_test(size=(80, 24)) as pilot:
        await following(pilot, made)
        looks.gate.clear()
        await wait_for(pilot, lambda: looks.waited)
        await ticks(app, pilot, WelcomeScreen.EVERY)
        assert looks.waited == 1
        looks.gate.set()
        before = looks.begun
        await wait_for(pilot, lambda: looks.begun > before)


async def test_what_is_stopped_and_started_elsewhere_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WelcomeScreen, "EVERY", 0.01)
    made = FakeJourney(running=(ENDPOINT,), earlier=plan())
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        welcome = await to_welcome(pilot)
        assert "Chat with demo" in text(welcome)
        made.host, made.offered = GPU_HOST, SUGGESTIONS[:1]
        made.running, made.off = (), ("demo",)
        await wait_for(pilot, lambda: "Restart demo" in text(welcome))
        await wait_for(pilot, lambda: welcome.view.host is GPU_HOST)  # what it held may be free now
        await wait_for(pilot, lambda: welcome.view.suggestions == SUGGESTIONS[:1])
        assert "Chat with demo" not in text(welcome)
        await pilot.press("down")
        chosen = welcome.rows[welcome.query_one(Picker).highlighted or 0].id
        made.running, made.off = (ENDPOINT, replace(ENDPOINT, name="other")), ()
        await wait_for(pilot, lambda: "Chat with other" in text(welcome))
        assert welcome.rows[welcome.query_one(Picker).highlighted or 0].id == chosen, (
            "the cursor stays where it was put"
        )


async def test_a_failed_check_is_reported_once_and_the_checks_continue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WelcomeScreen, "EVERY", 0.01)
    made = FakeJourney(running=(ENDPOINT,))
    app = StillApp(made)
    broken, well = WorkspaceError("TW-K03", "cannot read it", "Fix its permissions."), made.calibration

    def fails(_workspace: Workspace) -> Calibration:
        raise broken

    async with app.run_test(size=(80, 24)) as pilot:
        welcome = await to_welcome(pilot)
        await wait_for(pilot, lambda: "Chat with" in text(welcome))
        monkeypatch.setattr(made, "calibration", fails)
        await wait_for(pilot, lambda: len(app._notifications) == 1)
        await ticks(app, pilot, WelcomeScreen.EVERY)
        assert len(app._notifications) == 1
        assert "Chat with" in text(welcome), "the last list stays"
        monkeypatch.setattr(made, "calibration", well)
        made.running = ()
        await wait_for(pilot, lambda: "Chat with" not in text(welcome))


async def test_a_stop_while_another_screen_was_open_probes_the_machine_again() -> None:
    made = FakeJourney(running=(ENDPOINT,))
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        await to_welcome(pilot)
        await to_machine(pilot)
        made.running, made.host = (), GPU_HOST
        await pilot.press("escape")
        welcome = await screen(pilot, WelcomeScreen)
        await wait_for(pilot, lambda: welcome.view.host == GPU_HOST)
