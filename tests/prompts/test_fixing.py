"""Apply the fix and retry, in the plain prompts: a real terminal, the real engine, and a command that runs."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.fixable import KNOWN, LINE, FakePrompts, Fixable
from tests.processes import opened, over
from tests.prompts.terminal import ADVICE, CTRL_C, ENTER, PLAN, Terminal
from wizard.flow.values import Answer
from wizard.kernel.errors import StepError
from wizard.prompts.ask import Ask
from wizard.prompts.run import Run

MENU, QUESTION, OFFER = "What now?", "Run it now?", "Apply the fix and retry"
Begin: TypeAlias = Callable[[str, str], Terminal]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """The failed build, with this command as its fix, where it helps."""
    with ExitStack() as stack:

        def failed(command: str, where: str = "machine") -> Terminal:
            fixable = Fixable(tmp_path).made(command, where)
            argv = ["-m", "tests.fixable", "prompts", str(tmp_path)]
            terminal = stack.enter_context(Terminal(argv=[sys.executable, *argv], TERM="dumb", **fixable.environment))
            terminal.accepts(ADVICE, PLAN)
            terminal.sees(f"error: {LINE}")
            return terminal

        yield failed


def test_it_runs_in_this_terminal_after_a_question_and_the_step_is_retried(begin: Begin, tmp_path: Path) -> None:
    command = f"read x; test $x = word && touch {tmp_path}/part"
    terminal = begin(command, "machine")
    terminal.sees(f"Known fix:\r\n  $ {command}\r\n")
    terminal.sees(f"1) {OFFER}")
    terminal.types(ENTER)
    terminal.sees(f"  $ {command}\r\n")
    terminal.sees(QUESTION)
    assert not (tmp_path / "part").exists()
    terminal.types("2\rword\r")
    terminal.sees("succeeded.")
    terminal.sees("Step 1 of 1: done")
    terminal.sees("TW-S02")
    terminal.sees(MENU)
    assert (tmp_path / "part").exists()
    assert OFFER not in str(terminal.child.before), "the next failure has another cause"
    terminal.leaves()


def test_enter_declines_and_nothing_is_lost(begin: Begin, tmp_path: Path) -> None:
    terminal = begin(f"touch {tmp_path}/part", "machine")
    terminal.accepts(MENU, QUESTION)
    terminal.sees(MENU)
    assert not (tmp_path / "part").exists()
    terminal.sees(OFFER)
    (tmp_path / "part").touch()
    terminal.types("2\r")  # the usual way to try again
    terminal.sees("Step 1 of 1: done")
    terminal.sees(MENU)
    terminal.leaves()


def test_after_a_command_that_fails_the_choices_come_again(begin: Begin) -> None:
    terminal = begin("echo why >&2; exit 7", "machine")
    terminal.accepts(MENU)
    terminal.sees(QUESTION)
    terminal.types("2\r")
    terminal.sees("why")
    terminal.sees("exit status 7")
    terminal.sees(MENU)
    terminal.sees(OFFER)
    terminal.leaves()


def test_ctrl_c_ends_the_command_and_not_the_wizard(begin: Begin) -> None:
    terminal = begin("echo pid $$; exec sleep 600", "machine")
    terminal.accepts(MENU)
    terminal.sees(QUESTION)
    terminal.types("2\r")
    terminal.child.expect(r"pid (\d+)\r")
    assert terminal.child.match
    with opened([int(terminal.child.match[1])]) as processes:
        terminal.types(CTRL_C)
        assert over(processes)
    terminal.sees("killed by signal 2")
    terminal.sees(MENU)
    terminal.sees(OFFER)
    terminal.leaves()


@pytest.mark.parametrize("where", ["step", "elsewhere"])
def test_what_cannot_help_from_here_is_shown_and_not_offered(begin: Begin, tmp_path: Path, where: str) -> None:
    terminal = begin(f"touch {tmp_path}/part", where)
    terminal.sees("then try again:\r\n")
    terminal.sees(f"  $ touch {tmp_path}/part\r\n")
    terminal.sees(MENU)
    terminal.sees("1) Try again")
    terminal.leaves()


def test_without_a_terminal_the_command_is_shown_and_nothing_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fixable = Fixable(tmp_path).made(f"touch {tmp_path}/part")
    monkeypatch.setenv("TERM", "dumb")
    for name, value in fixable.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdin", io.StringIO("1\n"))
    error = StepError("TW-R03", "it failed", "Make it.")
    error.known = KNOWN
    run = Run(FakePrompts(fixable), fixable.workspace, Ask())
    assert run.what_now(fixable.plan, error, {}) == Answer("again")
    printed = capsys.readouterr().out
    assert f"Run this in a terminal of this machine, then try again:\n  $ touch {tmp_path}/part\n" in printed
    assert OFFER not in printed
    assert not (tmp_path / "part").exists()
