"""The replicas of a server, as Triton's metrics show them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chat.fake_http import serving_bytes, whole
from tests.serve.stub import living
from wizard.kernel.paths import Workspace
from wizard.serve import find
from wizard.serve.replicas import Replica, parsed, replicas, trouble
from wizard.serve.status import statuses

METRICS = """\
# HELP nv_inference_request_success Number of successful inference requests, all batch sizes
# TYPE nv_inference_request_success counter
nv_inference_request_success{model="demo",version="1"} 18
# HELP triton_wizard_replica_state 1: serving, 0: being restarted, -1: not restarted any more
# TYPE triton_wizard_replica_state gauge
triton_wizard_replica_state{model="demo",replica="2"} 0
triton_wizard_replica_state{model="demo",replica="1"} 1
triton_wizard_replica_state{model="other",replica="1"} -1
# HELP triton_wizard_replica_requests Requests sent to this replica's engine
# TYPE triton_wizard_replica_requests counter
triton_wizard_replica_requests{model="demo",replica="1"} 1.2e+07
triton_wizard_replica_requests{model="demo",replica="2"} 9
# HELP triton_wizard_replica_restarts Restarts of this replica's engine
# TYPE triton_wizard_replica_restarts counter
triton_wizard_replica_restarts{model="demo",replica="1"} 0
triton_wizard_replica_restarts{model="demo",replica="2"} 2
"""
"""As tritonserver 2.51.0 prints them, in which series have no order."""


def states(*values: int) -> str:
    rows = enumerate(values, 1)
    return "".join(f'triton_wizard_replica_state{{model="demo",replica="{at}"}} {value}\n' for at, value in rows)


def test_the_metrics_of_a_model_are_read() -> None:
    assert parsed(METRICS, "demo") == (Replica(1, 12_000_000, 0), Replica(0, 9, 2))
    assert parsed(METRICS, "other") == (Replica(-1, requests=0, restarts=0),)  # Triton has no line for them
    assert parsed(METRICS, "none") == ()


@given(st.text(alphabet='triton_wizard_replica_state{model="demo",}0123456789 .e+-\n', max_size=200))
def test_no_text_breaks_it(text: str) -> None:
    assert trouble(parsed(METRICS + text, "demo")) != ""


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((), ""),
        ((1,), ""),
        ((0,), "the engine exited and is being restarted"),
        ((-1,), "the engine exited repeatedly"),
        ((1, 1), ""),
        ((1, 0), "1 of 2 replicas ready, 1 being restarted"),
        ((1, -1, 0, 1), "2 of 4 replicas ready, 1 being restarted, 1 exited repeatedly"),
    ],
)
def test_what_replicas_lack(values: tuple[int, ...], words: str) -> None:
    assert trouble(tuple(map(Replica, values))) == words


@pytest.mark.parametrize(
    ("values", "state", "detail"),
    [
        ((1, 1), "ready", "process {pid}"),
        ((1, 0), "ready", "process {pid}; 1 of 2 replicas ready, 1 being restarted"),
        ((-1, 0), "starting", "0 of 2 replicas ready, 1 being restarted, 1 exited repeatedly"),
        ((-1,), "dead", "the engine exited repeatedly; restart it: "),
    ],
)
def test_the_status_counts_replicas(tmp_path: Path, values: tuple[int, ...], state: str, detail: str) -> None:
    workspace = Workspace(tmp_path / "w")
    server = workspace.server("demo")
    server.root.mkdir(parents=True)
    with serving_bytes(lambda _: whole(states(*values).encode())) as http, living(tmp_path, http.port) as running:
        endpoint = replace(running, ports=replace(running.ports, metrics=http.port))
        find.write(server, endpoint)
        (shown,) = statuses(workspace)
    assert shown.state == state
    assert detail.format(pid=endpoint.pid) in shown.detail
    assert shown.trouble in shown.detail
    assert bool(shown.trouble) == (values != (1, 1) and state != "dead")


def test_a_server_without_metrics_has_no_replicas(tmp_path: Path) -> None:
    with living(tmp_path, 1) as endpoint:
        assert replicas(endpoint) == ()
