"""Stage 5: steps, output, stopping, failures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.tui.fake_journey import FakeJourney
from tests.tui.values import ENDPOINT, WORKSPACE, events, measurement, plan
from tests.tui.walking import StillApp, screen, to_build, wait_for
from wizard.advise.calibration import NOTHING, summary
from wizard.kernel.errors import CancelledError, ServerError, StepError, WorkspaceError
from wizard.run.diagnose import CommandError, Failure
from wizard.run.events import Output, Progress, Ready, StepFinished, StepStarted
from wizard.tui.screens.advice import AdviceScreen
from wizard.tui.screens.build import BuildScreen
from wizard.tui.screens.chat import ChatScreen
from wizard.tui.screens.modal import AskScreen, ReaderScreen
from wizard.tui.screens.welcome import WelcomeScreen
from wizard.tui.views.build import BuildView, Phase, begun, diagnosis, ended, folded
from wizard.tui.widgets.chrome import shown_bindings
from wizard.tui.widgets.live_log import LiveLog
from wizard.tui.widgets.picker import Picker

ERROR = StepError("TW-R03", "no space left on [/] device", "Free some space, then try again.")


def held(step: str = "repository") -> FakeJourney:
    return FakeJourney(script=lambda made: events(made, until=step), hold_run=True)


def failing(step: str = "start") -> FakeJourney:
    return FakeJourney(script=lambda made: events(made, until=step, error=ERROR), run_error=ERROR)


def text(build: BuildScreen, selector: str) -> str:
    return str(build.query_one(selector).render())


async def test_steps_progress_and_output_are_shown_while_they_happen() -> None:
    async with StillApp(held()).run_test(size=(80, 24)) as pilot:
        build = await to_build(pilot)
        await wait_for(pilot, lambda: build.view.progress)
        await pilot.pause()
        steps = text(build, "#steps")
        assert "✓ Create the server environment  already done" in steps
        assert "✓ Get the model  2.2 s" in steps
        assert "● Create the model repository  running" in steps
        assert "○ Start Triton" in steps
        assert "43%" in text(build, "#progress")
        assert "about 12 s left · 78 of 180 MiB" in text(build, "#progress")
        assert "[bold]fine[/] so far" in build.query_one(LiveLog).lines


async def test_the_log_follows_until_one_scrolls_up_and_again_at_its_end() -> None:
    made = FakeJourney(hold_run=True)
    made.script = lambda _plan: [
        StepStarted("model", "M", 1, 6, 0.0),
        Output("model", tuple(map(str, range(100))), 0.0),
    ]
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        build = await to_build(pilot)
        log = build.query_one(LiveLog)
        await wait_for(pilot, lambda: log.line_count == 100 and log.is_vertical_scroll_end)
        await pilot.press("up")
        await pilot.pause()
        assert not log.is_vertical_scroll_end
        where = log.scroll_y
        log.write_lines(["more"])
        await pilot.pause()
        assert log.scroll_y == where
        await pilot.press("down", "down")
        await wait_for(pilot, lambda: log.is_vertical_scroll_end)
        log.write_lines(["more"])
        await wait_for(pilot, lambda: log.is_vertical_scroll_end)
        await pilot.resize_terminal(80, 20)
        await wait_for(pilot, lambda: log.is_vertical_scroll_end)


async def test_long_lines_can_be_read_to_their_end() -> None:
    async with StillApp(held()).run_test(size=(40, 15)) as pilot:
        build = await to_build(pilot)
        await wait_for(pilot, lambda: build.view.progress)
        log = build.query_one(LiveLog)
        await wait_for(pilot, lambda: log.max_scroll_x > 0)
        await pilot.press("right")
        await wait_for(pilot, lambda: log.scroll_x > 0)
        await pilot.press("left")
        await wait_for(pilot, lambda: log.scroll_x == 0)


async def test_when_ready_enter_goes_to_the_chat() -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        build = await to_build(pilot)
        await wait_for(pilot, lambda: build.view.phase is Phase.READY)
        await pilot.pause()
        outcome = text(build, "#outcome")
        assert ENDPOINT.http in outcome
        assert f"OpenAI-compatible: {ENDPOINT.openai}" in outcome
        await pilot.press("enter")
        await screen(pilot, ChatScreen)


async def test_quitting_when_ready_says_that_the_server_keeps_running(capsys: pytest.CaptureFixture[str]) -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        build = await to_build(pilot)
        await wait_for(pilot, lambda: build.view.phase is Phase.READY)
        await pilot.press("ctrl+q")
    assert app.return_value == 0
    assert "triton-wizard down demo" in " ".join(capsys.readouterr().err.split())


async def test_escape_asks_once_and_stops_gracefully_and_r_resumes() -> None:
    made = held()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        build = await to_build(pilot)
        await wait_for(pilot, lambda: build.view.progress)
        await pilot.press("escape")
        await screen(pilot, AskScreen)
        await pilot.press("down", "enter")
        await wait_for(pilot, lambda: build.view.phase is Phase.CANCELLED)
        await pilot.pause()
        assert "run" in made.closed
        assert "■ Create the model repository  cancelled" in text(build, "#steps")
        assert "press r to resume" in text(build, "#outcome")
        made.script, made.hold_run = events, False
        await pilot.press("r")
        await wait_for(pilot, lambda: build.view.phase is Phase.READY)
    assert made.runs == 2


async def test_never_mind_continues() -> None:
    made = held()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        build = await to_build(pilot)
        await wait_for(pilot, lambda: build.view.progress)
        await pilot.press("escape")
        await screen(pilot, AskScreen)
        await pilot.press("escape")
        await screen(pilot, BuildScreen)
        assert build.view.phase is Phase.RUNNING
        await pilot.press("escape")
        await screen(pilot, AskScreen)
        await pilot.press("enter")
        await screen(pilot, BuildScreen)
        assert build.view.phase is Phase.RUNNING
        assert "run" not in made.closed


async def test_ctrl_c_twice_stops_and_leaves_with_the_status_of_an_interrupt() -> None:
    made = held()
    app = StillApp(made)
    async with app.run_test(size=(80, 24)) as pilot:
        build = await to_build(pilot)
        await wait_for(pilot, lambda: build.view.progress)
        await pilot.press("ctrl+c")
        await screen(pilot, AskScreen)
        await pilot.press("ctrl+c")
        await wait_for(pilot, lambda: build.view.phase is Phase.CANCELLED)
    assert "run" in made.closed
    assert app.return_value == CancelledError.exit_code == 130


async def test_a_failed_step_shows_its_error_and_can_be_tried_again() -> None:
    made = failing()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        build = await to_build(pilot)
        await wait_for(pilot, lambda: build.view.phase is Phase.FAILED)
        await pilot.pause()
        panel = text(build, "ErrorPanel")
        assert "TW-R03" in panel
        assert "no space left on [/] device" in panel
        assert "Free some space" in panel
        assert "✗ Start Triton  failed" in text(build, "#steps")
        made.script, made.run_error = events, None
        await pilot.press("r")
        await wait_for(pilot, lambda: build.view.phase is Phase.READY)
        await pilot.pause()
        assert not build.query_one("ErrorPanel").display


async def test_quitting_after_a_failure_has_the_status_of_the_error() -> None:
    made = FakeJourney(run_error=WorkspaceError("TW-R01", "another wizard works here", "Wait for it."))
    made.script = lambda _plan: []
    app = StillApp(made)
    async with app.run_test(size=(80, 24)) as pilot:
        build = await to_build(pilot)
        await wait_for(pilot, lambda: build.view.phase is Phase.FAILED)
        await pilot.press("ctrl+q")
    assert app.return_value == WorkspaceError.exit_code


async def test_l_shows_where_the_whole_output_is() -> None:
    async with StillApp(failing()).run_test(size=(80, 24)) as pilot:
        build = await to_build(pilot)
        await wait_for(pilot, lambda: build.view.phase is Phase.FAILED)
        await pilot.press("l")
        reader = await screen(pilot, ReaderScreen)
        logs = WORKSPACE.server("demo").logs
        assert f"Start Triton\n  {logs / 'start.log'}\n" in reader._text
        assert reader._text.endswith(f"Server log\n  {logs / 'triton.log'}")
        await pilot.press("c", "escape")
        assert await screen(pilot, BuildScreen) is build
        assert "start.log" in pilot.app.clipboard


def test_a_view_is_folded_from_the_events() -> None:
    made = plan()
    view = begun(made, 5.0)
    assert {step.state for step in view.steps} == {"waiting"}
    for event in events(made):
        view = folded(view, event, 7.0)
    assert view.phase is Phase.READY
    assert view.endpoint == ENDPOINT
    assert [step.state for step in view.steps] == ["skipped", *["done"] * 5]
    assert ended(view, None) == view


def test_a_run_that_ends_without_a_word_is_a_failure_with_a_code() -> None:
    view = ended(begun(plan(), 0.0), None)
    assert view.phase is Phase.FAILED
    assert view.error is not None
    assert view.error.code == "TW-R90"


def test_progress_belongs_to_the_running_step() -> None:
    view = folded(begun(plan(), 0.0), StepStarted("model", "M", 2, 6, 0.0), 3.0)
    view = folded(view, Progress("model", 0.5, None, "half", 0.0), 4.0)
    assert view.progress is not None
    assert view.began == 3.0
    view = folded(view, StepFinished("model", "cancelled", 1.0, "", 0.0), 5.0)
    assert view.progress is None
    assert folded(view, Output("model", ("x",), 0.0), 7.0) == view


def test_the_error_that_was_raised_goes_before_the_one_that_was_noted() -> None:
    raised = ServerError("TW-S03", "raised", "Do.")
    view = folded(BuildView(), StepFinished("x", "failed", 1.0, "", 0.0, error=ERROR.as_json()), 0.0)
    assert ended(view, raised).error is raised
    noted = ended(view, None).error
    assert noted is not None
    assert noted.as_json() == ERROR.as_json()


def test_ready_needs_nothing_else() -> None:
    assert folded(BuildView(), Ready(ENDPOINT, 0.0), 0.0).phase is Phase.READY


@pytest.mark.parametrize("measured", [True, False])
async def test_predicted_and_measured_memory_is_shown_at_the_end_and_for_running_servers(measured: bool) -> None:
    made = FakeJourney() if measured else FakeJourney(past=NOTHING)
    words = summary(measurement())
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        build = await to_build(pilot)
        await wait_for(pilot, lambda: build.view.phase is Phase.READY)
        assert (words in text(build, "#outcome")) is measured
    made.running = (ENDPOINT,)
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        servers = await screen(pilot, WelcomeScreen)
        assert (words in str(servers.query_one(Picker).get_option_at_index(0).prompt)) is measured


COMMAND = CommandError(
    "step 'Start Triton' failed: exit status 1: error: no space left on [/] device",
    "Free some space. Then run `up` again.",
    Failure(
        "exit status 1", "error: no space left on [/] device", "Free some space.", "/logs/start.log", "docker pull [x]"
    ),
)


async def failed(pilot: Pilot[Any]) -> BuildScreen:
    build = await to_build(pilot)
    await wait_for(pilot, lambda: build.view.phase is Phase.FAILED)
    await pilot.pause()
    return build


async def test_a_diagnosis_says_what_failed_which_line_says_why_and_what_to_do_and_is_copied() -> None:
    made = FakeJourney(run_error=COMMAND)
    made.script = lambda plan: [
        *events(plan, until="start", error=COMMAND),
        Output("start", (COMMAND.failure.line,), 0.0),
    ]
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        build = await failed(pilot)
        card = text(build, "ErrorPanel")
        for word in (
            "TW-R03 Start Triton: exit status 1",
            COMMAND.failure.line,
            "→ Free some space.",
            "/logs/start.log",
        ):
            assert word in card
        log = build.query_one(LiveLog)
        assert log._cause == len(log.lines) - 1
        await pilot.press("d")
        for word in ("What failed: TW-R03", "Log output: error: no space", "Command: docker pull [x]"):
            assert word in pilot.app.clipboard


async def test_a_fix_is_offered_and_applied_after_confirmation() -> None:
    error = CommandError("step 'Start Triton' failed", "Free GPU memory.", COMMAND.failure, "quantize-cuda-oom")
    made = FakeJourney(run_error=error)
    made.script = lambda plan: events(plan, until="start", error=error)
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        build = await failed(pilot)
        assert build.check_action("fix", ())
        await pilot.press("a")
        asked = await screen(pilot, AskScreen)
        assert "1 user" in text(asked, ".question")
        await pilot.press("escape")
        assert await screen(pilot, BuildScreen) is build
        await pilot.press("a")
        await screen(pilot, AskScreen)
        await pilot.press("enter")
        advice = await screen(pilot, AdviceScreen)
        await wait_for(pilot, lambda: advice.view.advice)
        assert advice.view.constraints.users == 1


async def test_no_fix_is_offered_for_an_unknown_failure() -> None:
    made = FakeJourney(run_error=COMMAND)
    made.script = lambda plan: events(plan, until="start", error=COMMAND)
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        build = await failed(pilot)
        assert not build.check_action("fix", ())


async def test_a_step_that_fails_twice_is_diagnosed_twice() -> None:
    made = failing()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        build = await failed(pilot)
        await pilot.press("r")
        await wait_for(pilot, lambda: made.runs == 2 and build.view.phase is Phase.FAILED)
        await pilot.pause()
        assert "TW-R03" in text(build, "ErrorPanel")
        assert build.query_one(LiveLog).lines.count("[bold]fine[/] so far") == 4


async def test_a_step_is_left_out_after_a_question_that_says_what_that_risks() -> None:
    made = failing("model")
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        build = await failed(pilot)
        await pilot.press("s")
        question = await screen(pilot, AskScreen)
        assert "Get the model" in question._question
        await pilot.press("enter")  # the careful answer is the first
        await screen(pilot, BuildScreen)
        assert made.runs == 1
        await pilot.press("s")
        await screen(pilot, AskScreen)
        made.script, made.run_error = events, None
        await pilot.press("down", "enter")
        await wait_for(pilot, lambda: build.view.phase is Phase.READY)
        assert made.otherwise == (frozenset(), {"model"})


async def test_a_step_that_starts_the_server_is_not_left_out() -> None:
    made = failing("start")
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        build = await failed(pilot)
        await pilot.press("s")
        await wait_for(pilot, lambda: pilot.app._notifications)
        assert "cannot be skipped: the server requires it" in next(iter(pilot.app._notifications)).message
        assert pilot.app.screen is build
        assert made.runs == 1


async def test_a_step_that_is_done_is_done_again() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        build = await to_build(pilot)
        await wait_for(pilot, lambda: build.view.phase is Phase.READY)
        await pilot.press("tab", *["up"] * 4)
        await pilot.pause()
        assert "▸✓ Get the model" in text(build, "#steps")
        await pilot.press("R")
        question = await screen(pilot, AskScreen)
        assert "Rerun 'Get the model'?" in question._question
        await pilot.press("enter")
        await wait_for(pilot, lambda: made.runs == 2 and build.view.phase is Phase.READY)
        assert made.otherwise == ({"model"}, frozenset())


async def test_nothing_is_done_again_or_left_out_while_a_step_runs() -> None:
    made = held()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        build = await to_build(pilot)
        await wait_for(pilot, lambda: build.view.progress)
        await pilot.press("tab", "up", "R", "s", "r", "d")
        await pilot.pause()
        assert pilot.app.screen is build
        assert made.runs == 1
        assert not {"r", "s", "R", "d"} & {shown_binding.key for shown_binding in shown_bindings(build)}


async def test_what_was_left_out_stays_out_until_it_is_done_after_all() -> None:
    made = failing("model")
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        build = await failed(pilot)
        made.script = lambda plan: [
            StepFinished("model", "omitted", 0.0, "skipped by the user", 0.0),
            *events(plan, until="start", error=ERROR)[-3:],
        ]
        await pilot.press("s")
        await screen(pilot, AskScreen)
        await pilot.press("down", "enter")
        await wait_for(pilot, lambda: made.runs == 2 and build.view.phase is Phase.FAILED)
        assert "– Get the model  skipped" in text(build, "#steps")
        await pilot.press("r")
        await wait_for(pilot, lambda: made.runs == 3 and build.view.phase is Phase.FAILED)
        assert made.otherwise[1] == {"model"}
        await pilot.press("tab", "up", "up", "R")
        await screen(pilot, AskScreen)
        await pilot.press("enter")
        await wait_for(pilot, lambda: made.runs == 4)
        assert made.otherwise == ({"model"}, frozenset())


def test_an_error_without_a_command_is_a_diagnosis_too() -> None:
    view = ended(begun(plan(), 0.0), WorkspaceError("TW-R01", "no space", "Free some."))
    failure = diagnosis(view, Path("/logs"))
    assert failure is not None
    assert failure.text() == "What failed: TW-R01: no space\nWhat to do: Free some."
    assert diagnosis(begun(plan(), 0.0), Path("/logs")) is None
