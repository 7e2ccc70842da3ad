"""The window with several questions: choices, questions that do not matter, the focus, small terminals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from rich.cells import cell_len
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input, Static

from tests.tui.walking import screen, wait_for
from wizard.kernel.language import speaking
from wizard.plan.question import Question
from wizard.plan.questions import ACCEPT, CHAT, CONSTRAINTS, GOAL, QUESTIONS, SEED, SPECULATIVE, SYSTEM, TEMPERATURE, TP
from wizard.tui.app import WizardApp
from wizard.tui.screens.form import NO_EFFECT, FormScreen
from wizard.tui.widgets.chrome import KeyBar
from wizard.tui.widgets.options import Options


class FormApp(App[dict[str, object]]):
    """A form and nothing else; the app's result is the form's."""

    CSS_PATH = WizardApp.CSS_PATH
    HORIZONTAL_BREAKPOINTS = WizardApp.HORIZONTAL_BREAKPOINTS
    VERTICAL_BREAKPOINTS = WizardApp.VERTICAL_BREAKPOINTS

    def __init__(self, questions: Sequence[Question], answers: Mapping[str, object]) -> None:
        super().__init__()
        self._questions, self._answers = questions, answers

    def on_mount(self) -> None:
        self.push_screen(FormScreen("Questions", self._questions, self._answers), self.exit)


def texts(form: FormScreen) -> str:
    return "\n".join(str(result.render()) for result in form.query(".text").results(Static))


def about(form: FormScreen) -> str:
    return str(form.query_one("#about", Static).render())


async def move_to(pilot: Pilot[Any], name: str) -> None:
    while not pilot.app.screen.query_one(f"#{name}").has_focus:
        before = pilot.app.focused
        await pilot.press("down")
        assert pilot.app.focused is not before


@pytest.mark.parametrize("answers", [{}, {"speculative": "none"}])
async def test_no_answer_is_shown_once(answers: dict[str, object]) -> None:
    app = FormApp([SPECULATIVE], answers)
    async with app.run_test(size=(80, 24)) as pilot:
        form = await screen(pilot, FormScreen)
        shown = str(form.query_one("#speculative", Options).render())
        assert (shown.count("none"), "● none" in shown) == (1, True)
        await pilot.press("right", "enter")
    assert app.return_value == {"speculative": "ngram"}


async def test_a_choice_is_made_with_the_arrows_and_shows_all_that_there_is() -> None:
    app = FormApp(CONSTRAINTS, {"goal": "throughput", "users": 3})
    async with app.run_test(size=(80, 24)) as pilot:
        form = await screen(pilot, FormScreen)
        goal = form.query_one("#goal", Options)
        assert all(choice in str(goal.render()) for choice in GOAL.choices)
        assert "● throughput" in str(goal.render())
        assert "←→ Choose" in str(form.query_one(KeyBar).render())
        assert "↑↓ Move" in str(form.query_one(KeyBar).render())
        await pilot.press("left", "left", "left")
        assert goal.value == "chat"
        await pilot.press("right", "right", "right", "right", "right", "enter")
    assert app.return_value == {"goal": "smallest", "users": 3}


async def test_a_choice_can_be_clicked() -> None:
    app = FormApp([GOAL], {})
    async with app.run_test(size=(120, 40)) as pilot:
        form = await screen(pilot, FormScreen)
        goal = form.query_one("#goal", Options)
        at = str(goal.render()).splitlines()[0].index("throughput")
        await pilot.click("#goal", offset=(at + 2, 0))
        assert goal.value == "throughput"


@pytest.mark.parametrize(("keys", "given"), [(("right",), {"accept": True}), (("right", "right"), {"accept": False})])
async def test_yes_or_no_is_a_choice(keys: tuple[str, ...], given: dict[str, object]) -> None:
    app = FormApp([ACCEPT], {})
    async with app.run_test(size=(80, 24)) as pilot:
        form = await screen(pilot, FormScreen)
        await pilot.press("enter")  # nothing is chosen yet, and an answer is required
        await pilot.pause()
        await pilot.pause()
        assert "accept" in about(form)
        await pilot.press(*keys, "enter")
    assert app.return_value == given


async def test_yes_or_no_begins_with_what_was_answered() -> None:
    app = FormApp([ACCEPT], {"accept": False})
    async with app.run_test(size=(80, 24)) as pilot:
        form = await screen(pilot, FormScreen)
        assert "● no" in str(form.query_one("#accept", Options).render())


async def test_a_choice_may_be_left_to_the_wizard() -> None:
    app = FormApp([Question("colour", "choice", "Colour?", "--colour", otherwise="any", choices=("red", "blue"))], {})
    async with app.run_test(size=(80, 24)) as pilot:
        form = await screen(pilot, FormScreen)
        assert "● any" in str(form.query_one("#colour", Options).render())
        await pilot.press("enter")
    assert app.return_value == {}


async def test_what_does_not_matter_is_skipped_and_not_answered() -> None:
    app = FormApp(CHAT, {"temperature": 0.5, "top_p": 0.9, "max_tokens": 64, "seed": 7})
    async with app.run_test(size=(80, 24)) as pilot:
        form = await screen(pilot, FormScreen)
        seed = form.query_one("#seed", Input)
        assert not seed.disabled
        await move_to(pilot, "temperature")
        await pilot.press("ctrl+u", "0")
        await pilot.pause()
        assert seed.disabled
        assert texts(form).count(NO_EFFECT) == 2
        await pilot.press("down")
        assert form.query_one("#max_tokens").has_focus
        await pilot.press("up", ".", "5")
        await pilot.pause()
        assert not seed.disabled
        assert NO_EFFECT not in texts(form)
        await pilot.press("backspace", "backspace", "enter")
    assert app.return_value == {"temperature": 0.0, "max_tokens": 64}


async def test_fields_without_effect_start_disabled_and_drop_an_invalid_answer() -> None:
    app = FormApp([TEMPERATURE, SEED], {"temperature": 0.0, "seed": -1})
    async with app.run_test(size=(80, 24)) as pilot:
        form = await screen(pilot, FormScreen)
        assert form.query_one("#seed").disabled
        await pilot.press("enter")
    assert app.return_value == {"temperature": 0.0}


async def test_the_focused_field_has_a_bar_of_its_own_that_needs_no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = FormApp(CHAT, {})
    async with app.run_test(size=(80, 24)) as pilot:
        form = await screen(pilot, FormScreen)
        for name in ("system", "temperature", "top_p"):
            await move_to(pilot, name)
            await pilot.pause()
            bars = {field.children[1].id: field.styles.border_left[0] for field in form.query(".field")}
            assert [id for id, bar in bars.items() if bar == "outer"] == [name]


@pytest.mark.parametrize("questions", [CHAT, CONSTRAINTS, [SYSTEM]], ids=["chat", "constraints", "system"])
async def test_in_40_by_15_every_field_and_its_help_come_into_view(questions: Sequence[Question]) -> None:
    app = FormApp(questions, {})
    async with app.run_test(size=(40, 15)) as pilot:
        form = await screen(pilot, FormScreen)
        for question in questions:
            await move_to(pilot, question.name)
            pane, help_text = form.query_one(".form"), form.query_one("#about")
            field = form.query_one(f"#{question.name}")
            await wait_for(pilot, lambda pane=pane, field=field: pane.region.contains_region(field.region))
            await pilot.pause()
            assert form.region.contains_region(help_text.region)
            assert help_text.virtual_size.height <= help_text.size.height
            assert question.help in " ".join(about(form).split())
            assert pane.region.bottom <= help_text.region.y


async def test_the_flag_that_an_error_may_name_stands_with_its_question() -> None:
    other = Question("one", "text", "One", "/set one", help="No flag.")
    async with FormApp([TP, other], {}).run_test(size=(80, 24)) as pilot:
        form = await screen(pilot, FormScreen)
        await pilot.pause()
        assert about(form) == f"{TP.help}  --tp"
        await move_to(pilot, "one")
        await pilot.pause()
        assert about(form) == "No flag."


async def test_in_40_by_15_the_longest_refusal_can_be_read() -> None:
    from wizard.plan.questions import SERVER

    app = FormApp(SERVER, {})
    async with app.run_test(size=(40, 15)) as pilot:
        form = await screen(pilot, FormScreen)
        await pilot.press(*"My Name", "enter")
        await pilot.pause()
        await pilot.pause()
        help_text, field = form.query_one("#about", Static), form.query_one("#name")
        assert "also the model's name in Triton." in " ".join(about(form).split())
        assert help_text.get_content_height(help_text.size, form.size, help_text.size.width) <= help_text.size.height
        assert form.query_one(".form").region.contains_region(field.region)


@pytest.mark.parametrize("language", ["en", "ko"])
async def test_what_an_empty_field_stands_for_is_not_cut_at_80_columns(language: str) -> None:
    with speaking(language):
        app = FormApp([question for question in QUESTIONS if question.kind not in ("choice", "confirm")], {})
        async with app.run_test(size=(80, 24)) as pilot:
            fields = (await screen(pilot, FormScreen)).query(Input).results()
            cut = {str(field.placeholder) for field in fields if cell_len(str(field.placeholder)) > field.size.width}
    assert cut == set()
