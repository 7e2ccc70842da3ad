"""A run to its end, with a program in Triton's place that says and answers what Triton 2.51.0 does."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from pathlib import Path

import pytest_asyncio

from tests.ports import reserved
from tests.run.runs import events_of, outcomes
from tests.values import CHOICE, plan_of
from wizard.advise.advice import Offload
from wizard.kernel.errors import ServerError
from wizard.kernel.paths import Workspace
from wizard.plan.artefacts import READY, SERVER
from wizard.plan.plan import MADE_FROM, Done, Estimate, Plan, Start, Step, Wait
from wizard.plan.ports import Ports
from wizard.run.events import Event, Output, Ready
from wizard.run.journal import Journal
from wizard.serve import find
from wizard.serve.calibration import kept
from wizard.serve.stop import stop

FAKE_TRITON = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/v2/models/test/ready" else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()
port = next(int(flag.partition("=")[2]) for flag in sys.argv if flag.startswith("--http-port="))
server = http.server.HTTPServer(("127.0.0.1", port), Handler)
print("Started GRPCInferenceService", "Started HTTPService", "llama_context: n_ctx = 4096", sep="\\n")
print("llama_kv_cache: CPU KV buffer size = 10.00 MiB", "Started Metrics Service", sep="\\n", flush=True)
server.serve_forever()
"""
"""It is both the server and the stub of its model: one process, known by its program's name and its argument."""

Make = Callable[..., Plan]


@pytest_asyncio.fixture
async def planned(tmp_path: Path) -> AsyncGenerator[Make, None]:
    workspace = Workspace(tmp_path / "w")
    program = tmp_path / find.STUB
    program.symlink_to(sys.executable)
    code = tmp_path / "repository" / "test" / "1" / "model.py"
    code.parent.mkdir(parents=True)
    code.write_text(FAKE_TRITON)
    with reserved() as first:
        ports = Ports(first, first + 1, first + 2)

        def make(made: str = "made") -> Plan:
            start = Start((str(program), str(code)), ((MADE_FROM, made),), ports, "test")
            steps = (
                Step("start", "", "", (start,), Done(server=True), Estimate(1), writes=(SERVER,)),
                Step(
                    "ready", "", "", (Wait("test", ports, 60),), Done(), Estimate(1), reads=(SERVER,), writes=(READY,)
                ),
            )
            return replace(plan_of(workspace.root, *steps), choice=replace(CHOICE, stack="llamacpp"))

        yield make
        await stop(workspace.server("test"))


def texts(events: list[Event]) -> str:
    return "\n".join(line for event in events if isinstance(event, Output) for line in event.lines)


async def test_what_it_took_is_measured_once_for_a_start(planned: Make, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "w")
    events, error = await events_of(planned())
    assert error is None
    assert outcomes(events) == {"start": "done", "ready": "done"}
    (last,) = (event for event in events if isinstance(event, Ready))
    assert last == events[-1] == Journal(workspace.journal).events()[-1]
    assert last.endpoint == find.running(workspace.server("test"))
    assert f"tritonserver is running as process {last.endpoint.pid}; HTTP {last.endpoint.http}" in texts(events)
    assert "Started Metrics Service" in texts(events)
    assert "Stopped" not in texts(events)
    (measurement,) = kept(workspace).measurements
    assert (measurement.measured.kv_capacity_tokens, measurement.measured.kv_bytes) == (4096, 10 << 20)
    assert measurement.measured.runtime_bytes

    again, error = await events_of(planned())
    assert error is None
    assert outcomes(again) == {"start": "skipped", "ready": "done"}
    assert isinstance(again[-1], Ready)
    assert again[-1].endpoint == last.endpoint
    assert len(kept(workspace).measurements) == 1


async def test_a_server_that_loaded_nothing_on_the_gpu_is_stopped(planned: Make, tmp_path: Path) -> None:
    plan = planned()
    on_gpu = replace(plan.choice, devices=(0,), offload=Offload(21, 33, 0, CHOICE.memory))
    events, error = await events_of(replace(plan, choice=on_gpu))
    assert isinstance(error, ServerError)
    assert error.code == "TW-S11"
    assert outcomes(events) == {"start": "done", "ready": "failed"}
    assert find.running(Workspace(tmp_path / "w").server("test")) is None
    assert not kept(Workspace(tmp_path / "w")).measurements


async def test_without_a_place_for_what_was_measured_the_server_is_ready_all_the_same(
    planned: Make, tmp_path: Path
) -> None:
    (tmp_path / "w" / "calibration.jsonl").mkdir(parents=True)
    events, error = await events_of(planned())
    assert error is None
    assert f"Could not save the measurements to {tmp_path / 'w' / 'calibration.jsonl'}: Is a directory" in texts(events)


async def test_the_server_of_an_older_plan_is_stopped_first(planned: Make) -> None:
    await events_of(planned())
    events, error = await events_of(planned(made="other"))
    assert error is None
    assert outcomes(events) == {"start": "done", "ready": "done"}
    assert "Stopped the server that was running with older settings." in texts(events)
