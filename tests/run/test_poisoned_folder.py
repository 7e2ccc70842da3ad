"""Programs of the wizard that are started in a folder of a stranger's: no file there runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.values import plan_of, python_step
from wizard.kernel.errors import StepError
from wizard.kernel.paths import ServerFolder, Workspace
from wizard.kernel.values import to_json
from wizard.probe.ask import asking
from wizard.run import build
from wizard.serve import care, gateway


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], bool]:
    """Go to a folder with files that take the place of modules; whether one of them was run."""
    folder, mark = tmp_path / "strange", tmp_path / "ran"
    folder.mkdir()
    for name in ("wizard", "random", "asyncio", "pip"):
        (folder / f"{name}.py").write_text(f"open({str(mark)!r}, 'w').close(); raise SystemExit(1)")
    monkeypatch.chdir(folder)
    return mark.exists


def server_in(folder: Path) -> ServerFolder:
    server = Workspace(folder / "ws").server("test")
    server.root.mkdir(parents=True)
    server.plan.write_text(to_json(plan_of(folder / "ws")))
    return server


async def test_a_build(tmp_path: Path, ran: Callable[[], bool]) -> None:
    with pytest.raises(StepError) as failed:
        async for _ in build.run(plan_of(tmp_path / "ws", python_step("one", "raise SystemExit(3)"))):
            pass
    assert not ran()
    assert failed.value.code == "TW-R03"


def test_what_keeps_a_server_running(tmp_path: Path, ran: Callable[[], bool]) -> None:
    """Without a server it ends by itself."""
    server = server_in(tmp_path)
    _, status = os.waitpid(care.start(server).pid, 0)
    assert not ran()
    assert status == 0, server.keeper_log.read_text()


def test_the_address(tmp_path: Path, ran: Callable[[], bool]) -> None:
    """Without a server it ends by itself."""
    workspace = Workspace(tmp_path / "ws")
    server_in(tmp_path)
    os.waitpid(gateway.start(workspace).pid, 0)
    assert not ran()
    assert "Started server process" in workspace.gateway.log.read_text()


def test_pip(ran: Callable[[], bool]) -> None:
    with asking({"pip": (sys.executable, "-m", "pip", "--version")}) as programs:
        answer = programs["pip"].answer()
    assert not ran()
    assert answer.status == 0, answer.err
