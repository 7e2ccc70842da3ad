"""The state of a server: as a value, and by what its processes and its port show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from tests.chat.fake_http import serving_bytes, whole
from tests.serve.stub import living
from tests.values import plan_of
from wizard.advise.calibration import Measured
from wizard.kernel.paths import Workspace
from wizard.plan.ports import Ports
from wizard.serve import find
from wizard.serve.calibration import keep, measurement
from wizard.serve.endpoint import Endpoint
from wizard.serve.status import Status, statuses

ENDPOINT = Endpoint("demo", "demo", "127.0.0.1", Ports(9000, 9001, 9002), 1, "2", "/x/triton.log")


@pytest.mark.parametrize(
    ("state", "url"),
    [("ready", "http://127.0.0.1:9000"), ("starting", "http://127.0.0.1:9000"), ("stopped", None), ("dead", None)],
)
def test_the_url_is_of_a_server_that_runs(
    state: Literal["ready", "starting", "stopped", "dead"], url: str | None
) -> None:
    assert Status("demo", state, None if state == "stopped" else ENDPOINT, "").url == url


@pytest.mark.parametrize(
    ("program", "model", "known"),
    [(find.STUB, "demo", True), (find.STUB, "other", False), ("tritonserver", "demo", False)],
)
def test_the_model_process_is_the_stub_of_that_model(tmp_path: Path, program: str, model: str, known: bool) -> None:
    with living(tmp_path, program=program, model=model) as endpoint:
        row = find.model_process(endpoint)
        assert (row and row.pid) == (endpoint.pid if known else None)
        assert find.alive(endpoint)
        assert not find.alive(replace(endpoint, started="1"))
    assert not find.alive(endpoint)


@pytest.mark.parametrize(
    ("program", "answer", "remove", "state", "detail"),
    [
        (find.STUB, "200 OK", (), "ready", "http://127.0.0.1:{port} (gRPC 127.0.0.1:9), process {pid}"),
        (find.STUB, "400 Bad Request", (), "starting", "process {pid} is running, but the model is not ready"),
        ("tritonserver", "200 OK", (), "dead", "the model process exited; the server is not responding; restart it"),
        ("docker", "200 OK", ("docker", "rm", "demo"), "ready", "http://127.0.0.1:{port} (gRPC 127.0.0.1:9)"),
    ],
)
def test_the_state_is_what_processes_and_port_show(
    tmp_path: Path, program: str, answer: str, remove: tuple[str, ...], state: str, detail: str
) -> None:
    """Inside a container the model's process cannot be told."""
    workspace = Workspace(tmp_path / "w")
    server = workspace.server("demo")
    server.root.mkdir(parents=True)
    with serving_bytes(lambda _: whole(b"", answer)) as http, living(tmp_path, http.port, program) as endpoint:
        find.write(server, replace(endpoint, remove=remove))
        (shown,) = statuses(workspace)
        assert shown.state == state
        assert shown.detail.startswith(detail.format(port=http.port, pid=endpoint.pid))
        assert shown.actual is None  # nothing was measured
        (rebuilt,) = statuses(workspace, building="demo")
        assert rebuilt.state == ("building" if state == "dead" else state), "what runs can be used until it is replaced"
        assert statuses(workspace, building="other") == [shown]
        keep(workspace, measurement(plan_of(workspace.root, name="demo"), Measured(kv_bytes=4096)))
        assert (statuses(workspace)[0].actual is not None) == (state == "ready")
    (shown,) = statuses(workspace)
    assert (shown.state, shown.actual) == ("dead", None)
    assert shown.detail.startswith(f"its process {endpoint.pid} exited; restart it: ")
    assert shown.detail.endswith(f"log: {endpoint.log}")
