"""`up --keep` with the real tritonserver: killed, it serves again; `down` ends it, also amid a restart."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Wizard
from tests.e2e.test_journey import get, is_free
from tests.processes import SECONDS, changes, opened, over
from wizard.kernel import proctable
from wizard.kernel.paths import ServerFolder
from wizard.serve import care, find

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("journey"), pytest.mark.timeout(900)]


def cared(server: ServerFolder, **wanted: object) -> care.Care:
    """What keeps it, once it is as wanted; fails if that process ends before."""
    with changes(server.root) as changed:
        while True:
            alive = care.running(server)
            now = care.note(server)
            if now and all(getattr(now, name) == value for name, value in wanted.items()):
                return now
            assert alive, f"it is kept no more: {now}"
            with opened([alive.pid]) as processes:
                ready, _, _ = select.select([changed, *processes], [], [], SECONDS)
            assert ready, f"it has noted nothing for {SECONDS} s: {now}"
            if changed in ready:
                os.read(changed, 1 << 12)


def answer(endpoint: dict[str, Any]) -> str:
    url = f"http://127.0.0.1:{endpoint['ports']['http']}/v2/models/demo/generate"
    return str(json.loads(get(url, {"text_input": "What is Triton?", "stream": False}))["text_output"])


def test_a_killed_server_serves_again(wizard: Wizard) -> None:
    """Triton first, then the model's process alone, whose end Triton does not notice."""
    endpoint = wizard.up("--keep")[-1]["endpoint"]
    server = ServerFolder(wizard.workspace / "servers" / "demo")
    assert (cared(server).restarts, cared(server).state) == (0, "watching")
    text = answer(endpoint)

    os.kill(endpoint["pid"], signal.SIGKILL)
    first = cared(server, restarts=1, state="watching")
    assert first.reason == f"its process {endpoint['pid']} exited"
    assert first.log == endpoint["log"]
    now = find.running(server)
    assert now
    assert now.log != endpoint["log"]
    assert Path(endpoint["log"]).exists()
    assert answer(json.loads(server.endpoint.read_text())) == text

    stub = find.model_process(now)
    assert stub
    os.kill(stub.pid, signal.SIGKILL)
    second = cared(server, restarts=2, state="watching")
    assert "exited" in second.reason
    (status,) = (each for each in json.loads(wizard.run("status", "--json")) if each["name"] == "demo")
    assert (status["state"], status["care"]["restarts"], status["care"]["reason"]) == ("ready", 2, second.reason)
    assert "kept running, restarted 2 times; last: " in status["detail"]
    assert status["endpoint"]["openai"] == endpoint["openai"]
    assert answer(status["endpoint"]) == text

    again = wizard.up()[-1]["endpoint"]
    assert again["pid"] == status["endpoint"]["pid"]
    assert cared(server) == second, "still kept"
    assert wizard.up("--no-keep")[-1]["endpoint"]["pid"] == again["pid"]
    assert care.note(server) is None


def test_down_amid_a_restart_leaves_nothing(wizard: Wizard) -> None:
    endpoint = wizard.up("--keep")[-1]["endpoint"]
    server = ServerFolder(wizard.workspace / "servers" / "demo")
    os.kill(endpoint["pid"], signal.SIGKILL)
    keeper = cared(server, state="restarting")
    with opened([keeper.pid]) as processes:
        wizard.run("down")
        assert over(processes)
    assert care.note(server) is None
    for mark in (proctable.SERVER_MARK, proctable.KEEPER_MARK):
        assert proctable.marked(mark, str(server.root)) == []
    assert all(is_free(port) for port in endpoint["ports"].values())
    assert json.loads(wizard.run("status", "--json"))[0]["state"] == "stopped"


def test_an_open_chat_tells_of_the_restart_and_goes_on(wizard: Wizard) -> None:
    endpoint = wizard.up("--keep")[-1]["endpoint"]
    server = ServerFolder(wizard.workspace / "servers" / "demo")
    main, theirs = os.openpty()
    chat = subprocess.Popen(
        [sys.executable, "-m", "wizard", "chat", "demo", "--workspace", str(wizard.workspace)],
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, env={**os.environ, "TERM": "dumb"},
    )  # fmt: skip
    os.close(theirs)
    seen, changed = [""], threading.Condition()

    def copy() -> None:
        while data := _read(main):
            with changed:
                seen[0] += data.decode(errors="replace")
                changed.notify_all()

    threading.Thread(target=copy, daemon=True).start()

    def wait_for(text: str) -> None:
        with changed:
            assert changed.wait_for(lambda: text in seen[0], 60), seen[0]

    wait_for("Ask demo anything")
    os.kill(endpoint["pid"], signal.SIGKILL)
    os.write(main, b"What is Triton?\n")
    wait_for(f"demo was restarted: its process {endpoint['pid']} exited.")
    wait_for("open-source server for AI models")
    os.write(main, b"/bye\n")
    assert chat.wait(60) == 0
    cared(server, restarts=1)
    wizard.run("down")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # its other end is closed
        return b""
