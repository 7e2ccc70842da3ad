"""What is kept, named and stopped when a screen or the whole wizard is left."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import pytest
from textual.widgets import Static

from tests.tui.fake_journey import FakeJourney
from tests.tui.values import ENDPOINT, events
from tests.tui.walking import StillApp, answered, screen, to_build, to_chat, to_review, to_welcome, wait_for
from wizard.chat.ask import lost
from wizard.kernel.errors import CancelledError, ServerError
from wizard.run.events import Progress
from wizard.tui.screens.build import BuildScreen
from wizard.tui.screens.chat import ChatScreen
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.modal import AskScreen
from wizard.tui.screens.review import ReviewScreen
from wizard.tui.views.build import Phase
from wizard.tui.widgets.chrome import key_rows
from wizard.tui.widgets.picker import Picker
from wizard.tui.widgets.progress import ProgressLines
from wizard.tui.widgets.prompt import Prompt


async def test_name_and_port_stay_after_a_build_and_are_always_shown() -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        review = await to_review(pilot)
        shown = str(review.query_one("#cost").render())
        assert "Server demo · HTTP port 8010 (gRPC 8011, metrics 8012)" in shown
        await pilot.press("n")
        await screen(pilot, FormScreen)
        await pilot.press(*"foo", "down", *"9360", "enter")
        await wait_for(pilot, lambda: review.view.plan and review.view.plan.name == "foo")
        await pilot.press("enter")
        build = await screen(pilot, BuildScreen)
        await wait_for(pilot, lambda: build.view.phase is Phase.READY)
        await pilot.press("escape")
        review = await screen(pilot, ReviewScreen)
        await wait_for(pilot, lambda: review.view.plan)
        assert review.view.answers == {"name": "foo", "http_port": 9360}
        assert "Server foo" in str(review.query_one("#cost").render())


async def test_all_servers_that_keep_running_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    other = replace(ENDPOINT, name="other")
    app = StillApp(FakeJourney(running=(ENDPOINT, other)))
    async with app.run_test(size=(80, 24)) as pilot:
        await to_welcome(pilot)
        await pilot.press("ctrl+q")
    app._print_error_renderables()
    printed = "".join(capsys.readouterr().err.split())
    assert "downdemo" in printed
    assert "downother" in printed
    assert f"--workspace{app.workspace.root}" in printed


async def test_a_server_that_was_stopped_elsewhere_is_not_reported_as_running(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = FakeJourney()
    app = StillApp(made)
    async with app.run_test(size=(80, 24)) as pilot:
        await to_chat(pilot)
        made.dead = ("demo",)
        await pilot.press("ctrl+q")
        asked = await screen(pilot, AskScreen)
        assert str(asked.query_one(".question", Static).render()) == "The server demo exited. What now?"
        assert asked.query_one(Picker).option_count == 4
        await pilot.press("enter")
        await wait_for(pilot, lambda: app._exit)
    app._print_error_renderables()
    assert "keeps running" not in capsys.readouterr().err
    assert made.stopped == []


ELSEWHERE = replace(ENDPOINT, pid=ENDPOINT.pid + 1, ports=replace(ENDPOINT.ports, http=9360))
"""The same server, started again in another terminal: on another port, for its own was taken."""


async def test_a_server_that_was_started_again_elsewhere_keeps_running_and_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = FakeJourney()
    app = StillApp(made)
    async with app.run_test(size=(80, 24)) as pilot:
        await to_chat(pilot)
        made.dead, made.again = ("demo",), (ELSEWHERE,)
        await pilot.press("ctrl+q")
        asked = await screen(pilot, AskScreen)
        assert str(asked.query_one(".question", Static).render()) == "What do you want to do with the server demo?"
        await pilot.press("enter")
        await wait_for(pilot, lambda: app._exit)
    app._print_error_renderables()
    printed = "".join(capsys.readouterr().err.split())
    assert f"demokeepsrunningat{ELSEWHERE.http}" in printed


async def test_a_server_that_has_ended_is_started_again_where_that_is_asked() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        chat = await to_chat(pilot)
        await pilot.press(*"Hi", "enter")
        await answered(pilot, chat)
        made.dead = ("demo",)
        await pilot.press("ctrl+q")
        asked = await screen(pilot, AskScreen)
        assert "Restart server" in str(asked.query_one(Picker).options[1].prompt)
        await pilot.press("down", "enter")
        build = await screen(pilot, BuildScreen)
        await wait_for(pilot, lambda: build.view.phase is Phase.READY)
        await pilot.press("enter")
        again = await screen(pilot, ChatScreen)
        assert again.view.conversation.messages[0].content == "Hi"
    assert made.runs == 2


async def test_who_restarts_a_server_that_was_started_again_elsewhere_is_taken_to_it() -> None:
    made = FakeJourney(chat_error=ServerError("TW-C01", "no server responds", "Start it again."))
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        chat = await to_chat(pilot)
        await pilot.press(*"Hi", "enter")
        await answered(pilot, chat)
        made.dead, made.again = ("demo",), (ELSEWHERE,)
        await pilot.press("f5")
        await wait_for(pilot, lambda: pilot.app.screen is not chat)
        there = await screen(pilot, ChatScreen)
        assert there.endpoint == ELSEWHERE
        assert ELSEWHERE.http in str(there.query_one(".heading", Static).render())
        assert there.view.conversation.messages[0].content == "Hi"
    assert made.runs == 1, "what others use goes on"
    assert made.stopped == []


async def test_a_server_that_was_started_again_elsewhere_with_another_context_says_so() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        chat = await to_chat(pilot)
        made.dead, made.again, made.context = ("demo",), (replace(ENDPOINT, pid=ENDPOINT.pid + 1),), 256
        await pilot.press(*"Hi", "enter")
        await answered(pilot, chat)
        await wait_for(pilot, lambda: "/ 256" in str(chat.query_one(Prompt).border_subtitle))
        assert chat.view.stats, "what the answer was measured at stays"


async def test_a_server_that_moved_in_the_middle_of_an_answer_leaves_the_answers_own_error() -> None:
    made = FakeJourney(chat_error=lost(ENDPOINT.http, "connection reset"))
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        chat = await to_chat(pilot)
        made.dead, made.again = ("demo",), (ELSEWHERE,)
        await pilot.press(*"Hi", "enter")
        await answered(pilot, chat)
        await wait_for(pilot, lambda: not {"keep", "served"} & {worker.group for worker in chat.workers})
        assert chat.view.error is made.chat_error


async def test_the_conversation_is_still_there_after_an_abandoned_restart() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        chat = await to_chat(pilot)
        await pilot.press("ctrl+g", *"Hi", "enter")
        await answered(pilot, chat)
        made.dead = ("demo",)
        await pilot.press("ctrl+q")
        await screen(pilot, AskScreen)
        await pilot.press("down", "enter")
        build = await screen(pilot, BuildScreen)
        await wait_for(pilot, lambda: build.view.phase is Phase.READY)
        made.running = (ENDPOINT,)
        assert "Back" in (labels := [row.about for row in key_rows(build)])
        assert "Back to the plan" not in labels, "there is none to go back to"
        await pilot.press("escape")
        await to_welcome(pilot)
        await pilot.press("enter")
        again = await screen(pilot, ChatScreen)
        assert again.view.conversation.messages[0].content == "Hi"


async def test_the_question_whether_to_stop_goes_when_nothing_is_left_to_stop() -> None:
    died = ServerError("TW-S03", "it died", "Look at the log.")
    made = FakeJourney(hold_run=True, run_error=died, script=lambda plan: events(plan, until="model"))
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        build = await to_build(pilot)
        await wait_for(pilot, lambda: made.held)
        await pilot.press("q")
        await screen(pilot, AskScreen)
        assert made.held is not None
        made.held.set()
        assert await screen(pilot, BuildScreen) is build
        await wait_for(pilot, lambda: build.view.error is died)
        assert pilot.app._exit is False


async def test_leaving_names_what_is_stopped_and_that_the_wizard_ends() -> None:
    made = FakeJourney(hold_run=True, script=lambda plan: events(plan, until="model"))
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        build = await to_build(pilot)
        await wait_for(pilot, lambda: build.view.progress)
        questions = []
        for key in ("escape", "q"):
            await pilot.press(key)
            question = await screen(pilot, AskScreen)
            answers = question.query_one(Picker).options
            asks = str(question.query_one(".question").render()).split("?")[0]
            questions.append((asks, *(str(answer.prompt)[2:] for answer in answers)))
            await pilot.press("escape")
            await screen(pilot, BuildScreen)
    assert questions == [
        ("Stop building demo", "Continue", "Stop it"),
        ("Stop building demo", "Continue", "Quit; the build continues", "Stop it and quit"),
    ]


async def test_a_question_without_an_answer_is_not_sent_with_the_next() -> None:
    made = FakeJourney(chat_error=ServerError("TW-C01", "no server responds", "Start it again."))
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        chat = await to_chat(pilot)
        await pilot.press(*"One", "enter")
        await answered(pilot, chat)
        made.chat_error = None
        await pilot.press(*"Two", "enter")
        await wait_for(pilot, lambda: chat.view.stats)
    assert [message.content for message in made.asked[-1].messages] == ["Two"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_leaves_and_a_closed_window_leaves_the_build_running(number: signal.Signals) -> None:
    made = FakeJourney(hold_run=True, script=lambda plan: events(plan, until="model"))
    app = StillApp(made)
    async with app.run_test(size=(80, 24)) as pilot:
        build = await to_build(pilot)
        await wait_for(pilot, lambda: build.view.progress)
        os.kill(os.getpid(), number)
        await wait_for(pilot, lambda: app._exit)
    assert ("run" in made.closed, made.left) == ((False, ["demo"]) if number is signal.SIGHUP else (True, []))
    assert app.return_value == CancelledError.exit_code


async def test_quitting_can_leave_a_build_running_and_names_how_to_watch_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = FakeJourney(hold_run=True, script=lambda plan: events(plan, until="model"))
    app = StillApp(made)
    async with app.run_test(size=(80, 24)) as pilot:
        build = await to_build(pilot)
        await wait_for(pilot, lambda: build.view.progress)
        await pilot.press("ctrl+q")
        await screen(pilot, AskScreen)
        await pilot.press("down", "enter")
        await wait_for(pilot, lambda: app._exit)
    assert (made.left, made.closed) == (["demo"], ["monitor"] * made.closed.count("monitor"))
    assert app.return_value == 0
    app._print_error_renderables()
    printed = "".join(capsys.readouterr().err.split())
    assert f"--workspace{app.workspace.root}attach" in printed
    assert f"--workspace{app.workspace.root}cancel" in printed


async def test_less_than_a_second_left_is_not_shown() -> None:
    made = FakeJourney(hold_run=True, script=lambda plan: events(plan, until="model"))
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        lines = (await to_build(pilot)).query_one(ProgressLines)
        await wait_for(pilot, lambda: lines.size.width > 20)
        lines.show(Progress("a", 0.9, 0.4, "", 0.0), 3.0, stopping=False)
        assert "left" not in str(lines.render())
        lines.show(Progress("a", 0.9, 4.0, "", 0.0), 3.0, stopping=False)
        assert "about 4" in str(lines.render())
