"""Explanations and workshops in the plain prompts, in a real terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.prompts.terminal import DOWN, ENTER, Terminal
from wizard.catalog.explanations import Part
from wizard.prompts.speech import fitted
from wizard.prompts.value_text import explanation_text

Attend: TypeAlias = Callable[..., Terminal]
MODEL, ADVICE, PLAN = "Which model?", "run on this machine?", "This is what will run."
BOX = "─│┌┐└┘├┤┬┴┼━┃╭╮╰╯"


@pytest.fixture
def attend(tmp_path: Path) -> Iterator[Attend]:
    """Begins the questions in a terminal of their own, in the workshop that is written here."""
    with ExitStack() as stack:

        def begin(text: str = "", *given: str) -> Terminal:
            path = tmp_path / "lab.toml"
            path.write_text(f'title = "The lab"\n{text}', encoding="utf-8")
            return stack.enter_context(Terminal("flow", str(tmp_path / "ws"), f"workshop={path}", *given))

        yield begin


def test_each_stage_and_step_is_explained_before_it_happens(tmp_path: Path) -> None:
    with Terminal("flow", str(tmp_path / "ws"), "explain=yes") as terminal:
        for explanation, then in (
            ("The wizard detects what this machine has", "Some CPU, 8 cores"),
            ("You choose a model.", MODEL),
            ("Every way to serve the model", ADVICE),
            ("The whole plan, step by step", PLAN),
            ("Creates a folder with its own Python packages", "Step 1 of 2: Create"),
            ("Creates the folder that Triton serves", "Step 2 of 2: Create"),
            ("You chat with the model", "/bye"),
        ):
            terminal.sees(explanation)
            terminal.sees(then)
            if then in (MODEL, ADVICE, PLAN):
                terminal.types(ENTER)
        terminal.says_bye()
        assert terminal.ends() == 0


def test_an_explanation_is_plain_text_with_the_tutorials_command(tmp_path: Path) -> None:
    with Terminal("flow", str(tmp_path / "ws"), "explain=yes", TERM="dumb") as terminal:
        terminal.sees(MODEL)
        shown = terminal.child.before or ""
        terminal.leaves()
    assert "What you type in tutorial 001:" in shown
    assert "    $ nvidia-smi" in shown.splitlines()
    assert not set(BOX) & set(shown)
    assert "\x1b" not in shown


def test_an_explanation_s_commands_are_whole_however_narrow_the_terminal_is() -> None:
    download = "huggingface-cli download meta-llama/Meta-Llama-3.1-8B-Instruct"
    explanation = explanation_text(
        [Part("Type", f"git status\n{download} \\\n  --local-dir=Meta-Llama-3-8B-Instruct/", True)]
    )
    assert fitted(explanation, 20).splitlines() == [
        "  Type:",
        "    $ git status",
        f"    $ {download} \\",
        "        --local-dir=Meta-Llama-3-8B-Instruct/",
    ]


def test_no_explanations_unless_they_are_asked_for(tmp_path: Path) -> None:
    with Terminal("flow", str(tmp_path / "ws")) as terminal:
        terminal.sees(MODEL)
        assert "What happens" not in (terminal.child.before or "")
        terminal.leaves()


def test_words_of_welcome_and_the_facilitators_words(attend: Attend) -> None:
    terminal = attend(
        'text = "Good morning."\n[say.stages]\nmodel = "Take the first."\n[say.steps]\nrepository = "Read it."'
    )
    terminal.sees("The lab")
    terminal.sees("Good morning.")
    terminal.sees("From your facilitator: Take the first.")
    terminal.accepts(MODEL, ADVICE, PLAN)
    terminal.sees("From your facilitator: Read it.")
    terminal.sees("Step 2 of 2: Create")
    terminal.sees("/bye")
    terminal.says_bye()
    assert terminal.ends() == 0


def test_a_pinned_model_is_not_asked(attend: Attend) -> None:
    terminal = attend('explain = false\n[pin]\nmodel = "org/small"')
    terminal.sees("Set by your facilitator: Which model: org/small")
    terminal.sees("How should org/small run on this machine?")
    assert MODEL not in (terminal.child.before or "")
    terminal.sees("Explain figures")
    assert "Another model" not in str(terminal.child.before)
    terminal.leaves()


def test_a_pinned_model_that_cannot_be_had_ends_with_its_error(attend: Attend) -> None:
    terminal = attend('explain = false\n[pin]\nmodel = "org/none"')
    assert terminal.ends() == 4
    assert "TW-M01" in terminal.rest


def test_pinned_constraints_are_shown_and_cannot_be_changed(attend: Attend) -> None:
    terminal = attend('explain = false\n[pin]\nmodel = "demo"\nusers = 3')
    terminal.sees("Number of concurrent users: 3")
    terminal.sees("Advised for: users.")
    terminal.sees(ADVICE)
    terminal.types("3\r")
    terminal.sees("What do you want to change?")
    terminal.leaves()
    assert "concurrent users" not in terminal.rest


def test_hidden_stages_are_passed(attend: Attend) -> None:
    terminal = attend('explain = false\nhide = ["machine", "model", "advice", "review"]')
    terminal.sees("Step 1 of 2: Create")
    before = terminal.child.before or ""
    assert "Some CPU" not in before
    assert not any(question in before for question in (MODEL, ADVICE, PLAN))
    terminal.sees("demo is ready")
    terminal.sees("/bye")
    terminal.says_bye()
    assert terminal.ends() == 0


def test_somebody_who_goes_back_sees_what_was_hidden(attend: Attend) -> None:
    terminal = attend('explain = false\nhide = ["model", "advice"]')
    terminal.sees(PLAN)
    terminal.types(DOWN * 3 + ENTER)
    terminal.accepts(ADVICE)
    terminal.sees(PLAN)
    terminal.leaves()


def test_a_hidden_advice_without_a_choice_is_shown(attend: Attend) -> None:
    terminal = attend('explain = false\nhide = ["model", "advice"]\n[pin]\nusers = 200')
    terminal.sees("So many do not fit.")
    terminal.sees(ADVICE)
    terminal.leaves()
