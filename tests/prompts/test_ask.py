"""Menus and questions in terminals of every kind: arrows, digits, what is typed and what is pasted."""

from __future__ import annotations

from pathlib import Path

import pyte
import pytest

from tests.prompts.fake_journey import FakeJourney
from tests.prompts.terminal import ADVICE, CTRL_D, DOWN, ENTER, MODEL, PLAN, UP, Flow
from tests.values import CPU_HOST
from wizard.prompts.options import suggestion
from wizard.prompts.speech import spoken


@pytest.mark.parametrize("pasted", ["org/none", " org/none\n", "org/none\r\n"])
def test_what_is_pasted_at_a_menu_is_typed_into_the_line_below(flow: Flow, pasted: str) -> None:
    terminal = flow()
    terminal.sees(MODEL)
    terminal.sees("selects the marked one)")
    terminal.pastes(pasted)
    terminal.sees("or press Enter for 1: ")
    terminal.sees("org/none")
    terminal.types(ENTER)
    terminal.sees("'org/none' is not a recipe")
    terminal.leaves()


def test_a_small_terminal_is_enough(flow: Flow) -> None:
    terminal = flow(size=(15, 40))
    terminal.accepts(MODEL, "run on this machine?", "This is what will run.")
    terminal.sees("is ready")
    terminal.sees("> ")
    terminal.says_bye(CTRL_D)
    assert terminal.ends() == 0


def test_a_dumb_terminal_gets_numbers_and_no_escapes(flow: Flow) -> None:
    terminal = flow(TERM="dumb")
    seen = []
    for question, answer in ((MODEL, "7\r"), ("TW-U35", "1\r"), (ADVICE, "two\r"), ("TW-U35", "2\r"), (PLAN, "\r")):
        terminal.sees(question)
        seen.append(str(terminal.child.before))
        terminal.sees("Enter for 1:")
        terminal.types(answer)
    terminal.sees("Step 1 of 2")
    seen.append(str(terminal.child.before))
    terminal.sees("is ready")
    terminal.sees("> ")
    terminal.says_bye(CTRL_D)
    assert terminal.ends() == 0
    assert "\x1b" not in "".join(seen)


def test_the_arrow_keys_choose(flow: Flow) -> None:
    terminal = flow()
    terminal.sees(MODEL)
    terminal.types(DOWN + ENTER)
    terminal.sees("How should org/small run on this machine?")
    terminal.types(UP * 3 + ENTER)  # round to the last but two: another model
    terminal.sees(MODEL)
    terminal.types(CTRL_D)
    assert terminal.ends() == 130


def test_what_was_chosen_stays_below_its_question_in_lines_that_fit(flow: Flow) -> None:
    columns = 40
    terminal = flow(COLUMNS=str(columns), size=(24, columns))
    screen = pyte.Screen(columns, 24)
    seen = pyte.Stream(screen)
    terminal.sees("type it here")
    seen.feed(str(terminal.child.before) + str(terminal.child.after))
    terminal.types(ENTER)
    terminal.sees("Recommended:")
    seen.feed(str(terminal.child.before))
    shown = [line.rstrip() for line in screen.display]
    at = shown.index("Which model?")
    chosen = shown[at + 1 : shown.index("", at)]
    assert chosen[0].startswith("  1) Offline demo")
    assert len(chosen) > 1, "it is longer than a line"
    assert all(line.startswith("     ") for line in chosen[1:])
    title = suggestion(FakeJourney(Path()).suggestions(CPU_HOST)[0])
    assert " ".join(" ".join(chosen).split()) == f"1) {spoken(title)}", "no word is broken"
    assert "(arrow keys" not in "".join(shown)
    terminal.leaves()


@pytest.mark.parametrize("typed", ["two", "9", "../x"])
def test_what_is_typed_at_a_menu_never_chooses_by_accident(flow: Flow, typed: str) -> None:
    terminal = flow("model=demo")
    terminal.sees(ADVICE)
    terminal.types(typed + ENTER)
    terminal.sees("TW-U35")
    terminal.sees(ADVICE)
    terminal.types("4" + ENTER)
    terminal.sees(MODEL)
    terminal.leaves()


def test_a_wrong_answer_says_what_is_wrong_and_no_flag(flow: Flow) -> None:
    terminal = flow("model=demo", TERM="dumb")
    terminal.sees(ADVICE)
    terminal.types("3\r")
    terminal.sees("What do you want to change?")
    terminal.types("2\r")
    terminal.sees("Each user gets a share of the KV cache")
    terminal.sees("concurrent users")
    terminal.types("many\r")
    terminal.sees("TW-U31: users must be an integer, not 'many'")
    terminal.sees("concurrent users")
    assert "--users" not in str(terminal.child.before)
    assert "share of the KV cache" not in str(terminal.child.before), "said before the question"
    terminal.leaves()
