"""Every key: declared once, shown, documented, and another can be put in its place."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from pathlib import Path

import pytest
from textual.binding import Binding
from textual.dom import DOMNode
from textual.widgets import Static

from tests.tui.fake_journey import FakeJourney
from tests.tui.walking import StillApp, screen, to_advice, to_build, to_machine, to_model, to_welcome, wait_for
from wizard.kernel import settings
from wizard.kernel.settings import load
from wizard.tui.keys import WHERE, Key, classes, declared, markdown, normal, refusal, shown, together, usable
from wizard.tui.screens.help import help_screen
from wizard.tui.screens.keys import KeysScreen, PressScreen
from wizard.tui.screens.modal import ReaderScreen
from wizard.tui.screens.model import ModelScreen
from wizard.tui.screens.settings import SettingsScreen
from wizard.tui.widgets.chrome import KeyBar, key_rows
from wizard.tui.widgets.picker import Picker

DOCS = Path(__file__).parents[2] / "docs" / "terminal.md"
OWNERS = [pytest.param(kind, id=kind.__name__) for kind in classes()]


def key(id: str) -> Key:
    return next(declaration for declaration in declared() if declaration.id == id)


@pytest.mark.parametrize("owner", OWNERS)
def test_every_binding_has_an_id_and_says_what_it_does(owner: type[DOMNode]) -> None:
    for binding in vars(owner)["BINDINGS"]:
        assert isinstance(binding, Binding)
        assert binding.id is not None, binding.key
        place, _, action = binding.id.partition(".")
        assert place in WHERE, binding.id
        assert action
        assert binding.description, binding.id
        assert binding.description[0].isupper(), binding.id


def test_no_module_declares_bindings_where_they_are_not_looked_for() -> None:
    source = Path(__file__).parents[2] / "wizard" / "tui"
    declaring = {path for path in source.rglob("*.py") if "BINDINGS: " in path.read_text(encoding="utf-8")}
    looked_at = {source / "app.py", *(source / "screens").glob("*.py"), *(source / "widgets").glob("*.py")}
    assert declaring
    assert declaring <= looked_at


def test_every_id_is_one_binding_s() -> None:
    ids = [declaration.id for declaration in declared()]
    assert sorted(ids) == sorted(set(ids))


@pytest.mark.parametrize("owner", OWNERS)
def test_no_key_of_a_class_does_two_things_unless_the_class_says_when(owner: type[DOMNode]) -> None:
    """What a class inherits it may replace; in its own list a key may stand twice only where `check_action` decides."""
    key_actions: dict[str, list[str]] = defaultdict(list)
    for binding in vars(owner)["BINDINGS"]:
        for word in binding.key.split(","):
            key_actions[word.strip()].append(binding.action)
    twice = {name: actions for name, actions in key_actions.items() if len(actions) > 1}
    assert not twice or "check_action" in vars(owner), twice


def test_the_documentation_lists_every_key() -> None:
    assert markdown() in DOCS.read_text(encoding="utf-8"), "run: python docs/tables.py"


def test_keys_are_named_as_they_are_printed() -> None:
    assert shown(
        ["ctrl+r", "question_mark", "f1", "escape", "up", "a", "shift+tab", "ctrl+shift+x", "pageup", "R"]
    ) == ("^R ? F1 Esc ↑ a Shift+Tab Shift+^X PgUp R")


def test_it_is_known_whether_two_classes_appear_together() -> None:
    by_id = {declaration.id: declaration.owner for declaration in declared()}
    app, stage, machine = by_id["app.help"], by_id["stage.back"], by_id["machine.look"]
    picker, pane, model = by_id["picker.up"], by_id["pane.up"], by_id["model.look"]
    assert all(together(app, other) for other in (stage, machine, picker))
    assert together(stage, machine)
    assert together(machine, picker)
    assert not together(machine, model)
    assert not together(picker, pane)
    for first, other in combinations([app, stage, machine, picker, pane, model], 2):
        assert together(first, other) == together(other, first)


@pytest.mark.parametrize(
    ("id", "wanted", "word"),
    [
        ("machine.look", "l", ""),
        ("machine.look", "tab", "Tab"),
        ("machine.look", "escape", "Esc"),
        ("machine.look", "f1", "Help (Everywhere)"),
        ("machine.look", "q", "Quit (All stages)"),
        ("machine.look", "enter", "Choose"),
        ("model.look", "r", "needed for typing"),
        ("model.look", "f9", ""),
        ("app.help", "r", "needed for typing"),
        ("app.help", "f2", "Settings"),
        ("app.quit", "ctrl+p", "Commands"),
        ("picker.up", "k", ""),
        ("picker.up", "f1", "Help"),
        ("stage.back", "r", "needed for typing"),
        ("machine.look", "", "unknown key ''"),
        ("machine.look", "contrl+l", "unknown key 'contrl+l'"),
        ("machine.look", "ctrl+", "unknown key 'ctrl+'"),
        ("machine.look", "f13", ""),
        ("machine.look", "ctrl+shift+pageup", ""),
        ("machine.look", "한", ""),
    ],
)
def test_a_key_that_is_taken_or_typed_is_refused_with_words(id: str, wanted: str, word: str) -> None:
    reason = refusal(key(id), wanted, {})
    assert word in reason
    assert bool(word) == bool(reason)


def test_a_key_that_was_given_up_is_free_and_one_that_was_taken_is_not() -> None:
    look = key("machine.look")
    assert refusal(look, "f1", {"app.help": "f9"}) == ""
    assert "Help" in refusal(look, "f9", {"app.help": "f9"})
    assert refusal(look, "r", {"machine.look": "l"}) == ""


async def test_every_key_of_the_settings_works_and_is_shown_everywhere() -> None:
    settings.change(keys={"machine.look": "l", "stage.help": "f11", "picker.up": "k", "picker.down": "j"})
    made = FakeJourney()
    async with StillApp(made).run_test(size=(120, 40)) as pilot:
        welcome = await to_welcome(pilot)
        bar = welcome.query_one(KeyBar).line(200).plain
        assert "k j Move" in bar
        await pilot.press("j")
        assert welcome.query_one(Picker).highlighted == 1
        await pilot.press("enter")
        machine = await to_machine(pilot)
        await wait_for(pilot, lambda: not pilot.app._notifications)
        bar = machine.query_one(KeyBar).line(200).plain
        assert "l Refresh" in bar
        assert "r" not in {key_row.binding.key for key_row in key_rows(machine)}
        await pilot.press("l")
        await to_machine(pilot)
        await pilot.press("f11")
        assert "l Refresh" in " ".join((await screen(pilot, ReaderScreen))._text.split())


async def test_invalid_keys_of_a_file_are_reported_and_skipped() -> None:
    settings.change(keys={"welcome.look": "enter", "machine.look": "l", "no.such": "x"})
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        welcome = await to_welcome(pilot)
        await wait_for(pilot, lambda: app._notifications)
        messages = sorted(note.message for note in app._notifications)
        assert messages == [
            "Ignoring the key enter for welcome.look in your settings: ⏎ is already used for Choose (Welcome).",
            "Ignoring the key x for no.such in your settings: unknown ID",
        ]
        assert "r Refresh" in welcome.query_one(KeyBar).line(200).plain
        assert load().keys == {"welcome.look": "enter", "machine.look": "l", "no.such": "x"}


def test_of_two_ids_with_the_same_key_the_second_keeps_it() -> None:
    good, problems = usable({"machine.look": "l", "machine.accept": "l"})
    assert len(problems) + len(good) == 2
    assert len(good) < 2
    swapped = {"app.help": "f2", "app.settings": "f1"}
    assert usable(swapped) == (swapped, [])


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("!", "exclamation_mark"),
        ("F5", "f5"),
        (" Ctrl+R ", "ctrl+r"),
        ("shift+ctrl+x", "ctrl+shift+x"),
        ("Ctrl+?", "ctrl+question_mark"),
        ("R", "R"),
        ("+", "plus"),
    ],
)
def test_keys_are_taken_as_people_write_them(written: str, name: str) -> None:
    assert normal(written) == name
    assert usable({"machine.look": f"{written},l"}) == ({"machine.look": f"{name},l"}, [])


def test_a_key_that_does_several_things_one_after_the_other_stays() -> None:
    assert "several functions" in refusal(key("build.stop"), "f9", {})


async def to_keys(pilot: object) -> KeysScreen:
    await to_welcome(pilot)  # type: ignore[arg-type]
    await pilot.press("f2")  # type: ignore[attr-defined]
    await screen(pilot, SettingsScreen)  # type: ignore[arg-type]
    await pilot.press("up", "enter")  # type: ignore[attr-defined]
    return await screen(pilot, KeysScreen)  # type: ignore[arg-type]


def row(window: KeysScreen, id: str) -> str:
    at = [declaration.id for declaration in declared()].index(id)
    return " ".join(str(window.query_one(Picker).get_option_at_index(at).prompt).removeprefix("▸").split())


async def test_a_key_is_changed_by_pressing_another_and_given_back() -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        window = await to_keys(pilot)
        picker = window.query_one(Picker)
        at = [declaration.id for declaration in declared()].index("welcome.look")
        while picker.highlighted != at:
            await pilot.press("down")
        assert row(window, "welcome.look") == "r Refresh · Welcome"
        await pilot.press("enter")
        await screen(pilot, PressScreen)
        await pilot.press("escape")
        await screen(pilot, KeysScreen)
        assert load().keys == {}
        await pilot.press("enter")
        await screen(pilot, PressScreen)
        await pilot.press("q")
        await screen(pilot, KeysScreen)
        assert "q is already used for Quit" in str(window.query_one("#about", Static).render())
        assert load().keys == {}
        await pilot.press("enter")
        await screen(pilot, PressScreen)
        await pilot.press("l")
        await screen(pilot, KeysScreen)
        assert row(window, "welcome.look") == "l* Refresh · Welcome"
        assert load().keys == {"welcome.look": "l"} == app.settings.keys
        await pilot.press("r")
        assert row(window, "welcome.look") == "r Refresh · Welcome"
        assert load().keys == {}
        await pilot.press("enter")
        await screen(pilot, PressScreen)
        await pilot.press("l")
        await screen(pilot, KeysScreen)
        await pilot.press("R")
        assert load().keys == {}
        await pilot.press("escape")
        assert "defaults" in str((await screen(pilot, SettingsScreen)).query_one(Picker).get_option_at_index(4).prompt)


@pytest.mark.parametrize(
    ("press", "taken"),
    [("f1", "Help"), ("f2", "Settings"), ("ctrl+p", "Commands"), ("ctrl+q", "Quit"), ("ctrl+c", "Copy the selection")],
)
async def test_where_a_key_is_asked_for_the_keys_of_everywhere_do_nothing_else(press: str, taken: str) -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        window = await to_keys(pilot)
        await pilot.press("end", "up", "enter")
        await screen(pilot, PressScreen)
        await pilot.press(press)
        assert await screen(pilot, KeysScreen) is window
        assert f"is already used for {taken}" in str(window.query_one("#about", Static).render())
        assert load().keys == {}


async def test_a_key_that_cannot_hold_is_not_shown_and_comes_to_nothing_with_another_setting() -> None:
    settings.change(keys={"welcome.look": "enter", "machine.look": "L"})
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)) as pilot:
        welcome = await to_welcome(pilot)
        await wait_for(pilot, lambda: app._notifications)
        app.change_settings(theme="triton-wizard-light")
        await pilot.pause()
        assert "r Refresh" in welcome.query_one(KeyBar).line(200).plain
        window = await to_keys(pilot)
        assert row(window, "welcome.look") == "r* Refresh · Welcome"
        assert row(window, "machine.look") == "L* Refresh · Machine"
        assert load().keys == {"welcome.look": "enter", "machine.look": "L"}


def test_the_keys_that_scroll_in_every_stage_have_one_id_each() -> None:
    pages = {declaration.id for declaration in declared() if {"pageup", "pagedown"} & {*declaration.keys({})}}
    assert pages == {"stage.page_up", "stage.page_down"}


async def test_keys_of_two_parts_of_a_screen_that_do_alike_share_a_row() -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        build = await to_build(pilot)
        assert [key_row.keys for key_row in key_rows(build) if key_row.about == "Scroll"] == ["↑↓←→ PgUp/Dn"]


async def test_the_help_lists_every_key_that_does_something() -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        for walk in (to_welcome, to_advice):
            stage = await walk(pilot)
            text = help_screen(stage)._text
            rows = key_rows(stage, hidden=True)
            assert {key_row.binding.id for key_row in key_rows(stage)} <= {row.binding.id for row in rows}
            assert all(row.about in text for row in rows)
            assert "docs/" in text


async def test_a_letter_is_still_typed_where_a_screen_has_it_as_a_key() -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        model = await to_model(pilot)
        assert isinstance(model, ModelScreen)
        await pilot.press("r", "q")
        assert model.view.text == "rq"
