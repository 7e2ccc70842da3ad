"""A step that failed: again, left out, its log, its command."""

from __future__ import annotations

import io

import pytest

from tests.prompts.fake_journey import FAILURE, FakeJourney
from tests.prompts.terminal import ADVICE, CTRL_D, PLAN, Flow
from tests.values import plan_of
from wizard.flow.effects import RunPlan
from wizard.flow.values import Answer, Back
from wizard.kernel.errors import ServerError
from wizard.kernel.paths import Workspace
from wizard.plan.plan import Done, Estimate, Step, Wait
from wizard.plan.ports import Ports
from wizard.prompts.ask import Ask
from wizard.prompts.run import Run
from wizard.run.events import StepFinished


def test_a_failed_step_can_be_tried_again(flow: Flow) -> None:
    terminal = flow("run=fail", "model=demo")
    terminal.accepts(ADVICE, PLAN)
    terminal.sees("Step 2 of 2: failed after 0.1 seconds (TW-R03)")
    terminal.sees("TW-R03: step")
    terminal.accepts("What now?")
    terminal.sees("is ready")
    terminal.sees("> ")
    terminal.says_bye(CTRL_D)
    assert terminal.ends() == 0


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
    terminal.says_bye(CTRL_D)
    assert terminal.ends() == 0
    notes = workspace.root / "notes"
    assert sorted(path.name for path in notes.glob("*")) == ([note] if note else [])


def test_a_step_that_was_left_out_is_done_when_it_is_asked_for(flow: Flow, workspace: Workspace) -> None:
    terminal = flow("run=fail-twice", "model=demo", TERM="dumb")
    terminal.accepts(ADVICE, PLAN)
    terminal.sees("What now?")
    terminal.types("5\r")
    terminal.sees("What now?")
    (workspace.root / "notes" / "skip-repository").unlink()
    terminal.types("4\r")
    terminal.sees("Which step?")
    terminal.types("2\r")
    terminal.sees("is ready")
    terminal.sees("> ")
    terminal.says_bye(CTRL_D)
    assert terminal.ends() == 0
    assert [path.name for path in (workspace.root / "notes").iterdir()] == ["redo-repository"]


def test_a_mistaken_choice_can_be_undone(flow: Flow) -> None:
    terminal = flow("run=fail", "model=demo", TERM="dumb")
    terminal.accepts(ADVICE)
    terminal.sees(PLAN)
    terminal.types("5\r")
    terminal.sees("Which format?")
    terminal.types("4\r")
    terminal.accepts(PLAN)
    terminal.sees("What now?")
    terminal.types("4\r")
    terminal.sees("Which step?")
    terminal.types("3\r")
    terminal.sees("What now?")
    terminal.leaves()


def test_the_end_of_a_failed_step_s_log_is_shown_and_going_back_is_possible(flow: Flow) -> None:
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
    lines = str(terminal.child.before).splitlines()
    assert f"  $ {FAILURE.command}" in lines
    assert "  What to do: Fix the cause." in lines
    assert "run `up`" not in " ".join(lines)
    terminal.leaves()


def test_of_a_server_that_does_not_get_ready_its_own_log_is_shown(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Dying(FakeJourney):
        async def run(self, plan, *, redo=frozenset(), skip=frozenset(), leaving=None):  # type: ignore[no-untyped-def,override]
            yield StepFinished("ready", "failed", 0.1, "Triton ended", 0.7)
            raise ServerError("TW-S04", "Triton ended", "Look at its log.")

        def logs(self, *about, lines=100, step=None, raw=False):  # type: ignore[no-untyped-def,override]
            return [f"log of {step or 'the server'}"]

    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("sys.stdin", io.StringIO("3\n"))
    wait = Step("ready", "Wait", "", (Wait("demo", Ports(), 1.0),), Done(), Estimate(0))
    run, plan = Run(Dying(workspace.root), workspace, Ask()), plan_of(workspace.root, wait, name="demo")
    outcome = run.carry(RunPlan(plan), None)
    assert outcome.value.code == "TW-S04"
    with pytest.raises(EOFError):
        run.what_now(plan, outcome.value, {})
    assert "log of the server\n" in capsys.readouterr().out


def test_a_fix_is_offered_first_and_applied_only_if_it_is_chosen(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("sys.stdin", io.StringIO("1\n2\n"))
    run, plan = Run(FakeJourney(workspace.root), workspace, Ask()), plan_of(workspace.root, name="demo")
    error = ServerError("TW-S04", "Triton ended", "Use a shorter context.")
    assert run.what_now(plan, error, {"max_len": 4096}) == Back("advice", {"max_len": 4096})
    assert "4,096" in capsys.readouterr().out
    assert run.what_now(plan, error, {"max_len": 4096}) == Answer("again")
