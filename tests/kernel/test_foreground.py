"""A command in the foreground of a real terminal: its keys, its input and its environment."""

from __future__ import annotations

import os
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from tests.prompts.terminal import environment

PROGRAM = (
    "import sys; from wizard.kernel.foreground import foreground as run; print('status', run(sys.argv[1]), 'after')"
)


@pytest.fixture
def runs() -> Iterator[list[pexpect.spawn[str]]]:
    runs: list[pexpect.spawn[str]] = []
    yield runs
    for run in runs:
        run.close(force=True)


def run(runs: list[pexpect.spawn[str]], line: str, **variables: str) -> pexpect.spawn[str]:
    argv = ["-c", PROGRAM, line]
    child = pexpect.spawn(sys.executable, argv, env=environment(**variables), encoding="utf-8", timeout=60)
    child.delaybeforesend = None
    runs.append(child)
    return child


def test_it_reads_from_the_terminal_and_its_status_is_returned(runs: list[pexpect.spawn[str]]) -> None:
    child = run(runs, "read x; echo got $x; exit 7")
    child.send("words\r")
    child.expect_exact("got words")
    child.expect_exact("status 7 after")


@pytest.mark.parametrize(("key", "number"), [("\x03", 2), ("\x1c", 3)], ids=["Ctrl-C", "Ctrl-Backslash"])
def test_keys_that_end_a_program_end_the_command_alone(runs: list[pexpect.spawn[str]], key: str, number: int) -> None:
    child = run(runs, "ulimit -c 0; echo it waits; exec sleep 600")
    child.expect_exact("it waits")
    child.send(key)
    child.expect_exact(f"status -{number} after")
    child.expect(pexpect.EOF)


def test_a_command_that_is_killed_while_it_hides_a_password_leaves_the_echo_on(
    runs: list[pexpect.spawn[str]],
) -> None:
    child = run(runs, "stty -echo; echo hidden; kill -KILL $$")
    child.expect_exact("status -9 after")
    assert termios.tcgetattr(child.child_fd)[3] & termios.ECHO


def test_it_gets_no_secret_and_finds_the_wizards_programs_last(runs: list[pexpect.spawn[str]], tmp_path: Path) -> None:
    line = 'echo "token=${HF_TOKEN-none} last=${PATH##*:}"'
    child = run(runs, line, HF_TOKEN="hf_" + "a" * 20, PATH=f"{tmp_path}{os.pathsep}{os.defpath}")
    child.expect_exact(f"token=none last={Path(sys.executable).parent}")


def test_it_runs_without_a_terminal_too() -> None:
    from wizard.kernel.foreground import foreground

    assert foreground("exit 3") == 3
