"""One workspace with a real server environment for all end-to-end tests of a process.

Two groups run side by side, each one test after another: ``journey`` on Triton's own ports, ``terminal`` on others.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.json_commands import invalid
from wizard.kernel import proctable

TERMINAL_PORT = 8400
"""First port of the group ``terminal``."""


@dataclass(frozen=True)
class Wizard:
    """The command line in one workspace."""

    workspace: Path

    def argv(self, *arguments: str) -> list[str]:
        command, *rest = arguments
        return [sys.executable, "-m", "wizard", command, "--workspace", str(self.workspace), *rest]

    def run(self, *arguments: str, text: str | None = None, status: int = 0) -> str:
        """Run a command; its standard output. Fails if it does not end with ``status``."""
        done = subprocess.run(
            self.argv(*arguments),
            input=text,
            stdin=subprocess.DEVNULL if text is None else None,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == status, (
            f"{arguments}: {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        )
        if "--json" in arguments:
            lines = map(json.loads, done.stdout.splitlines())
            assert [problem for line in lines for problem in invalid(arguments[0], line)] == []
        return done.stdout if status == 0 else done.stdout + done.stderr

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command whose standard output is read line by line."""
        return subprocess.Popen(
            self.argv(*arguments), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def up(self, *arguments: str) -> list[dict[str, Any]]:
        """Serve the demo; all events."""
        return [json.loads(line) for line in self.run("up", "demo", "--yes", "--json", *arguments).splitlines()]

    def strays(self) -> list[proctable.Process]:
        """Children of a step that still live."""
        return proctable.marked(proctable.STEP_MARK, str(self.workspace))


def until(process: subprocess.Popen[str], *needles: str) -> str:
    """Read lines of ``process`` until one holds all ``needles``; the process ending first is a failure."""
    assert process.stdout is not None
    seen = ""
    for line in process.stdout:
        seen += line
        if all(needle in line for needle in needles):
            return line
    pytest.fail(f"{needles} never came:\n{seen[-2000:]}")


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wizard]:
    wizard = Wizard(tmp_path_factory.mktemp("journey") / "workspace")
    yield wizard
    for row in proctable.processes():
        ours = (proctable.KEEPER_MARK, proctable.SERVER_MARK, proctable.GATEWAY_MARK)
        marks = map(proctable.environment(row.pid).get, ours)
        if any(mark and mark.startswith(str(wizard.workspace)) for mark in marks):
            os.kill(row.pid, signal.SIGKILL)


@pytest.fixture
def wizard(shared: Wizard) -> Wizard:
    """The shared workspace with no server running."""
    for load in json.loads(shared.run("status", "--json")):
        if load["state"] != "stopped":
            shared.run("down", load["name"])
    return shared


@pytest.fixture
def other_ports(shared: Wizard, isolated: Path) -> None:
    """The demo has been served: on `TERMINAL_PORT` if here for the first time. A server keeps its ports."""
    if not shared.run("status", "--json").strip("[]\n"):
        shared.up("--http-port", str(TERMINAL_PORT))
        shared.run("down", "demo")
