"""Asking programs: all at once, each with a time limit, and nothing is left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.probe.programs import hanging, wait_for, wait_until_gone
from wizard.probe.ask import asking


def test_answers_are_distinguished() -> None:
    questions = {"good": ("/bin/sh", "-c", "echo yes; echo no >&2"), "bad": ("/bin/sh", "-c", "exit 3")}
    with asking(questions, seconds=60) as asked:
        good, bad = asked["good"].answer(), asked["bad"].answer()
    assert (good.status, good.out, good.err) == (0, "yes\n", "no\n")
    assert bad.status == 3


@pytest.mark.parametrize("path", ["/nonexistent/program", "/etc/passwd"])
def test_what_cannot_be_started_is_an_answer(path: str) -> None:
    with asking({1: (path,)}) as asked:
        answer = asked[1].answer()
    assert answer.status is None
    assert path in answer.err


def test_a_hanging_program_and_its_children_are_killed(tmp_path: Path) -> None:
    program = hanging(tmp_path / "program")
    with asking({1: (str(program),)}, seconds=0.3) as asked:
        wait_for(str(program))
        answer = asked[1].answer()
    assert answer.status is None
    assert answer.err == "no response within 0.3 s"
    wait_until_gone(str(program))


def test_a_program_that_nobody_listened_to_is_killed(tmp_path: Path) -> None:
    program = hanging(tmp_path / "program")
    with asking({1: (str(program),)}, seconds=60):
        wait_for(str(program))
    wait_until_gone(str(program))


def test_an_answer_of_any_bytes_and_any_size() -> None:
    program = r"import sys; sys.stdout.buffer.write(b'\xff' * (1 << 20))"
    with asking({1: ("python3", "-c", program)}, seconds=60) as asked:
        answer = asked[1].answer()
    assert answer.status == 0
    assert len(answer.out) == 1 << 20
