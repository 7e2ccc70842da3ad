"""Starting a server: a process of its own, in its folder, with its log, and a note of where it answers."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest

from wizard.kernel import proctable
from wizard.kernel.errors import ServerError
from wizard.kernel.paths import ServerFolder, Workspace
from wizard.plan.plan import Container, Containers, Start
from wizard.plan.ports import Ports
from wizard.serve import find
from wizard.serve.launch import launch

SCRIPT = 'echo "$GREETING in $PWD, $TRITON_WIZARD_STEP, $@"; echo error >&2; exec sleep 600'


@pytest.fixture
def server(tmp_path: Path) -> ServerFolder:
    server = Workspace(tmp_path / "w").server("demo")
    server.logs.mkdir(parents=True)
    return server


def started(start: Start, server: ServerFolder) -> tuple[str, list[str]]:
    """The whole log, and what the user is told; the process is checked, and ended."""
    endpoint, changes = launch(start, server)
    try:
        assert (endpoint.name, endpoint.model, endpoint.host) == ("demo", "m", "127.0.0.1")
        assert find.note(server) == endpoint
        assert find.alive(endpoint)
        assert os.getsid(endpoint.pid) == endpoint.pid, "or it would end with the terminal"
        while "error\n" not in (log := Path(endpoint.log).read_text()):
            pass  # the test's own time limit ends it
        while not (marked := proctable.marked(proctable.SERVER_MARK, str(server.root))):
            pass  # a process has no environment while it becomes another program
        assert [row.pid for row in marked] == [endpoint.pid]
        return log, changes
    finally:
        os.killpg(endpoint.pid, signal.SIGKILL)
        os.waitpid(endpoint.pid, 0)


def test_a_program_is_started(server: ServerFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not as a part of the step that starts it: it outlives that."""
    monkeypatch.setenv(proctable.STEP_MARK, "a workspace")
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        ports = Ports(port, port + 20, port + 40)
        log, changes = started(Start(("sh", "-c", SCRIPT, "sh"), (("GREETING", "hello"),), ports, "m"), server)
    assert log.startswith(f"hello in {server.root}, , --http-address=127.0.0.1 --http-port=")
    assert f"--http-port={port} " not in log
    assert changes[0].startswith(f"Port {port} is in use; the HTTP port is ")
    endpoint = find.note(server)
    assert endpoint
    assert endpoint.remove == ()
    assert f"--http-port={endpoint.ports.http} " in log


def test_a_container_is_started_by_its_client(server: ServerFolder, tmp_path: Path) -> None:
    engine = tmp_path / "engine"
    engine.write_text(f"#!/bin/sh\n{SCRIPT}")
    engine.chmod(0o755)
    container = Container(str(engine), ("--rm",), "image:1", ("a=b",))
    log, _ = started(Start(("tritonserver",), (), Ports(20001, 20011, 20021), "m", container=container), server)
    assert "run --rm --publish=127.0.0.1:" in log
    assert log.endswith(" image:1 tritonserver\nerror\n")
    endpoint = find.note(server)
    assert endpoint
    assert endpoint.remove == Containers(str(engine), ("a=b",)).remove


def test_a_program_that_cannot_be_executed_is_named(server: ServerFolder) -> None:
    with pytest.raises(ServerError, match="cannot start /no/such/tritonserver: No such file") as caught:
        launch(Start(("/no/such/tritonserver", "--option"), (), Ports(), "m"), server)
    assert caught.value.code == "TW-S03"
    assert find.note(server) is None
