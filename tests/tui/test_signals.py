"""The wizard as a process in a real terminal that is told to end, or loses its window, while a step runs."""

from __future__ import annotations

import os
import signal
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest

from tests.processes import SECONDS, of_step, opened, over
from wizard import journey
from wizard.kernel import proctable
from wizard.kernel.errors import CancelledError
from wizard.kernel.paths import Workspace

PACKAGE = Path(__file__).resolve().parents[2]
IN_ORDER = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1000l")
"""The main screen is back, the cursor is shown, the mouse is the terminal's own (xterm's control sequences)."""


@pytest.fixture
def wizard(tmp_path: Path) -> Iterator[Any]:
    """The wizard with a step under way; what it says when it is over is in ``before``."""
    env = os.environ | {"PYTHONPATH": str(PACKAGE)}
    argv = ["-m", "tests.tui.in_terminal", str(tmp_path)]
    process = pexpect.spawn(sys.executable, argv, env=env, dimensions=(24, 80), timeout=SECONDS)
    for accept in ("Choose a model", "Use this setup", "Run it"):
        process.expect(accept)  # the key bar names it as soon as there is something to accept
        process.send("\r")
    process.expect("it waits")
    of_step(tmp_path, 2)
    yield process
    journey.cancel(Workspace(tmp_path))
    process.close(force=True)
    for row in proctable.marked(proctable.STEP_MARK, str(tmp_path)):
        os.killpg(row.group, signal.SIGKILL)


def step(workspace: Path) -> list[proctable.Process]:
    return proctable.marked(proctable.STEP_MARK, str(workspace))


def test_a_signal_ends_the_step_with_its_group_and_the_terminal_is_in_order(wizard: Any, tmp_path: Path) -> None:
    assert len(step(tmp_path)) == 2  # the shell and what it started
    assert not termios.tcgetattr(wizard.child_fd)[3] & termios.ECHO
    os.kill(wizard.pid, signal.SIGTERM)
    in_order(wizard)
    assert step(tmp_path) == []


def test_a_hangup_leaves_the_build_and_the_terminal_in_order(wizard: Any, tmp_path: Path) -> None:
    os.kill(wizard.pid, signal.SIGHUP)
    in_order(wizard)
    assert len(step(tmp_path)) == 2


def in_order(wizard: Any) -> None:
    """The wizard ends and leaves its terminal as it was."""
    wizard.expect(pexpect.EOF)
    assert wizard.before is not None
    assert all(sequence in wizard.before for sequence in IN_ORDER)
    assert wizard.wait() == CancelledError.exit_code
    flags = termios.tcgetattr(wizard.child_fd)[3]
    assert flags & termios.ECHO
    assert flags & termios.ICANON


@pytest.mark.parametrize("how", ["closed", "killed"])
def test_a_terminal_that_is_gone_leaves_no_wizard_and_its_build_is_found_again(
    wizard: Any, tmp_path: Path, how: str
) -> None:
    with opened([wizard.pid]) as processes:
        if how == "closed":
            wizard.ptyproc.fileobj.close()  # nobody reads any more: the kernel sends SIGHUP
        else:
            os.kill(wizard.pid, signal.SIGKILL)
        assert over(processes)
    running = journey.building(Workspace(tmp_path))
    assert running is not None
    with opened([row.pid for row in step(tmp_path)]) as processes:
        assert len(processes) == 2
        assert journey.cancel(Workspace(tmp_path)) == running
        assert over(processes)
