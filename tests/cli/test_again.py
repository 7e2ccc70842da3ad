"""Commands that can be pasted."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from pathlib import Path

import pexpect
import pytest

from tests.cli.test_cli import wizard
from tests.prompts.terminal import environment
from tests.values import plan_of
from wizard.cli import _tell
from wizard.cli.command_lines import command_line, typed_command
from wizard.kernel import proctable
from wizard.kernel.errors import CancelledError
from wizard.kernel.paths import Workspace
from wizard.kernel.program import command
from wizard.kernel.values import to_json
from wizard.plan.plan import Done, Estimate, Step, Write
from wizard.plan.ports import Ports
from wizard.serve import find, gateway
from wizard.serve.endpoint import Endpoint


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["up", "demo", "--users", "8"], "up demo --users 8"),
        (["--workspace", "my folder", "--workshop=lab", "--plain"], "--workspace 'my folder' --workshop=lab --plain"),
        (["up", "--workspace=my folder", "demo"], "--workspace 'my folder' up demo"),
    ],
)
def test_the_same_command_has_every_flag_and_the_workspace_once(words: list[str], command: str) -> None:
    workspace = "my folder" if "workspace" in str(words) else None
    assert typed_command(Namespace(words=words, workspace=workspace)).partition(" ")[2] == command


@pytest.mark.usefixtures("no_local_servers")
def test_leaving_the_plain_prompts_names_the_command_that_resumes_them(tmp_path: Path) -> None:
    words = ["-m", "wizard", "--workspace", str(tmp_path), "--offline"]
    with pexpect.spawn(sys.executable, words, env=environment(TERM="dumb"), encoding="utf-8", timeout=60) as child:
        child.expect("Which model")
        child.expect("press Enter for 1: ")  # before Python's `input` reads, it keeps a Ctrl-C until Enter
        child.sendintr()
        child.expect("--offline --plain\r\n")
        child.expect(pexpect.EOF)


def test_an_error_names_the_workspace_once(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = Namespace(words=["up", "demo"], workspace="/w", json=False)
    _tell(CancelledError("TW-U07", "stopped", f"To continue, run `{typed_command(arguments)}`."), arguments)
    _tell(CancelledError("TW-U07", "stopped", "See `triton-wizard status`."), arguments)
    printed = capsys.readouterr().err
    assert f"`{command_line(arguments)} up demo`" in printed
    assert f"`{command_line(arguments)} status`" in printed


def test_an_error_as_json_names_the_workspace_too(tmp_path: Path) -> None:
    done = wizard("chat", "-m", "x", "--json", "--workspace", str(tmp_path))
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "TW-S02"
    assert f"`{command_line(Namespace(workspace=str(tmp_path)), 'up', 'demo')}`" in error["todo"]


def test_what_a_plan_says_to_type_can_be_pasted(tmp_path: Path) -> None:
    shown = wizard("plan", "demo", "--workspace", str(tmp_path)).stdout
    assert f"`{command_line(Namespace(workspace=str(tmp_path)), 'down')}`" in shown


def test_what_the_linter_says_to_type_can_be_pasted(tmp_path: Path) -> None:
    (tmp_path / "models" / "m").mkdir(parents=True)
    shown = wizard("lint", str(tmp_path / "models"), "--workspace", str(tmp_path)).stdout
    assert f"`{command_line(Namespace(workspace=str(tmp_path)), 'plan')}`" in shown


def test_after_a_saved_plan_was_run_its_server_is_the_one_to_talk_to(tmp_path: Path) -> None:
    workspace = Workspace.at(tmp_path / "elsewhere")
    write = Write(str(workspace.server("demo").repository / "demo" / "config.pbtxt"), "")
    plan = to_json(plan_of(workspace.root, Step("repository", "", "", (write,), Done(), Estimate(0)), name="demo"))
    done = wizard("run", "-", "--yes", text=plan)
    assert "TW-S02" in done.stderr
    assert f"`{command('up', 'demo', workspace=workspace)}`" in done.stderr
    me = proctable.read(os.getpid())
    assert me is not None
    find.write(workspace.server("demo"), Endpoint("demo", "demo", "127.0.0.1", Ports(), me.pid, me.started, ""))
    done = wizard("run", "-", "--yes", text=plan)
    assert done.returncode == 0
    for name in ("chat", "down"):
        assert f" {command(name, 'demo', workspace=workspace)}\n" in done.stderr
    workspace.server("demo").endpoint.unlink()
    gateway.stop_unused(workspace)


@pytest.mark.parametrize(
    ("words", "term", "todo"),
    [
        (["--plain", "--answers", "nowhere.toml"], "xterm", "What to do: Check the path"),
        (["--plain", "--qqqq"], "xterm", "What to do: Run `"),
        (["chat", "demo"], "xterm", "What to do: "),
        (["status", "--nosuch"], "dumb", "What to do: Run `"),
        (["status", "--nosuch"], "xterm", "→ Run `"),
    ],
)
def test_an_error_at_the_very_beginning_is_spelled_out_in_accessible_mode(
    words: list[str], term: str, todo: str, tmp_path: Path
) -> None:
    arguments = ["-m", "wizard", "--workspace", str(tmp_path), *words]
    with pexpect.spawn(sys.executable, arguments, env=environment(TERM=term), encoding="utf-8", timeout=60) as child:
        child.expect(pexpect.EOF)
        assert todo in child.before
        assert ("→" in child.before) is todo.startswith("→")
