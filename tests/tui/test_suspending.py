"""Ctrl+Z in a real terminal with a shell that controls jobs: nothing is lost, and ``fg`` draws the screen again."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pexpect
import pytest

from tests.processes import SECONDS, of_step
from tests.tui.fake_journey import FakeJourney
from tests.tui.walking import StillApp
from wizard.kernel import proctable
from wizard.tui import suspending

PACKAGE = Path(__file__).resolve().parents[2]
PROMPT = "ready-for-a-command"
CONTROL_Z = "\x1a"


class FakeTalker(BaseHTTPRequestHandler):
    """A server of chat completions, from OpenAI's documented stream: the second half comes when told."""

    rest = threading.Event()

    def do_GET(self) -> None:
        self._send("application/json", json.dumps({"object": "list", "data": [{"id": "talker"}]}).encode())

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self._pieces(["alpha ", "beta "])
        assert self.rest.wait(SECONDS)
        self._pieces(["gamma ", "omega"])
        self.wfile.write(b"data: [DONE]\n\n")

    def _pieces(self, pieces: list[str]) -> None:
        for piece in pieces:
            chunk = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": piece}}]}
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            self.wfile.flush()

    def _send(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: Any) -> None:
        """Quiet."""


@pytest.fixture
def shell() -> Iterator[Any]:
    """A shell in a terminal, which runs each command as a job."""
    env = os.environ | {"PYTHONPATH": str(PACKAGE), "PS1": PROMPT}
    arguments = ["--norc", "--noprofile", "-i"]
    process = pexpect.spawn("bash", arguments, env=env, dimensions=(24, 80), timeout=SECONDS)
    process.expect(PROMPT)
    yield process
    process.sendline("kill -KILL %1")
    process.close(force=True)


def suspended(shell: Any) -> None:
    """Press Ctrl+Z, and use the shell."""
    shell.send(CONTROL_Z)
    shell.expect_exact("\x1b[?1049l")
    shell.expect("Stopped")
    shell.expect(PROMPT)
    shell.sendline("echo it-is-$((40+2))")
    shell.expect("it-is-42")
    shell.expect(PROMPT)
    shell.sendline("stty -a | grep -o ' icanon'; stty -a | grep -o ' echo '")
    shell.expect(" icanon\r\n")
    shell.expect(" echo \r\n")
    shell.expect(PROMPT)


def resumed(shell: Any) -> None:
    shell.sendline("fg")
    shell.expect_exact("\x1b[?1049h")


def test_a_build_continues_and_its_screen_is_back(shell: Any, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.tui.in_terminal", str(tmp_path)]
    shell.sendline(shlex.join(command))
    for accept in ("Choose a model", "Use this setup", "Run it"):
        shell.expect(accept)
        shell.send("\r")
    shell.expect("it waits")
    of_step(tmp_path, 2)
    try:
        for _ in range(2):
            suspended(shell)
            assert len(proctable.marked(proctable.STEP_MARK, str(tmp_path))) == 2
            resumed(shell)
            shell.expect("it waits")
        shell.send("q")
        shell.expect("Stop building")
        shell.send("\x11")  # Ctrl+Q: yes
        shell.expect(PROMPT)
        assert proctable.marked(proctable.STEP_MARK, str(tmp_path)) == []
    finally:
        for row in proctable.marked(proctable.STEP_MARK, str(tmp_path)):
            os.killpg(row.group, signal.SIGKILL)


def test_an_answer_streams_on_and_the_typed_text_stays(shell: Any, tmp_path: Path) -> None:
    FakeTalker.rest.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), FakeTalker)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    command = [sys.executable, "-m", "wizard", "--workspace", str(tmp_path), "chat", "--url", url]
    try:
        shell.sendline(f"sh -c {shlex.quote(shlex.join(command) + '; true')}")
        shell.expect("Ask something")
        shell.send("Hello\r")
        shell.expect("beta")
        shell.send("draft")
        shell.expect("draft")
        suspended(shell)
        FakeTalker.rest.set()
        resumed(shell)
        shell.expect("omega")
        resumed_text = shell.before + shell.after
        assert b"gamma" in resumed_text
        suspended(shell)
        resumed(shell)
        shell.expect("draft")
    finally:
        server.shutdown()
        server.server_close()


def test_without_a_shell_above_it_does_nothing(tmp_path: Path) -> None:
    """As in a new window of tmux: the wizard is the terminal's only program, and nothing could resume it."""
    env = os.environ | {"PYTHONPATH": str(PACKAGE)}
    command = ["-m", "wizard", "--workspace", str(tmp_path), "--offline"]
    process = pexpect.spawn(sys.executable, command, env=env, dimensions=(24, 80), timeout=SECONDS)
    try:
        process.expect("F1")
        process.send(CONTROL_Z)
        process.send("q")
        process.expect(pexpect.EOF)
        assert process.wait() == 0
    finally:
        process.close(force=True)


async def test_in_the_browser_it_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    app = StillApp(FakeJourney())
    async with app.run_test(size=(80, 24)):
        monkeypatch.setattr(type(app), "is_headless", False)
        monkeypatch.setattr(os, "getpgrp", lambda: -1)
        assert suspending.possible(app)
        monkeypatch.setattr(type(app), "is_web", True)
        assert not suspending.possible(app)
        assert not app.check_action("suspend_process", ())
