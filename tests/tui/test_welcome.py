"""The first screen: what it shows when, where its cursor is, and where its rows lead."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from tests.tui.fake_journey import FakeJourney
from tests.tui.values import CPU_HOST, ENDPOINT, GPU_HOST, NO_PYTHON, SUGGESTIONS, events, plan
from tests.tui.walking import StillApp, choose, screen, to_build, to_chat, to_welcome, wait_for
from wizard.catalog.workshops import Workshop
from wizard.kernel import settings
from wizard.kernel.errors import HostError
from wizard.probe.shorthand import host as described
from wizard.tui.screens.advice import AdviceScreen
from wizard.tui.screens.build import BuildScreen
from wizard.tui.screens.chat import ChatScreen
from wizard.tui.screens.machine import MachineScreen
from wizard.tui.screens.modal import ReaderScreen
from wizard.tui.screens.model import ModelScreen
from wizard.tui.screens.recipes import RecipesScreen, comparison
from wizard.tui.screens.review import ReviewScreen
from wizard.tui.screens.settings import SettingsScreen
from wizard.tui.screens.welcome import WelcomeScreen
from wizard.tui.views.welcome import Server, WelcomeView, best, listed, machine, right, rows
from wizard.tui.widgets.picker import Picker


def under_cursor(welcome: WelcomeScreen) -> str:
    return welcome.rows[welcome.query_one(Picker).highlighted or 0].id


def text(welcome: WelcomeScreen) -> str:
    return "\n".join(str(option.prompt) for option in welcome.query_one(Picker).options)


def test_the_machine_is_summarized_in_two_lines() -> None:
    assert machine(WelcomeView()) == ["◌ Checking this machine …"]
    assert machine(WelcomeView(GPU_HOST)) == [
        "4 × NVIDIA H100 80GB HBM3, 80.0 GiB · driver 550.54.15",
        "✓ Triton can run here with docker or Python 3.11",
    ]
    assert machine(WelcomeView(CPU_HOST)) == [
        "no NVIDIA GPU · AMD EPYC 7B13 64-Core Processor, 2 cores · 21.3 GiB RAM free",
        "✓ Triton can run here with Python 3.11",
    ]
    assert machine(WelcomeView(NO_PYTHON))[1].startswith("✗ No Python")
    assert machine(WelcomeView(replace(GPU_HOST, source="4xH100")))[0].startswith("Planning for 4xH100 · 4 × ")
    assert machine(WelcomeView(error=HostError("TW-P03", "x", "y"))) == []


@pytest.mark.parametrize(
    ("view", "row"),
    [
        (WelcomeView(), "serve"),
        (WelcomeView(CPU_HOST, suggestions=SUGGESTIONS), "serve"),
        (WelcomeView(NO_PYTHON, suggestions=SUGGESTIONS), "machine"),
        (WelcomeView(error=HostError("TW-P03", "x", "y")), "machine"),
        (WelcomeView(CPU_HOST, explanations=True), "machine"),
        (WelcomeView(NO_PYTHON, servers=(Server("demo", "", ENDPOINT),)), "server:demo"),
    ],
)
def test_the_cursor_is_on_the_right_answer(view: WelcomeView, row: str) -> None:
    assert right(view) == row
    assert row in [row.id for row in rows(view)]


def test_the_first_model_that_can_be_used_is_the_recommended_one() -> None:
    (row,) = (row for row in rows(WelcomeView(CPU_HOST, suggestions=SUGGESTIONS[::-1])) if row.id == "serve")
    assert (row.title, row.recommended) == ("Serve SmolLM2 [bold]1.7B[/] Instruct", True)
    for none in ((), SUGGESTIONS[3:]):
        (row,) = (row for row in rows(WelcomeView(CPU_HOST, suggestions=none)) if row.id == "serve")
        assert (row.title, row.about, row.recommended) == ("Serve a model", "of your choice", False)


def test_a_model_that_asks_for_a_token_is_recommended_only_where_there_is_no_other() -> None:
    gated = replace(SUGGESTIONS[0], gated=True, title="Gated")
    assert best(WelcomeView(suggestions=(gated, SUGGESTIONS[1]))) is SUGGESTIONS[1]
    assert best(WelcomeView(suggestions=(gated,))) is gated


def test_what_is_being_built_stands_before_what_answers() -> None:
    servers = listed([ENDPOINT], {"other": 0.43, "third": None}, lambda _name: "as predicted")
    assert [(server.name, server.about) for server in servers] == [
        ("other", "being built: 43%"),
        ("third", "the build did not finish; open it to see why and try again"),
        ("demo", f"model demo at {ENDPOINT.http} · as predicted"),
    ]
    assert [server.name for server in servers if server.building] == ["other"]
    assert rows(WelcomeView(servers=tuple(servers)))[0].title == "See the progress of other"


def test_a_server_that_answers_before_its_build_has_ended_has_a_single_row() -> None:
    assert [server.endpoint for server in listed([ENDPOINT], {"demo": 0.9}, lambda _name: "")] == [None]


def test_a_server_that_answers_is_listed_once_though_its_build_here_has_failed() -> None:
    assert [server.endpoint for server in listed([ENDPOINT], {"demo": None}, lambda _name: "")] == [ENDPOINT]


def test_a_stopped_server_lists_what_it_keeps() -> None:
    (server,) = listed([], {}, lambda _name: "", plan())
    assert server.about == "triton-wizard-demo: not running; downloads and builds are kept"


def test_a_model_that_is_here_is_no_promise_that_nothing_is_downloaded() -> None:
    (row,) = (row for row in rows(WelcomeView(suggestions=SUGGESTIONS[1:])) if row.id == "serve")
    assert row.about.startswith("the model is on this machine")


async def test_a_server_that_does_not_run_any_more_can_be_started_again() -> None:
    before = replace(plan(), name="mine", facts=replace(plan().facts, ref="demo"))
    made = FakeJourney(off=("other", "mine"), earlier=before)
    app = StillApp(made)
    async with app.run_test(size=(80, 24)) as pilot:
        welcome = await to_welcome(pilot)
        assert under_cursor(welcome) == "server:mine"
        assert "Restart mine" in text(welcome)
        await pilot.press("enter")
        review = await screen(pilot, ReviewScreen)
        await wait_for(pilot, lambda: review.view.plan)
        assert review.view.plan is not None
        assert (review.view.plan.name, review.view.plan.facts) == ("mine", before.facts)
        await pilot.press("escape")
        await to_welcome(pilot)
        await choose(pilot, "serve")
        await screen(pilot, AdviceScreen)
        await pilot.press("enter")
        review = await screen(pilot, ReviewScreen)
        assert review.view.answers == {}, "another model is not served under that name"


@pytest.mark.parametrize(
    ("workshop", "offered"),
    [
        (Workshop("Mine", pin={"model": "demo"}), True),
        (Workshop("Mine", pin={"users": 3}), True),
        (Workshop("Mine", pin={"model": "another"}), False),
        (Workshop("Mine", hide=("model",)), False),
        (Workshop("Mine", pin={"name": "another"}), False),
    ],
)
async def test_what_a_facilitator_does_not_allow_is_not_offered_to_be_started_again(
    workshop: Workshop, offered: bool
) -> None:
    made = FakeJourney(off=("demo",), earlier=plan())
    async with StillApp(made, workshop=workshop).run_test(size=(80, 24)) as pilot:
        assert ("Restart demo" in text(await to_welcome(pilot))) is offered


@pytest.mark.parametrize(
    ("workshop", "offered"),
    [
        (Workshop("Mine", pin={"model": "demo", "name": "demo"}), True),
        (Workshop("Mine", hide=("model",)), True),
        (Workshop("Mine", pin={"model": "another"}), False),
        (Workshop("Mine", pin={"name": "another"}), False),
    ],
)
async def test_a_server_that_runs_is_offered_where_the_facilitator_allows_it(workshop: Workshop, offered: bool) -> None:
    made = FakeJourney(running=(ENDPOINT,), earlier=plan())
    async with StillApp(made, workshop=workshop).run_test(size=(80, 24)) as pilot:
        assert ("Chat with demo" in text(await to_welcome(pilot))) is offered
        assert [*pilot.app.running] == ["demo"], "it is named by whoever leaves, anyway"  # type: ignore[attr-defined]


async def test_a_plan_for_another_machine_offers_no_server_of_this_machine() -> None:
    there, mine = replace(GPU_HOST, source="4xH100"), replace(plan(), name="mine")
    made = FakeJourney(host=there, running=(ENDPOINT,), off=("mine",), earlier=mine)
    async with StillApp(made, hardware="4xH100").run_test(size=(80, 24)) as pilot:
        welcome = await to_welcome(pilot)
        assert [row.id for row in welcome.rows[:2]] == ["server:demo", "serve"]
        assert under_cursor(welcome) == "serve"


async def test_a_server_that_is_built_in_the_background_is_not_offered_to_be_started_again() -> None:
    made = FakeJourney(hold_run=True, script=lambda plan: events(plan, until="model"), off=("demo",), earlier=plan())
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        build = await to_build(pilot)
        await wait_for(pilot, lambda: build.view.progress)
        build.dismiss("background")
        welcome = await to_welcome(pilot)
        await wait_for(pilot, lambda: welcome.rows[0].id == "server:demo")
        assert "See the progress of demo" in text(welcome)
        assert "again" not in text(welcome)


async def test_nothing_is_waited_for_and_the_cursor_stays_where_the_user_put_it() -> None:
    gate = threading.Event()
    made = FakeJourney(gate=gate, running=(ENDPOINT,))
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        welcome = await screen(pilot, WelcomeScreen)
        await wait_for(pilot, lambda: welcome.view.servers)
        await pilot.pause()
        assert "Chat with demo" in text(welcome)
        assert "looking for a model" in text(welcome)
        assert under_cursor(welcome) == "server:demo"
        await pilot.press("down", "down")
        assert under_cursor(welcome) == "machine"
        gate.set()
        await wait_for(pilot, lambda: welcome.view.suggestions)
        await pilot.pause()
        assert "Serve Qwen2.5 0.5B Instruct" in text(welcome)
        assert under_cursor(welcome) == "machine"


async def test_a_server_that_is_found_late_does_not_move_the_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    made = FakeJourney(running=(ENDPOINT,))
    look = made.statuses
    monkeypatch.setattr(made, "statuses", lambda workspace: gate.wait(30) and look(workspace))
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        welcome = await screen(pilot, WelcomeScreen)
        await wait_for(pilot, lambda: welcome.view.suggestions)
        await pilot.press("down", "up")
        gate.set()
        await wait_for(pilot, lambda: welcome.view.servers)
        await pilot.pause()
        assert welcome.rows[0].id == "server:demo"
        assert under_cursor(welcome) == "serve"


async def test_enter_before_anything_is_known_begins_with_the_machine() -> None:
    gate = threading.Event()
    made = FakeJourney(gate=gate)
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        await screen(pilot, WelcomeScreen)
        await pilot.press("enter")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, MachineScreen))
        gate.set()
        await pilot.press("escape")
        await to_welcome(pilot)


async def test_the_recommended_model_is_taken_and_escape_leads_back_to_the_welcome() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        await to_welcome(pilot)
        await pilot.press("enter")
        await screen(pilot, AdviceScreen)
        assert made.read == [SUGGESTIONS[0].ref]
        await pilot.press("escape")
        model = await screen(pilot, ModelScreen)
        assert model.view.text == SUGGESTIONS[0].ref
        await pilot.press("escape")
        await pilot.press("escape")
        welcome = await to_welcome(pilot)
        assert under_cursor(welcome) == "serve"


async def test_choosing_a_model_begins_with_an_empty_field_and_does_not_look_at_the_machine_again() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        await to_welcome(pilot)
        await choose(pilot, "model")
        assert (await screen(pilot, ModelScreen)).view.text == ""


async def test_a_machine_that_cannot_serve_leads_to_the_machine() -> None:
    async with StillApp(FakeJourney(host=NO_PYTHON)).run_test(size=(80, 24)) as pilot:
        welcome = await to_welcome(pilot)
        assert under_cursor(welcome) == "machine"
        await choose(pilot, "model")
        await screen(pilot, MachineScreen)


async def test_a_probe_that_fails_says_why_and_can_be_done_again() -> None:
    made = FakeJourney(host=HostError("TW-P03", "the driver is broken", "Fix it."))
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        welcome = await to_welcome(pilot)
        assert "TW-P03" in str(welcome.query_one("ErrorPanel").render())
        made.host = CPU_HOST
        await pilot.press("r")
        await wait_for(pilot, lambda: welcome.view.suggestions)
        assert welcome.view.error is None


@pytest.mark.parametrize(("row", "kind"), [("settings", SettingsScreen), ("help", ReaderScreen)])
async def test_settings_and_help_come_back_to_the_welcome(row: str, kind: type[SettingsScreen | ReaderScreen]) -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        welcome = await to_welcome(pilot)
        await choose(pilot, row)
        await screen(pilot, kind)
        await pilot.press("escape")
        assert await screen(pilot, WelcomeScreen) is welcome


async def test_a_click_on_a_row_takes_it() -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        welcome = await to_welcome(pilot)
        line = next(at for at, row in enumerate(text(welcome).splitlines()) if "Choose another model" in row)
        await pilot.click(Picker, offset=(4, line))
        await screen(pilot, ModelScreen)


async def test_quit_is_a_row_too() -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        await to_welcome(pilot)
        await choose(pilot, "quit")
    assert app.return_value == 0


async def test_a_recipe_is_used_with_its_answers() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        await to_welcome(pilot)
        await choose(pilot, "recipes")
        recipes = await screen(pilot, RecipesScreen)
        picker = recipes.query_one(Picker)
        await wait_for(pilot, lambda: picker.option_count)
        assert "Offline demo" in str(picker.get_option_at_index(0).prompt)
        await pilot.press("escape")
        await to_welcome(pilot)
        await choose(pilot, "recipes")
        recipes = await screen(pilot, RecipesScreen)
        await wait_for(pilot, lambda: recipes.query_one(Picker).option_count)
        await pilot.press("enter")
        advice = await screen(pilot, AdviceScreen)
        assert advice.view.constraints.users == 2
    assert made.read == ["demo"]


@pytest.mark.parametrize(
    ("machines", "here", "begins"),
    [
        ((), GPU_HOST, "made for any"),
        (("cpu",), CPU_HOST, "✓ fits here"),
        (("1xL4", "1xA10G"), GPU_HOST, "✓ fits here: made for 1xL4 or 1xA10G"),
        (("4xA6000",), GPU_HOST, "✓ fits here"),
        (("8xH100",), GPU_HOST, "○ made for 8xH100"),
        (("1xL4",), CPU_HOST, "○ made for 1xL4"),
        (("1xH200",), described("1xH100"), "○ made for 1xH200"),
        (("1xL4",), None, "made for 1xL4"),
    ],
)
def test_a_recipe_says_how_this_machine_compares(machines: tuple[str, ...], here: object, begins: str) -> None:
    assert comparison(machines, here).startswith(begins)  # type: ignore[arg-type]


async def test_after_a_chat_the_running_server_is_the_first_row() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        await to_chat(pilot)
        made.running, made.host = (ENDPOINT,), GPU_HOST
        app = pilot.app
        assert isinstance(app, StillApp)
        chat = await screen(pilot, ChatScreen)
        chat.dismiss(None)
        await wait_for(pilot, lambda: isinstance(app.screen, (MachineScreen, WelcomeScreen)))
        if isinstance(app.screen, MachineScreen):
            await screen(pilot, MachineScreen)
            await pilot.press("escape")
        welcome = await to_welcome(pilot)
        assert under_cursor(welcome) == "server:demo"
        assert welcome.view.host == GPU_HOST, "the machine is looked at again: a server has taken memory"


async def test_who_has_come_for_the_explanations_sees_the_machine_first() -> None:
    settings.change(explain=True)
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        welcome = await to_welcome(pilot)
        assert under_cursor(welcome) == "machine"


async def test_a_build_in_the_background_can_be_come_back_to() -> None:
    made = FakeJourney(hold_run=True, script=lambda plan: events(plan, until="model"))
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        build = await to_build(pilot)
        await wait_for(pilot, lambda: build.view.progress)
        build.dismiss("background")
        welcome = await to_welcome(pilot)
        await wait_for(pilot, lambda: welcome.rows[0].id == "server:demo")
        assert "See the progress of demo" in text(welcome)
        await pilot.press("enter")
        await screen(pilot, BuildScreen)
