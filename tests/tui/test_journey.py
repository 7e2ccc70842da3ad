"""The whole way through the wizard, with keys only."""

from __future__ import annotations

import inspect
import threading
from dataclasses import replace

import pytest

from tests.tui.fake_journey import FakeJourney
from tests.tui.values import ENDPOINT, GPU_HOST, NO_PYTHON, choice, plan
from tests.tui.walking import (
    StillApp,
    Walk,
    answered,
    choose,
    screen,
    to_advice,
    to_build,
    to_chat,
    to_machine,
    to_model,
    to_review,
    to_welcome,
    wait_for,
)
from wizard import journey
from wizard.flow.port import JourneyPort
from wizard.kernel.errors import ServerError
from wizard.probe.host import Host
from wizard.tui.screens.advice import AdviceScreen
from wizard.tui.screens.build import BuildScreen
from wizard.tui.screens.chat import ChatScreen
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.machine import MachineScreen
from wizard.tui.screens.modal import ReaderScreen
from wizard.tui.screens.model import ModelScreen
from wizard.tui.screens.review import ReviewScreen
from wizard.tui.screens.welcome import WelcomeScreen
from wizard.tui.views.build import Phase
from wizard.tui.widgets.chrome import key_rows


@pytest.mark.parametrize("name", [name for name in vars(JourneyPort) if not name.startswith("_")])
def test_the_real_journey_and_the_fake_one_have_every_function_that_the_screens_call(name: str) -> None:
    wanted = [*inspect.signature(getattr(JourneyPort, name)).parameters][1:]
    real = inspect.signature(getattr(journey, name)).parameters
    fake = inspect.signature(getattr(FakeJourney, name)).parameters
    assert set(wanted) <= set(real)
    assert set(wanted) <= set(fake)
    assert all(real[parameter].default is not inspect.Parameter.empty for parameter in set(real) - set(wanted))


async def test_accepting_everything_takes_at_most_twelve_keys_to_the_first_token() -> None:
    made = FakeJourney()
    app = StillApp(made)
    keys = 0

    async def press(key: str) -> None:
        nonlocal keys
        keys += 1
        await pilot.press(key)

    async with app.run_test(size=(80, 24)) as pilot:
        await to_welcome(pilot)
        await press("enter")
        advice = await screen(pilot, AdviceScreen)
        await wait_for(pilot, lambda: advice.view.advice)
        await press("enter")
        review = await screen(pilot, ReviewScreen)
        await wait_for(pilot, lambda: review.view.plan)
        await press("enter")
        build = await screen(pilot, BuildScreen)
        await wait_for(pilot, lambda: build.view.phase is Phase.READY)
        await press("enter")
        chat = await screen(pilot, ChatScreen)
        await wait_for(pilot, lambda: chat.view.served)
        await pilot.pause()
        await press("down")
        await press("enter")
        await answered(pilot, chat)
        assert made.asked[0].messages[-1].content == "What is Triton?"
        assert chat.view.texts("assistant") == [made.answer]
    assert keys <= 12
    assert made.read == ["Qwen/Qwen2.5-0.5B-Instruct-GGUF"]


async def test_escape_goes_back_to_the_machine_and_nothing_is_lost() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        model = await to_model(pilot)
        await pilot.press(*"demo", "enter")
        advice = await screen(pilot, AdviceScreen)
        await wait_for(pilot, lambda: advice.view.advice)
        await pilot.press("down", "enter")
        review = await screen(pilot, ReviewScreen)
        await wait_for(pilot, lambda: review.view.plan)
        await pilot.press("escape")
        advice = await screen(pilot, AdviceScreen)
        await wait_for(pilot, lambda: advice.view.advice)
        assert advice.view.at == 1
        await pilot.press("escape")
        model = await screen(pilot, ModelScreen)
        assert model.view.text == "demo"
        await pilot.press("escape")
        assert model.view.text == ""
        await pilot.press("escape")
        machine = await screen(pilot, MachineScreen)
        assert machine.view.host == made.host


async def test_a_running_server_is_offered_first_and_can_be_chatted_with_at_once() -> None:
    made = FakeJourney(running=(ENDPOINT,))
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        await to_welcome(pilot)
        await pilot.press("enter")
        chat = await screen(pilot, ChatScreen)
        await pilot.press(*"Hi", "enter")
        await answered(pilot, chat)
        assert chat.view.stats is not None
    assert made.runs == 0


async def test_another_model_can_be_set_up_while_a_server_runs_and_escape_comes_back() -> None:
    async with StillApp(FakeJourney(running=(ENDPOINT,))).run_test(size=(80, 24)) as pilot:
        await to_welcome(pilot)
        await choose(pilot, "model")
        await screen(pilot, ModelScreen)
        await pilot.press("escape")
        await screen(pilot, WelcomeScreen)


async def test_servers_that_cannot_be_listed_do_not_block_the_journey(monkeypatch: pytest.MonkeyPatch) -> None:
    made = FakeJourney()

    def fail(_workspace: object) -> list[object]:
        raise ServerError("TW-S01", "nothing can be read [/]", "Fix it.")

    monkeypatch.setattr(made, "statuses", fail)
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        await to_welcome(pilot)
        assert [note.title for note in pilot.app._notifications] == ["TW-S01"]
        await to_machine(pilot)


async def test_a_model_named_on_the_command_line_is_taken_without_asking() -> None:
    made = FakeJourney(running=(ENDPOINT,))
    async with StillApp(made, answers={"model": "demo"}).run_test(size=(80, 24)) as pilot:
        await to_machine(pilot)
        await pilot.press("enter")
        await screen(pilot, AdviceScreen)
    assert made.read == ["demo"]


async def test_the_constraints_of_a_recipe_are_used() -> None:
    made = FakeJourney()
    async with StillApp(made, answers={"model": "demo"}).run_test(size=(80, 24)) as pilot:
        await to_machine(pilot)
        await pilot.press("enter")
        await screen(pilot, AdviceScreen)
        await wait_for(pilot, lambda: made.constraints)
    assert made.constraints[0].users == 2


@pytest.mark.parametrize("walk", [to_machine, to_advice, to_review])
@pytest.mark.parametrize("key", ["q", "ctrl+q", "ctrl+c"])
async def test_quitting_is_clean_from_everywhere(walk: object, key: str) -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        await walk(pilot)  # type: ignore[operator]
        await pilot.press(key)
        await wait_for(pilot, lambda: not app.is_running or app._exit)
    assert app.return_value == 0


async def test_in_a_field_q_is_a_letter_and_ctrl_q_quits() -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        model = await to_model(pilot)
        await pilot.press("q")
        assert model.view.text == "q"
        await pilot.press("ctrl+q")
    assert app.return_value == 0


async def test_ctrl_c_copies_what_is_selected_instead_of_quitting() -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        await to_model(pilot)
        await pilot.press(*"abc", "shift+home", "ctrl+c")
        assert app.clipboard == "abc"
        assert app.is_running


async def test_help_names_the_keys_of_the_screen_and_closes_again() -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        machine = await to_machine(pilot)
        await pilot.press("f1")
        text = (await screen(pilot, ReaderScreen))._text
        assert "Refresh" in text
        assert machine.HELP in text
        await pilot.press("f1", "escape")
        assert await screen(pilot, MachineScreen) is machine
        await pilot.press("question_mark")
        await screen(pilot, ReaderScreen)
        await pilot.press("q")
        assert await screen(pilot, MachineScreen) is machine


async def test_a_plan_for_another_machine_is_shown_but_not_carried_out() -> None:
    made = FakeJourney(host=GPU_HOST)
    async with StillApp(made, hardware="4xH100").run_test(size=(80, 24)) as pilot:
        review = await to_review(pilot)
        await pilot.press("enter")
        await pilot.pause()
        assert pilot.app.screen is review
        assert "4xH100" in str(review.query_one("#step").render())
        assert "⏎" not in [row.keys for row in key_rows(review)]
    assert made.runs == 0


async def test_a_machine_that_cannot_serve_says_the_way_out_and_can_be_looked_at_again() -> None:
    made = FakeJourney(host=NO_PYTHON)
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        machine = await to_machine(pilot)
        await pilot.press("enter")
        assert pilot.app.screen is machine
        assert "libpython3.X.so.1.0" in str(machine.query_one("#verdict").render())
        made.host = FakeJourney().host
        await pilot.press("r")
        await wait_for(pilot, lambda: machine.view.host == made.host)
        await pilot.pause()
        await pilot.press("enter")
        await screen(pilot, ModelScreen)


async def test_a_restart_continues_the_conversation() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        chat = await to_chat(pilot)
        await pilot.press(*"One", "enter")
        await answered(pilot, chat)
        made.chat_error = ServerError("TW-C01", "no server responds", "Start it again.")
        await pilot.press(*"Two", "enter")
        await answered(pilot, chat)
        made.chat_error = None
        await pilot.press("f5")
        build = await screen(pilot, BuildScreen)
        await wait_for(pilot, lambda: build.view.phase is Phase.READY)
        await pilot.press("enter")
        chat = await screen(pilot, ChatScreen)
        assert chat.view.texts("user") == ["One", "Two"]
        await pilot.press("ctrl+r")
        await answered(pilot, chat)
        assert chat.view.texts("assistant") == [made.answer, made.answer]
    assert made.runs == 2


async def test_the_build_of_another_choice_gets_that_choice() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        await to_advice(pilot)
        await pilot.press("down", "enter")
        review = await screen(pilot, ReviewScreen)
        await wait_for(pilot, lambda: review.view.plan)
        assert review.view.plan is not None
        assert review.view.plan.choice.max_batch_size == 1 != choice().max_batch_size


async def test_back_from_a_failed_build_leads_to_the_plan() -> None:
    made = FakeJourney(run_error=ServerError("TW-S03", "it died", "Look at the log."))
    made.script = lambda _plan: []
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        build = await to_build(pilot)
        await wait_for(pilot, lambda: build.view.phase is Phase.FAILED)
        await pilot.press("escape")
        await screen(pilot, ReviewScreen)


@pytest.mark.parametrize("host", [None, NO_PYTHON])
async def test_a_server_is_started_again_as_it_was_whenever_the_machine_is_known(host: Host | None) -> None:
    chosen = choice(max_batch_size=1)
    made = FakeJourney(off=("mine",), earlier=replace(plan(), name="mine", choice=chosen), gate=threading.Event())
    able, made.host = made.host, host or made.host
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        welcome = await screen(pilot, WelcomeScreen)
        assert made.gate is not None
        if host is not None:
            made.gate.set()
            await wait_for(pilot, lambda: welcome.view.host)
        await choose_when_there(pilot, "server:mine")
        machine = await screen(pilot, MachineScreen)
        made.gate.set()
        await wait_for(pilot, lambda: machine.view.host and not machine.is_waiting)
        if host is not None:
            made.host = able
            await pilot.press("r")
            await wait_for(pilot, lambda: machine.view.host == able and not machine.is_waiting)
        await pilot.pause()
        await pilot.press("enter")
        review = await screen(pilot, ReviewScreen)
        await wait_for(pilot, lambda: review.view.plan)
        assert review.view.plan is not None
        assert (review.view.plan.name, review.view.plan.choice) == ("mine", chosen)


async def choose_when_there(pilot: Walk, row: str) -> None:
    """Choose a row of the welcome that comes late."""
    welcome = await screen(pilot, WelcomeScreen)
    await wait_for(pilot, lambda: row in [entry.id for entry in welcome.rows])
    await choose(pilot, row)


async def test_another_name_for_a_server_that_is_started_again_is_still_there_after_the_build() -> None:
    failed = ServerError("TW-S03", "it died", "Look at the log.")
    made = FakeJourney(off=("mine",), earlier=replace(plan(), name="mine"), run_error=failed, script=lambda _plan: [])
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        await to_welcome(pilot)
        await choose(pilot, "server:mine")
        review = await screen(pilot, ReviewScreen)
        assert review.view.answers == {"name": "mine"}
        await pilot.press("n")
        await screen(pilot, FormScreen)
        await pilot.press("end", "2", "enter")
        await screen(pilot, ReviewScreen)
        await wait_for(pilot, lambda: review.view.plan and review.view.plan.name == "mine2")
        await pilot.press("enter")
        build = await screen(pilot, BuildScreen)
        await wait_for(pilot, lambda: build.view.phase is Phase.FAILED)
        await pilot.press("escape")
        review = await screen(pilot, ReviewScreen)
        assert review.view.answers["name"] == "mine2"
        await pilot.press("escape")
        await to_welcome(pilot)
        await choose(pilot, "serve")
        await screen(pilot, AdviceScreen)
        await pilot.press("enter")
        assert (await screen(pilot, ReviewScreen)).view.answers == {}, "it was the other server's"


async def test_answers_given_beforehand_are_what_the_forms_hold() -> None:
    made = FakeJourney()
    answers = {"model": "demo", "users": 7, "max_len": 512, "name": "mine", "http_port": 8100, "temperature": 0.5}
    async with StillApp(made, answers=answers).run_test(size=(80, 24)) as pilot:
        advice = await to_advice(pilot)
        assert (advice.view.constraints.users, advice.view.constraints.max_len) == (7, 512)
        await pilot.press("enter")
        review = await screen(pilot, ReviewScreen)
        assert review.view.answers == {"name": "mine", "http_port": 8100}
        await wait_for(pilot, lambda: review.view.plan)
        await pilot.press("enter")
        build = await screen(pilot, BuildScreen)
        await wait_for(pilot, lambda: build.view.phase is Phase.READY)
        await pilot.press("enter")
        chat = await screen(pilot, ChatScreen)
        assert chat.view.conversation.sampling.temperature == 0.5
