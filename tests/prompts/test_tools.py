"""Tools in the plain chat, with and without a terminal: the program itself, a stand-in's model, a real MCP server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest

from tests.chat.fake_openai import WORDS, FakeOpenAI, calling, serving
from tests.chat.tools.conftest import REAL
from tests.prompts.terminal import CHECKOUT, CTRL_C, environment
from wizard.kernel import proctable

ADD = ("add", '{"a": 2, "b": 3}')
EVIL = ("echo", json.dumps({"text": "\x1b]0;title\x07first\nsecond"}))
ANSWER = "".join(WORDS)


@pytest.fixture
def fake() -> Iterator[FakeOpenAI]:
    with serving(FakeOpenAI()) as server:
        yield server


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home folder with a configuration of the real server."""
    folder = tmp_path / ".config" / "triton-wizard"
    folder.mkdir(parents=True)
    server = {"command": sys.executable, "args": [str(REAL)], "env": {"PIDS": str(tmp_path / "pids")}}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"real": server}}), encoding="utf-8")
    return tmp_path


def command(fake: FakeOpenAI, home: Path, *more: str) -> list[str]:
    workspace = ["--workspace", str(home / "ws")]
    return [sys.executable, "-m", "wizard", *workspace, "chat", "--plain", "--private", "--url", fake.url, *more]


def variables(home: Path) -> dict[str, str]:
    return environment(HOME=str(home), XDG_CONFIG_HOME="", TRITON_WIZARD_HOME="")


def chat(fake: FakeOpenAI, home: Path, *more: str) -> pexpect.spawn[str]:
    program, *rest = command(fake, home, *more)
    child = pexpect.spawn(
        program, rest, env=variables(home), cwd=str(CHECKOUT), dimensions=(40, 100), encoding="utf-8", timeout=60
    )
    child.delaybeforesend = None
    child.expect_exact("> ")
    return child


def sent(child: pexpect.spawn[str], *texts: str) -> None:
    for text in texts:
        child.expect_exact("Number: ")
        child.send(f"{text}\r")


def running(home: Path) -> list[int]:
    """The servers of the configuration in ``home``."""
    return [row.pid for row in proctable.marked("PIDS", str(home / "pids")) if row.pid == row.group]


def test_calls_are_asked_about_and_results_folded(fake: FakeOpenAI, home: Path) -> None:
    fake.bodies = [calling(EVIL)]
    with chat(fake, home) as child:
        child.send("Hello\r")
        child.expect_exact("The model wants to call a tool: real/echo")
        child.expect_exact('"text": "\\u001b]0;title\\u0007first\\nsecond"')
        sent(child, "maybe", "1")
        child.expect_exact("ok real/echo")
        folded = child.before
        child.expect_exact(ANSWER)
        shown = folded + child.before
        assert "\nsecond" not in child.before
        assert "\x1b]0" not in shown
        child.send("/result\r")
        child.expect_exact("second")
        child.send("/tools\r")
        child.expect(r"real/echo +ask each time")
        child.send("/bye\r")
        child.expect(pexpect.EOF)
    assert fake.asked[1]["messages"][-1]["content"] == "\x1b]0;title\x07first\nsecond"


def test_decisions_stand_and_are_taken_back(fake: FakeOpenAI, home: Path) -> None:
    fake.bodies = [calling(ADD), calling(ADD)]
    with chat(fake, home) as child:
        child.send("Hello\r")
        sent(child, "2")
        child.expect_exact(ANSWER)
        child.send("/tools ask real/add\r")
        child.expect(r"real/add +ask each time")
        fake.bodies = [calling(ADD)]
        child.send("Again\r")
        sent(child, "4")
        child.expect_exact("denied")
        child.expect_exact(ANSWER)
        child.send("/tools\r")
        child.expect(r"real/add +never allowed")
        child.send("/tools off\r")
        child.expect_exact("Tools are off in this chat.")
        child.send("/tools sometimes real/add\r")
        child.expect_exact("TW-U24")
        child.send("/tools never real/nothing\r")
        child.expect_exact("no tool 'real/nothing'")
        child.send("/bye\r")
        child.expect(pexpect.EOF)


def test_ctrl_c_at_the_question_stops_the_answer(fake: FakeOpenAI, home: Path) -> None:
    fake.bodies = [calling(ADD)]
    with chat(fake, home) as child:
        child.send("Hello\r")
        child.expect_exact("Number: ")
        child.send(CTRL_C)
        child.expect_exact("stopped")
        child.expect_exact("> ")
        child.send("/result\r")
        child.expect_exact("The user stopped this call.")
        child.send("Next\r")
        child.expect_exact(ANSWER)
        child.send("/bye\r")
        child.expect(pexpect.EOF)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_the_servers(fake: FakeOpenAI, home: Path, number: signal.Signals) -> None:
    fake.bodies = [calling(ADD)]
    with chat(fake, home) as child:
        child.send("Hello\r")
        child.expect_exact("Number: ")
        assert len(running(home)) == 1
        os.kill(child.pid, number)
        child.expect(pexpect.EOF)
        child.wait()
    assert running(home) == []


def asked(fake: FakeOpenAI, home: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(fake, home, "-m", "Hello", *more),
        env=variables(home),
        cwd=CHECKOUT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_without_a_terminal_no_tool_is_used(fake: FakeOpenAI, home: Path) -> None:
    done = asked(fake, home)
    assert (done.returncode, done.stdout.strip()) == (0, ANSWER)
    assert "tools" not in fake.asked[0]
    assert "Starting" not in done.stderr


def test_without_a_terminal_named_tools_are_used(fake: FakeOpenAI, home: Path) -> None:
    fake.bodies = [calling(ADD, ("echo", "{}"))]
    done = asked(fake, home, "--allow-tool", "real/add", "--json")
    (line,) = done.stdout.splitlines()
    reply: dict[str, Any] = json.loads(line)
    assert reply["answer"] == ANSWER
    assert [(each["tool"], each["outcome"]) for each in reply["calls"]] == [("add", "done"), ("echo", "failed")]
    assert [each["function"]["name"] for each in fake.asked[0]["tools"]] == ["add"]


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (["--allow-tool", "real/ad"], "TW-C42"),
        (["--allow-tool", "x/y", "--mcp", "missing.json"], "TW-C40"),
        (["--no-tools", "--mcp", "x"], "not allowed with argument"),
    ],
)
def test_wrong_options(fake: FakeOpenAI, home: Path, more: list[str], code: str) -> None:
    done = asked(fake, home, *more)
    assert done.returncode == 2
    assert code in done.stderr


def test_no_configuration_for_a_named_tool(fake: FakeOpenAI, tmp_path: Path) -> None:
    done = asked(fake, tmp_path, "--allow-tool", "x/y")
    assert (done.returncode, fake.asked) == (2, [])
    assert "TW-C40: no tool servers are configured" in done.stderr


def test_a_configuration_that_cannot_be_used_leaves_the_chat(fake: FakeOpenAI, home: Path) -> None:
    (home / ".config" / "triton-wizard" / "mcp.json").write_text('{"mcpServers": 7}', encoding="utf-8")
    program, *rest = command(fake, home)
    child = pexpect.spawn(program, rest, env=variables(home), cwd=str(CHECKOUT), encoding="utf-8", timeout=60)
    with child:
        child.expect_exact("TW-C40")
        child.expect_exact("> ")
        child.send("Hello\r")
        child.expect_exact(ANSWER)
        child.send("/tools\r")
        child.expect_exact("no tool servers are configured")
        child.send("/bye\r")
        child.expect(pexpect.EOF)


def test_the_package_is_optional(fake: FakeOpenAI, home: Path, tmp_path: Path) -> None:
    blocked = "import sys\nsys.modules['mcp'] = None\n"
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(blocked, encoding="utf-8")
    done = subprocess.run(
        command(fake, home, "-m", "Hello", "--allow-tool", "real/add"),
        env={**variables(home), "PYTHONPATH": f"{site}:{CHECKOUT}"},
        cwd=CHECKOUT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2
    assert "TW-C30" in done.stderr
    assert "triton-wizard[mcp]" in done.stderr
