"""From the user's options and a server to what is measured."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from pathlib import Path

import pytest

from tests.values import CPU_HOST, plan_of
from wizard.bench import environment, order
from wizard.bench.load import Load, Point
from wizard.bench.order import Wanted, folder_of, levels, load_of
from wizard.chat.openai import elsewhere
from wizard.kernel.errors import HostError, StepError, UsageError
from wizard.kernel.paths import Workspace
from wizard.kernel.values import to_document
from wizard.plan.plan import Command, Plan
from wizard.plan.ports import Ports
from wizard.plan.runtimes.venv import Venv
from wizard.probe.host import Host
from wizard.run.events import StepFinished
from wizard.serve.endpoint import Endpoint
from wizard.texts.errors import user_errors

HERE = Endpoint("demo", "demo-in-triton", "127.0.0.1", Ports(8000, 8001, 8002), 1, "0", "/nowhere/log")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def venv(workspace: Workspace, host: Host = CPU_HOST) -> Venv:
    return environment.of(host, workspace)


def test_levels_are_powers_of_two_up_to_what_the_server_runs_at_once() -> None:
    assert levels(4, quick=False) == (1, 2, 4)
    assert levels(6, quick=False) == (1, 2, 4, 6)
    assert levels(1, quick=False) == (1,)
    assert levels(256, quick=False) == (1, 2, 4, 8, 16, 32, 64)
    assert levels(None, quick=True) == (1, 4)
    assert levels(1, quick=True) == (1,)


def test_the_load_is_what_was_asked_for() -> None:
    assert load_of(Wanted(quick=True), 4) == Load((Point(1), Point(4)), None, 8.0, 1, 1)
    assert load_of(Wanted(), 2) == Load((Point(1), Point(2)), None, 20.0, 1, 3)
    assert load_of(Wanted(rates=(0.5, 2), requests=10), 2) == Load((Point(rate=0.5), Point(rate=2)), 10, None, 1, 3)
    assert load_of(Wanted(concurrency=(8, 8, 1)), 2).points == (Point(8), Point(1))


@pytest.mark.parametrize("wanted", [Wanted(concurrency=(1,), rates=(1.0,)), Wanted(requests=1, seconds=1)])
def test_options_that_exclude_each_other_are_rejected(wanted: Wanted) -> None:
    with pytest.raises(UsageError) as caught:
        load_of(wanted, None)
    assert caught.value.code == "TW-C67"


def served(workspace: Workspace) -> Plan:
    plan = replace(plan_of(workspace.root), name="demo")
    path = workspace.server("demo").plan
    path.parent.mkdir(parents=True)
    path.write_text(to_document(plan))
    return plan


def test_a_server_of_the_workspace_is_measured_at_its_openai_address(workspace: Workspace) -> None:
    plan = served(workspace)
    endpoint = replace(HERE, openai="http://127.0.0.1:9000/v1")
    report, prompts = order.ordered(workspace, endpoint, Wanted(), CPU_HOST, venv(workspace), "bench demo")
    target = report.target
    assert (target.model, target.url, target.api) == ("demo", "http://127.0.0.1:9000/v1", "openai")
    assert (target.slots, target.plan, target.stack) == (plan.choice.users, plan.fingerprint, plan.choice.stack)
    assert report.versions["aiperf"] == "0.13.0"
    assert report.dataset.prompts == len(prompts) > 1
    assert (report.dataset.isl or 0) + report.dataset.osl <= plan.choice.max_seq_len


def test_triton_is_measured_by_generate_stream_without_an_openai_address(workspace: Workspace) -> None:
    report, _ = order.ordered(workspace, HERE, Wanted(), CPU_HOST, venv(workspace), "")
    assert (report.target.model, report.target.url, report.target.api) == (
        "demo-in-triton",
        "http://127.0.0.1:8000",
        "generate_stream",
    )
    with pytest.raises(UsageError) as caught:
        order.ordered(workspace, HERE, Wanted(api="openai"), CPU_HOST, venv(workspace), "")
    assert caught.value.code == "TW-C67"


def test_a_url_is_measured_as_it_is(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-the-user")
    near, far = elsewhere("http://127.0.0.1:11434/v1", "llama"), elsewhere("http://10.0.0.1:8000/v1", "llama")
    report, _ = order.ordered(workspace, near, Wanted(), CPU_HOST, venv(workspace), "")
    assert (report.target.model, report.target.url, report.target.slots) == ("llama", "http://127.0.0.1:11434/v1", None)
    rig = order.rig_of(workspace, near, report.target, venv(workspace), 2, lambda: pytest.fail("not read"))
    assert (rig.key, rig.watched.server) == ("a-key-of-the-user", None)
    assert rig.watched.metrics == ("http://127.0.0.1:11434/metrics",)
    far_rig = order.rig_of(workspace, far, report.target, venv(workspace), 2, lambda: pytest.fail("not read"))
    assert far_rig.key is None, "a key is not sent over a network in clear text"


def test_requests_that_the_server_does_not_support_are_rejected(workspace: Workspace) -> None:
    served(workspace)
    with pytest.raises(UsageError) as caught:
        order.ordered(workspace, HERE, Wanted(isl=2**20, osl=8), CPU_HOST, venv(workspace), "")
    assert caught.value.code == "TW-C67"
    assert "requests of 1,048,584 tokens do not fit" in caught.value.what


def test_the_environment_is_a_step_with_pins_and_hashes(workspace: Workspace) -> None:
    step = environment.step(venv(workspace))
    lines = [action.shell() for action in step.actions if isinstance(action, Command)]
    assert any("--require-hashes" in line and line.endswith("aiperf.txt") for line in lines)
    assert step.estimate.download_bytes > 200e6
    assert not environment.is_made(workspace, venv(workspace))


def test_a_machine_that_cannot_run_it_is_told_why(workspace: Workspace) -> None:
    host = replace(CPU_HOST, cpu=replace(CPU_HOST.cpu, architecture="riscv64"))
    with pytest.raises(HostError) as caught, user_errors():
        environment.of(host, workspace)
    assert caught.value.code == "TW-C61"


async def test_an_installation_that_fails_is_resumed_by_bench(workspace: Workspace) -> None:
    interpreter = dataclasses.replace(venv(workspace).interpreter, path="/nowhere/python")
    broken = dataclasses.replace(venv(workspace), interpreter=interpreter)
    finished = []
    with pytest.raises(StepError) as caught:
        finished += [
            event async for event in environment.prepared(workspace, broken) if isinstance(event, StepFinished)
        ]
    assert caught.value.code == "TW-C62"
    assert "Then run `bench` again." in caught.value.todo
    assert not environment.is_made(workspace, broken)


def test_two_benchmarks_in_the_same_second_have_a_folder_each(tmp_path: Path) -> None:
    workspace, folders = Workspace.at(tmp_path), set[Path]()
    for _ in range(5):
        folder = folder_of(workspace, "http://127.0.0.1:8000/v1")
        folder.mkdir(parents=True)
        folders.add(folder)
    assert len(folders) == 5
