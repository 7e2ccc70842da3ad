"""Apply the fix and retry on the build screen: shown by a pilot, and run in a real terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pexpect
import pytest

from tests.fixable import KNOWN, LINE, Fixable
from tests.processes import opened, over
from tests.prompts.terminal import environment
from tests.tui.fake_journey import FakeJourney
from tests.tui.test_build import failed, text
from tests.tui.values import events
from tests.tui.walking import StillApp, screen, wait_for
from wizard.run.diagnose import CommandError, Failure
from wizard.run.events import StepFinished
from wizard.tui.screens.advice import AdviceScreen
from wizard.tui.screens.build import BuildScreen
from wizard.tui.screens.modal import AskScreen
from wizard.tui.views.build import BuildView, Phase, ended, folded
from wizard.tui.widgets.picker import Picker

FAILURE = Failure("exit status 1", f"error: {LINE}", "Make it.", "/logs/start.log", "start it")
Begin: TypeAlias = Callable[[str], Any]


class FakeTerminalApp(StillApp):
    """Takes the test's own streams for a terminal that it can lend."""

    lent = 0

    @property
    def is_headless(self) -> bool:
        return False

    @contextlib.contextmanager
    def suspend(self) -> Iterator[None]:
        self.lent += 1
        yield


class FakeBrowserApp(StillApp):
    """Is shown in a browser."""

    @property
    def is_web(self) -> bool:
        return True


@pytest.fixture
def journey() -> FakeJourney:
    """A build that fails; the step's failure is known by the tests' profiles."""
    error = CommandError("step 'Start Triton' failed", "Make it.", FAILURE, KNOWN)
    return FakeJourney(run_error=error, script=lambda plan: events(plan, until="start", error=error))


@pytest.fixture
def fixable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fixable:
    fixable = Fixable(tmp_path)
    monkeypatch.setenv("TRITON_WIZARD_PROFILES", str(fixable.profiles))
    return fixable


async def test_the_exact_command_is_asked_about_and_enter_declines(fixable: Fixable, journey: FakeJourney) -> None:
    fixable.made(f"touch {fixable.part}")
    app = FakeTerminalApp(journey)
    async with app.run_test(size=(80, 24)) as pilot:
        build = await failed(pilot)
        for key in ("enter", "escape"):
            await pilot.press("a")
            question = await screen(pilot, AskScreen)
            assert question._question.startswith("It is not there.\n\n")
            assert f"$ touch {fixable.part}" in question._question
            await pilot.press(key)
            assert await screen(pilot, BuildScreen) is build
        assert build.view.phase is Phase.FAILED
    assert (app.lent, journey.runs, fixable.part.exists()) == (0, 1, False)


async def test_after_the_command_the_step_is_retried(fixable: Fixable, journey: FakeJourney) -> None:
    fixable.made(f"touch {fixable.part}")
    app = FakeTerminalApp(journey)
    async with app.run_test(size=(80, 24)) as pilot:
        build = await failed(pilot)
        journey.script, journey.run_error = events, None
        await pilot.press("a")
        await screen(pilot, AskScreen)
        await pilot.press("down", "enter")
        await wait_for(pilot, lambda: build.view.phase is Phase.READY)
        assert "` succeeded." in next(iter(app._notifications)).message
    assert (app.lent, journey.runs, fixable.part.exists()) == (1, 2, True)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_options_that_avoid_the_failure_are_offered_beside_the_command(
    fixable: Fixable, journey: FakeJourney, size: tuple[int, int]
) -> None:
    fixable.made(f"touch {fixable.part}", max_len=256)
    app = FakeTerminalApp(journey)
    async with app.run_test(size=size) as pilot:
        await failed(pilot)
        await pilot.press("a")
        question = await screen(pilot, AskScreen)
        assert f"$ touch {fixable.part}" in question._question
        answers = [str(option.prompt) for option in question.query_one(Picker).options]
        assert "256" in answers[-1]
        await pilot.press("up", "enter")
        await screen(pilot, AdviceScreen)
    assert (app.lent, journey.runs, fixable.part.exists()) == (0, 1, False)


@pytest.mark.parametrize(
    ("app", "where", "words"),
    [
        (FakeBrowserApp, "machine", "A browser has no terminal."),
        (FakeTerminalApp, "elsewhere", "Run this yourself"),
        (FakeTerminalApp, "step", "virtual environment"),
    ],
)
async def test_what_cannot_run_here_is_shown_with_the_line_and_copied(
    fixable: Fixable, journey: FakeJourney, app: type[StillApp], where: str, words: str
) -> None:
    fixable.made("touch part", where)
    async with app(journey).run_test(size=(80, 24)) as pilot:
        build = await failed(pilot)
        assert not build.check_action("fix", ())
        assert words in text(build, "ErrorPanel")
        assert "\n$ touch part\n" in text(build, "ErrorPanel")
        await pilot.press("a", "d")
        assert pilot.app.screen is build
        assert "\n$ touch part\n" in pilot.app.clipboard


def test_an_error_that_was_only_noted_has_its_fix() -> None:
    noted = {"code": "TW-R03", "what": "it failed", "todo": "Make it.", "known": KNOWN}
    view = folded(BuildView(), StepFinished("start", "failed", 1.0, "", 0.0, error=noted), 0.0)
    error = ended(view, None).error
    assert error is not None
    assert error.known == KNOWN


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """The wizard in a real terminal with the real engine, after the build has failed."""
    with contextlib.ExitStack() as stack:

        def failed(command: str) -> Any:
            variables = environment(**Fixable(tmp_path).made(command).environment)
            argv = ["-m", "tests.fixable", "screens", str(tmp_path)]
            child = pexpect.spawn(sys.executable, argv, env=variables, dimensions=(24, 80), timeout=60)
            stack.callback(child.close, force=True)
            for accept in ("Choose a model", "Use this setup", "Run it"):
                child.expect(accept)
                child.send("\r")
            child.expect("Apply the fix")
            return child

        yield failed


def confirm(child: Any) -> None:
    """Choose to run it; the screen is gone then."""
    child.send("a")
    child.expect("Do not run it")
    child.send("\x1b[B")
    child.expect("▸".encode())
    child.send("\r")
    child.expect_exact("\x1b[?1049l")


def test_the_command_has_the_terminal_and_the_screen_comes_back_for_the_retry(begin: Begin, tmp_path: Path) -> None:
    child = begin(f"test -t 0 && read x && test $x = word && touch {tmp_path}/part")
    confirm(child)
    child.expect_exact(f"touch {tmp_path}/part\r\n")
    child.send("word\r")
    child.expect_exact("\x1b[?1049h")
    child.expect("TW-S02")
    assert (tmp_path / "part").exists()


def test_ctrl_c_ends_the_command_and_enter_or_ctrl_c_returns_to_the_choices(begin: Begin) -> None:
    child = begin("echo pid $$; exec sleep 600")
    for key in (b"\r", b"\x03"):
        confirm(child)
        child.expect(rb"pid (\d+)\r")
        with opened([int(child.match[1])]) as processes:
            child.send(b"\x03")
            assert over(processes)
        child.expect("killed by signal 2")
        child.expect("Press Enter")
        child.send(key)
        child.expect_exact("\x1b[?1049h")
        child.expect("Apply the fix")
    assert child.isalive()
