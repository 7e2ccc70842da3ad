"""`run` and `attach` offer the command that fixes a failed build, in a terminal and after a question only."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from tests.fixable import LINE, NAME, Fixable
from tests.prompts.terminal import environment
from wizard.run.build import recorded

QUESTION = "Run it now and retry? [y/N]"


def argv(fixable: Fixable, *words: str) -> list[str]:
    return ["-m", "wizard", "--workspace", str(fixable.workspace.root), *words]


def terminal(fixable: Fixable, *words: str) -> pexpect.spawn[str]:
    variables = environment(**fixable.environment)
    size = (24, 200)
    return pexpect.spawn(
        sys.executable, argv(fixable, *words), env=variables, encoding="utf-8", timeout=60, dimensions=size
    )


def piped(fixable: Fixable, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *argv(fixable, *words)],
        env=environment(**fixable.environment),
        input="y\ny\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def ends(child: pexpect.spawn[str]) -> tuple[int | None, str]:
    child.expect(pexpect.EOF)
    child.close()
    return child.exitstatus, str(child.before)


@pytest.fixture
def fixable(tmp_path: Path) -> Fixable:
    return Fixable(tmp_path).made(f"read x; test $x = word && touch {tmp_path}/part")


def test_a_failed_run_is_retried_after_the_command(fixable: Fixable) -> None:
    child = terminal(fixable, "run", f"{fixable.folder}/plan.json")
    child.expect_exact("Start? [Y/n]")
    child.send("y\r")
    child.expect_exact(f"error: {LINE}")
    child.expect_exact("Part missing.\r\nIt is not there.\r\nKnown fix:\r\n")
    child.expect_exact(f"  $ read x; test $x = word && touch {fixable.part}\r\n")
    child.expect_exact(QUESTION)
    child.send("maybe\r")
    child.expect_exact("Type y or n:")
    child.send("y\rword\r")
    child.expect_exact("succeeded.")
    child.expect_exact("done in ")
    status, rest = ends(child)
    assert status == 8, "the plan starts no server"
    assert "TW-S02" in rest


@pytest.mark.parametrize("answer", ["\r", "n\r", "\x04"], ids=["Enter", "no", "Ctrl-D"])
def test_declined_it_ends_as_before(fixable: Fixable, answer: str) -> None:
    child = terminal(fixable, "run", f"{fixable.folder}/plan.json")
    child.expect_exact("Start? [Y/n]")
    child.send("y\r")
    child.expect_exact(QUESTION)
    child.send(answer)
    status, rest = ends(child)
    assert status == 7
    assert rest.count("TW-R03") == 1
    assert not fixable.part.exists()


def test_a_command_that_is_interrupted_leaves_the_build_s_own_error(tmp_path: Path) -> None:
    fixable = Fixable(tmp_path).made("echo it ''waits; exec sleep 600")
    child = terminal(fixable, "run", f"{fixable.folder}/plan.json")
    child.expect_exact("Start? [Y/n]")
    child.send("y\r")
    child.expect_exact(QUESTION)
    child.send("y\r")
    child.expect_exact("it waits")
    child.sendintr()
    child.expect_exact("killed by signal 2")
    assert ends(child)[0] == 7


@pytest.mark.parametrize("words", [("--yes",), ("--yes", "--json")], ids=["yes", "json"])
def test_yes_alone_runs_nothing(fixable: Fixable, words: tuple[str, ...]) -> None:
    child = terminal(fixable, "run", f"{fixable.folder}/plan.json", *words)
    status, printed = ends(child)
    assert status == 7
    assert QUESTION not in printed
    assert ("Run this, then try again:" in printed) is ("--json" not in words)
    assert not fixable.part.exists()


def test_an_ended_build_is_fixed_and_retried_where_attach_shows_it(fixable: Fixable) -> None:
    done = piped(fixable, "run", f"{fixable.folder}/plan.json", "--yes", "--keep")
    shown = (
        f"Run this in a terminal of this machine, then try again:\n  $ read x; test $x = word && touch {fixable.part}\n"
    )
    assert (done.returncode, shown in done.stderr, done.stdout) == (7, True, "")
    attached = piped(fixable, "attach")
    assert (attached.returncode, shown in attached.stderr) == (7, True)
    assert not fixable.part.exists()
    child = terminal(fixable, "attach")
    child.expect_exact(QUESTION)
    child.send("y\rword\r")
    child.expect_exact("done in ")
    assert ends(child)[0] == 8
    assert fixable.part.exists()
    again = recorded(fixable.workspace.server(NAME))
    assert again is not None
    assert again.keep, "as the first command said"


def test_a_failure_that_is_not_known_any_more_is_only_shown(fixable: Fixable) -> None:
    """Of a build with other profiles: the record names a failure, and no command."""
    piped(fixable, "run", f"{fixable.folder}/plan.json", "--yes")
    for file in (fixable.profiles / "failures").iterdir():
        file.unlink()
    child = terminal(fixable, "attach")
    status, printed = ends(child)
    assert status == 7
    assert QUESTION not in printed
