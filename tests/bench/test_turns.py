"""Servers that take turns: which is started and stopped when. What runs plans and stops servers is replaced."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench.installed import install
from tests.bench.test_tune import own_plan
from tests.chat.fake_openai import FakeOpenAI, serving
from wizard import journey
from wizard.bench import compare, turns
from wizard.bench.bench import Outlook
from wizard.bench.comparison import Comparison
from wizard.bench.environment import of
from wizard.bench.load import Load
from wizard.bench.order import Wanted
from wizard.bench.turns import Turns
from wizard.chat.nearby import at
from wizard.kernel.errors import StepError, UsageError
from wizard.kernel.paths import ServerFolder, Workspace
from wizard.kernel.values import to_json
from wizard.plan.plan import Plan
from wizard.probe.live import Reading
from wizard.probe.load import CpuReading
from wizard.run.events import Event, StepStarted
from wizard.serve import find
from wizard.serve.endpoint import Endpoint


class FakeServers:
    """In place of `run` and `stop`: what was started and stopped, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fails: str = "") -> None:
        self.log: list[str] = []
        self.fails = fails
        monkeypatch.setattr(turns, "run", self.run)
        monkeypatch.setattr(turns, "stop", self.stop)

    async def run(self, plan: Plan) -> AsyncGenerator[Event, None]:
        self.log.append(f"start {plan.name}")
        yield StepStarted("start", "Start", 1, 1, 1.0)
        if plan.name == self.fails:
            raise StepError("TW-R03", "it does not start", "Look at its log.")

    async def stop(self, server: ServerFolder) -> bool:
        self.log.append(f"stop {server.root.name}")
        return True


async def started(servers: Turns, plan: Plan) -> None:
    async with aclosing(servers.start(plan)) as events:
        async for _ in events:
            pass


async def test_one_server_runs_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = Workspace(tmp_path)
    workspace.make()
    log = FakeServers(monkeypatch).log
    first = own_plan(workspace)
    second = replace(first, name="other")
    servers = Turns(workspace)
    for plan in (first, first, second, second, first):
        await started(servers, plan)
    await servers.end()
    await servers.end()
    assert log == ["start llama", "stop llama", "start other", "stop other", "start llama", "stop llama"]


async def test_a_server_that_does_not_start_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = Workspace(tmp_path)
    workspace.make()
    log = FakeServers(monkeypatch, fails="llama").log
    servers = Turns(workspace)
    with pytest.raises(StepError):
        await started(servers, own_plan(workspace))
    await servers.end()
    assert log == ["start llama", "stop llama"]


def stopped_servers(workspace: Workspace) -> None:
    """Two servers that were started once, as the workspace has them."""
    for name in ("a", "b"):
        folder = workspace.server(name)
        folder.root.mkdir(parents=True)
        plan = replace(own_plan(workspace), name=name)
        folder.plan.write_text(to_json(plan), encoding="utf-8")


async def test_stopped_servers_are_compared_in_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = Workspace.at(os.environ["TRITON_WIZARD_HOME"])
    install(workspace)
    stopped_servers(workspace)
    fake = FakeServers(monkeypatch)
    host = journey.probe(workspace)
    venv = of(host, workspace)

    async def never(outlook: Outlook) -> Load | None:
        raise AssertionError(outlook)

    with serving(FakeOpenAI()) as server:

        def endpoint(_self: Turns) -> Endpoint:
            return at(server.url)

        monkeypatch.setattr(Turns, "endpoint", endpoint)
        named = compare.servers(workspace, ["a", "b"])
        wanted = Wanted(concurrency=(1, 2), requests=8)
        subjects = compare.planned(named, wanted, host, venv, tmp_path / "out", "again")
        result = None
        items = compare.compare(
            workspace, named, subjects, tmp_path / "out", never, lambda: Reading(CpuReading(0.5)), venv, 1.0
        )
        async with aclosing(items):
            async for item in items:
                result = item if isinstance(item, Comparison) else result
    assert result is not None
    assert (result.order, result.partial, result.per_gpu_hour) == ("turns", "", 1.0)
    assert {each.method for each in result.ratios} == {"pairs"}
    assert fake.log == ["start a", "stop a", "start b", "stop b", "start a", "stop a", "start b", "stop b"]
    assert [report.target.stack for report in result.reports] == ["vllm", "vllm"]


def test_running_and_stopped_servers_are_not_mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = Workspace(tmp_path)
    stopped_servers(workspace)
    with serving(FakeOpenAI()) as server, pytest.raises(UsageError) as caught:
        compare.servers(workspace, [server.url, "b"])
    assert caught.value.code == "TW-C81"
    assert "triton-wizard up b" in caught.value.todo
    workspace.server("b").plan.write_text("{")
    with pytest.raises(UsageError) as caught:
        compare.servers(workspace, ["a", "b"])
    assert caught.value.code == "TW-C81"
    assert find.running(workspace.server("a")) is None
