"""``down``: one server, the one that is chosen, or all of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pexpect
import pytest

from tests.cli.test_cli import wizard
from tests.prompts.terminal import environment
from wizard.kernel import proctable
from wizard.kernel.paths import Workspace
from wizard.plan.ports import Ports
from wizard.serve import find, gateway
from wizard.serve.endpoint import Endpoint

SERVER = "import signal; print(flush=True); signal.pause()"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.at(tmp_path / "w")


@pytest.fixture
def servers(workspace: Workspace) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """Two servers that run, with their address, and one whose process has exited."""
    with ExitStack() as stack:
        running = {name: stack.enter_context(_server(workspace, name)) for name in ("one", "two")}
        workspace.server("gone").root.mkdir(parents=True)
        find.write(workspace.server("gone"), Endpoint("gone", "gone", "127.0.0.1", Ports(9, 9, 9), 2**22 + 1, "1", ""))
        gateway.start(workspace)
        try:
            yield running
        finally:
            for process in running.values():
                process.kill()
            stack.close()
            gateway.stop_unused(workspace)


def _server(workspace: Workspace, name: str) -> subprocess.Popen[bytes]:
    """A process that is noted and marked as a server is."""
    server = workspace.server(name)
    server.root.mkdir(parents=True)
    variables = {**os.environ, proctable.SERVER_MARK: str(server.root)}
    command = [sys.executable, "-c", SERVER]
    process = subprocess.Popen(command, env=variables, start_new_session=True, stdout=subprocess.PIPE)
    assert process.stdout
    process.stdout.readline()
    row = proctable.read(process.pid)
    assert row is not None
    find.write(server, Endpoint(name, name, "127.0.0.1", Ports(9, 9, 9), process.pid, row.started, ""))
    return process


Servers = dict[str, "subprocess.Popen[bytes]"]


def test_all_are_stopped_and_their_address_too(workspace: Workspace, servers: Servers) -> None:
    assert gateway.running(workspace)
    done = wizard("down", "--all", "--workspace", str(workspace.root))
    assert (done.returncode, done.stderr) == (0, "stopped one\nstopped two\n")
    assert all(process.wait() is not None for process in servers.values())
    assert gateway.running(workspace) is None
    assert find.note(workspace.server("gone")) is None
    again = wizard("down", "--all", "--json", "--workspace", str(workspace.root))
    assert (again.returncode, json.loads(again.stdout)) == (0, [])


def test_with_several_and_no_terminal_the_error_says_what_to_pass(workspace: Workspace, servers: Servers) -> None:
    done = wizard("down", "--workspace", str(workspace.root))
    assert done.returncode == 2
    assert done.stderr.startswith("TW-S01: several servers are running: one, two")
    assert "--all" in done.stderr
    assert {process.poll() for process in servers.values()} == {None}


@pytest.mark.parametrize(("keys", "stopped"), [("2\r", {"two"}), ("4\r", {"one", "two"}), ("\x04", set())])
def test_with_several_a_terminal_is_offered_each_and_all(
    workspace: Workspace, servers: Servers, keys: str, stopped: set[str]
) -> None:
    command = ["-m", "wizard", "--workspace", str(workspace.root), "down"]
    lines = ("Which server should be stopped?", "1) one", "2) two", "3) gone (dead)", "4) All of them", "press Enter")
    with pexpect.spawn(
        sys.executable, command, env=environment(TERM="dumb"), encoding="utf-8", timeout=60, dimensions=(24, 80)
    ) as child:
        for line in lines:
            child.expect_exact(line)
        child.send(keys)
        child.expect(pexpect.EOF)
        child.close()
    assert child.exitstatus == (0 if stopped else 130)
    assert stopped or "TW-U65" in child.before
    for name in stopped:
        servers[name].wait()
    assert {name for name, process in servers.items() if process.poll() is not None} == stopped


def test_with_nothing_running_there_is_nothing_to_do(workspace: Workspace) -> None:
    for words in (("down",), ("down", "--all")):
        done = wizard(*words, "--workspace", str(workspace.root))
        assert (done.returncode, done.stderr) == (0, f"no server is running in {workspace.root}\n")
    assert json.loads(wizard("down", "--json", "--workspace", str(workspace.root)).stdout) is None


def test_a_server_whose_note_was_lost_is_stopped_without_its_name(workspace: Workspace) -> None:
    with _server(workspace, "lost") as process:
        workspace.server("lost").endpoint.unlink()
        done = wizard("down", "--workspace", str(workspace.root))
        assert (done.returncode, done.stderr) == (0, "stopped lost\n")
        process.wait()


def test_a_name_and_all_contradict_each_other(workspace: Workspace) -> None:
    done = wizard("down", "one", "--all", "--workspace", str(workspace.root))
    assert done.returncode == 2
    assert done.stderr.startswith("TW-U09")
