from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

from tests.values import plan_of, python_step
from wizard.export.shell import script
from wizard.plan.artefacts import ENDPOINT
from wizard.plan.plan import Command, Done, Estimate, Start, Step, Wait, Write
from wizard.plan.ports import Ports

PORTS = Ports(1, 2, 3)
"""Nobody listens there."""


def test_the_script_does_what_the_plan_says(tmp_path: Path) -> None:
    """Run by the real shell: files with quotes and dollars, a folder of a command's own, the order of the steps."""
    made, text = tmp_path / "a b" / "it's.txt", "$HOME `id` 'quoted'\nEND\n"
    write = Step("write", "Write 'it'", "Because.", (Write(str(made), text),), Done(), Estimate(1))
    there = Step("there", "Look", "Because.", (Command(("touch", "here"), cwd=str(tmp_path)),), Done(), Estimate(1))
    last = python_step("last", f"import os, pathlib; pathlib.Path({str(tmp_path / 'cwd')!r}).write_text(os.getcwd())")
    plan = plan_of(tmp_path / "work", write, there, last)
    done = subprocess.run(["bash"], input=script(plan), text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert made.read_text() == text
    assert (tmp_path / "here").exists()
    assert (tmp_path / "cwd").read_text() == str(tmp_path / "work" / "servers" / "test")
    assert done.stdout.splitlines() == ["--- Write 'it'", "--- Look", "--- Step last"]


def test_the_wizards_own_question_is_left_out(tmp_path: Path) -> None:
    """It asks the server of which the wizard has left a note; whatever needs its answer is left out too."""
    asked = python_step("ask", "print('never')", tmp_path / "answer", reads=(ENDPOINT,))
    after = python_step("after", "print('never')", reads=(tmp_path / "answer",))
    text = script(plan_of(tmp_path, asked, after, python_step("other", "print('other')")))
    assert "never" not in text
    assert "other" in text


def test_a_step_that_fails_ends_it(tmp_path: Path) -> None:
    plan = plan_of(tmp_path / "work", python_step("bad", "raise SystemExit(3)"), python_step("never", "print('never')"))
    done = subprocess.run(["bash"], input=script(plan), text=True, capture_output=True, check=False)
    assert done.returncode == 3
    assert "never" not in done.stdout.splitlines()


def test_a_server_that_ends_is_not_waited_for(tmp_path: Path) -> None:
    start = Step("start", "Start", "Why.", (Start(("false",), (), PORTS, "test"),), Done(), Estimate(1))
    wait = Step("ready", "Wait", "Why.", (Wait("test", PORTS, 1),), Done(), Estimate(1))
    plan = plan_of(tmp_path, start, wait, python_step("never", "print('never')"))
    done = subprocess.run(["bash"], input=script(plan), text=True, capture_output=True, check=False)
    assert done.returncode == 1
    assert "No such process" in done.stderr
    assert "never" not in done.stdout.splitlines()


def test_the_same_plan_is_the_same_text_and_has_no_secret(tmp_path: Path) -> None:
    step = Step("s", "S", "Why.", (Command(("hf", "download"), secrets=("HF_TOKEN",)),), Done(), Estimate(1))
    plan = plan_of(tmp_path, step)
    assert script(plan) == script(replace(plan))
    assert "HF_TOKEN" not in script(plan)


def test_the_script_says_who_does_not_stop_its_server(tmp_path: Path) -> None:
    head = script(plan_of(tmp_path, python_step("s", "pass"))).split("set -euo")[0]
    assert "use `kill` to stop them, not `triton-wizard down`" in " ".join(head.replace("#", "").split())
