"""The whole journey with the real tritonserver through the plain prompts, in a pseudo-terminal. No hub is asked."""

from __future__ import annotations

import json
import os
import sys

import pexpect
import pytest

from tests.e2e.conftest import Wizard
from tests.prompts.test_accessible import SIGNS

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.xdist_group("terminal"),
    pytest.mark.timeout(900),
    pytest.mark.usefixtures("other_ports", "no_local_servers"),
]


@pytest.mark.parametrize(("columns", "rows", "term"), [(80, 24, "xterm-256color"), (40, 15, "dumb")])
def test_from_the_first_question_to_an_answer(wizard: Wizard, columns: int, rows: int, term: str) -> None:
    arguments = ["-m", "wizard", "--workspace", str(wizard.workspace), "--plain", "--offline"]
    child = pexpect.spawn(
        sys.executable,
        arguments,
        env={**os.environ, "TERM": term},
        encoding="utf-8",
        timeout=120,
        dimensions=(rows, columns),
    )
    child.expect("Which model")
    child.send("\r")
    child.expect("How should")
    child.send("\r")
    child.expect("This is what will run")
    child.send("\r")
    child.expect("is ready: http")
    child.expect("> ")
    child.sendline("What is vLLM?")
    child.expect("tokens per second")
    assert "open-source" in child.before
    child.sendline("/bye")
    child.expect("The chat has ended. What now")
    child.send("\r")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert {load["name"]: load["state"] for load in json.loads(wizard.run("status", "--json"))}["demo"] == "ready"


@pytest.mark.parametrize("end", ["ctrl-c", "ctrl-d"])
def test_a_chat_ends_and_the_server_stays(wizard: Wizard, end: str) -> None:
    wizard.up()
    program, *arguments = wizard.argv("chat")
    child = pexpect.spawn(program, arguments, encoding="utf-8", timeout=60)
    child.expect("> ")
    child.sendline("What is Triton?")
    child.expect("tokens per second")
    child.expect("> ")
    if end == "ctrl-c":
        child.sendintr()
        child.expect("Ctrl-C again")
        child.expect("> ")
        child.sendintr()
    else:
        child.sendeof()
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert {load["name"]: load["state"] for load in json.loads(wizard.run("status", "--json"))}["demo"] == "ready"


def test_a_running_server_is_offered_first_and_nothing_is_shown_as_a_symbol(wizard: Wizard) -> None:
    wizard.up()
    child = pexpect.spawn(
        sys.executable,
        ["-m", "wizard", "--workspace", str(wizard.workspace), "--plain", "--offline"],
        env={**os.environ, "TERM": "dumb"},
        encoding="utf-8",
        timeout=120,
        dimensions=(24, 80),
    )
    child.expect("What do you want to do")
    shown = child.before
    child.expect("Enter for 1:")
    shown += child.before
    child.send("\r")
    child.expect("> ")
    shown += child.before
    child.sendline("/bye")
    child.expect("The chat has ended. What now")
    child.expect("Enter for 1:")
    child.send("\r")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert "Chat with demo, running at http://127.0.0.1:" in shown
    assert SIGNS.findall(shown + child.before) == []
    assert "\x1b" not in shown
