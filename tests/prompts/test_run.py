"""A step that failed: again, left out, its log, its command."""

from __future__ import annotations

import pytest

from tests.prompts.fake_journey import FAILURE
from tests.prompts.terminal import ADVICE, CTRL_D, PLAN, Flow
from wizard.kernel.paths import Workspace


def test_a_failed_step_can_be_tried_again(flow: Flow) -> None:
    terminal = flow("run=fail", "model=demo")
    terminal.accepts(ADVICE, PLAN)
    terminal.sees("Step 2 of 2: failed after 0.1 seconds (TW-R03)")
    terminal.sees("TW-R03: step")
    terminal.accepts("What now?")
    terminal.sees("is ready")
    terminal.sees("> ")
    terminal.leaves(CTRL_D, 0)


@pytest.mark.parametrize(
    ("answers", "note"), [(("4\r", "1\r"), "redo-environment"), (("5\r",), "skip-repository"), (("1\r",), "")]
)
def test_a_failed_step_can_be_done_again_or_left_out(
    flow: Flow, workspace: Workspace, answers: tuple[str, ...], note: str
) -> None:
    terminal = flow("run=fail", "model=demo", TERM="dumb")
    terminal.accepts(ADVICE, PLAN)
    for question, answer in zip(("What now?", "Which step?"), answers, strict=False):
        terminal.sees(question)
        terminal.types(answer)
    terminal.sees("is ready")
    terminal.sees("> ")
    terminal.leaves(CTRL_D, 0)
    notes = workspace.root / "notes"
    assert sorted(path.name for path in notes.glob("*")) == ([note] if note else [])


def test_whoever_chose_by_mistake_comes_back(flow: Flow) -> None:
    terminal = flow("run=fail", "model=demo", TERM="dumb")
    terminal.accepts(ADVICE)
    terminal.sees(PLAN)
    terminal.types("5\r")
    terminal.sees("Save it as what?")
    terminal.types("4\r")
    terminal.accepts(PLAN)
    terminal.sees("What now?")
    terminal.types("4\r")
    terminal.sees("Which step?")
    terminal.types("3\r")
    terminal.sees("What now?")
    terminal.leaves()


def test_the_end_of_a_failed_step_s_log_is_shown_and_the_way_back_is_open(flow: Flow) -> None:
    terminal = flow("run=fail", "model=demo", TERM="dumb")
    terminal.accepts(ADVICE, PLAN)
    terminal.sees("What now?")
    terminal.types("3\r")
    terminal.sees("line 39")
    terminal.sees("What now?")
    terminal.types("2\r")
    terminal.sees(ADVICE)
    terminal.leaves()


@pytest.mark.parametrize("columns", [40, 80])
def test_the_command_of_a_failed_step_is_whole_and_in_a_line_of_its_own(flow: Flow, columns: int) -> None:
    terminal = flow("run=fail", "model=demo", TERM="dumb", COLUMNS=str(columns), size=(24, columns))
    terminal.accepts(ADVICE, PLAN)
    terminal.sees("TW-R03: ")
    terminal.sees("What now?")
    said = str(terminal.child.before).splitlines()
    assert f"  $ {FAILURE.command}" in said
    assert "  What to do: Mend the cause." in said
    assert "run `up`" not in " ".join(said)
    terminal.leaves()
