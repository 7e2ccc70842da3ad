"""The full-screen wizard in tmux, as most people have it on a machine that they reach over SSH; with a real Triton."""

from __future__ import annotations

import base64
import json
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from tests.e2e.conftest import Wizard
from tests.e2e.terminal import CONTROL_Y, ENTER, Terminal, full_screen
from tests.processes import opened, over

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.xdist_group("terminal"),
    pytest.mark.usefixtures("other_ports"),
    pytest.mark.timeout(900),
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]
DETACH = "\x02d"
COPIED = re.compile(rb"\x1b\]52;c?;([A-Za-z0-9+/=]*)\x07")
"""What tmux puts into the clipboard of the terminal around it."""


class Window(Terminal):
    """A terminal that shows the session; the picture is tmux's own."""

    def __init__(self, tmux: Tmux, *command: str, columns: int = 80, rows: int = 24) -> None:
        super().__init__(tmux.argv(*command), columns, rows)
        self._tmux = tmux

    @property
    def text(self) -> str:
        return self._tmux.says("capture-pane", "-p", "-t", "wizard")


class Tmux:
    """A server of tmux of its own, as it is without any configuration."""

    def __init__(self, folder: Path) -> None:
        self._socket = str(folder / "s")

    def argv(self, *command: str) -> list[str]:
        return ["tmux", "-u", "-S", self._socket, "-f", "/dev/null", *command]

    def opens(self, command: list[str]) -> Window:
        """A terminal that runs ``command`` in a new session."""
        return Window(self, "new-session", "-s", "wizard", f"exec {shlex.join(command)}")

    def attaches(self, columns: int, rows: int) -> Window:
        """Another terminal that shows the session."""
        return Window(self, "attach-session", "-t", "wizard", columns=columns, rows=rows)

    def says(self, *command: str) -> str:
        """What tmux answers to ``command``; empty if it refuses."""
        return subprocess.run(self.argv(*command), capture_output=True, text=True, check=False).stdout


@pytest.fixture
def tmux() -> Iterator[Tmux]:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own are too long for the name of a socket
        server = Tmux(Path(folder))
        yield server
        server.says("kill-server")


def to_the_build(terminal: Terminal) -> None:
    """Start the last server again."""
    for words in (("▸ Restart demo", "★ recommended"), ("Run it",)):  # with the machine known, it is not shown first
        terminal.shows(*words)
        terminal.press(ENTER)
    terminal.shows("● Build")


def test_a_build_continues_in_the_background_and_the_answer_is_copied(wizard: Wizard, tmux: Tmux) -> None:
    wizard.up()
    wizard.run("down", "demo")
    terminal = tmux.opens(full_screen(wizard))
    to_the_build(terminal)
    terminal.press(DETACH)
    terminal.child.expect(pexpect.EOF)

    elsewhere = tmux.attaches(60, 20)
    elsewhere.shows("Chat with it")
    elsewhere.press(ENTER)
    elsewhere.shows("⏎ Send")
    elsewhere.press("What is Triton?", ENTER)
    elsewhere.shows("tokens/s")
    elsewhere.press(CONTROL_Y)
    elsewhere.until(lambda: COPIED.search(elsewhere.written))
    (copied,) = COPIED.findall(elsewhere.written)
    answer = base64.b64decode(copied).decode()
    assert "server" in answer
    assert tmux.says("show-buffer") == answer
    elsewhere.leave()
    assert {load["name"]: load["state"] for load in json.loads(wizard.run("status", "--json"))}["demo"] == "ready"


def test_a_killed_tmux_takes_the_wizard_along_and_leaves_the_server(wizard: Wizard, tmux: Tmux) -> None:
    wizard.up()
    terminal = tmux.opens(full_screen(wizard))
    terminal.shows("▸ Chat with demo")
    terminal.press(ENTER)
    terminal.shows("⏎ Send")
    (pid,) = tmux.says("list-panes", "-F", "#{pane_pid}").split()
    with opened([int(pid)]) as processes:
        tmux.says("kill-server")
        assert over(processes)
    assert {load["name"]: load["state"] for load in json.loads(wizard.run("status", "--json"))}["demo"] == "ready"


def test_a_build_begun_in_a_window_that_is_killed_is_watched_to_its_end(wizard: Wizard, tmux: Tmux) -> None:
    terminal = tmux.opens(wizard.argv("up", "demo", "--yes"))
    terminal.shows("Wait until the model is ready")
    (pid,) = tmux.says("list-panes", "-F", "#{pane_pid}").split()
    with opened([int(pid)]) as processes:
        tmux.says("kill-server")
        assert over(processes)
    watched = wizard.run("attach", "--json").splitlines()
    assert json.loads(watched[0])["event"] == "StepStarted"
    assert json.loads(watched[-1])["event"] == "Ready"
    assert {load["name"]: load["state"] for load in json.loads(wizard.run("status", "--json"))}["demo"] == "ready"
