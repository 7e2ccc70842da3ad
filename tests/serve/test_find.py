"""A server is found again by its note and its process; nobody else's process is ever taken for it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import pytest

from wizard.kernel import proctable
from wizard.kernel.errors import ServerError, UsageError
from wizard.kernel.paths import Workspace
from wizard.kernel.values import to_json
from wizard.plan.ports import Ports
from wizard.serve import find, stop
from wizard.serve.endpoint import Endpoint
from wizard.serve.status import statuses

IDLE = "import signal; print('up', flush=True); signal.pause()"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "w")


@pytest.fixture
def process(workspace: Workspace) -> Iterator[subprocess.Popen[bytes]]:
    """A process that carries the mark of the server ``demo``."""
    env = {**os.environ, proctable.SERVER_MARK: str(workspace.server("demo").root)}
    child = subprocess.Popen([sys.executable, "-c", IDLE], env=env, start_new_session=True, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    yield child
    child.kill()
    child.wait()


def note(workspace: Workspace, pid: int, name: str = "demo") -> Endpoint:
    row = proctable.read(pid)
    assert row is not None
    endpoint = Endpoint(name, name, "127.0.0.1", Ports(9, 9, 9), pid, row.started, "triton.log")
    workspace.server(name).root.mkdir(parents=True, exist_ok=True)
    find.write(workspace.server(name), endpoint)
    return endpoint


def test_a_living_server_is_found(workspace: Workspace, process: subprocess.Popen[bytes]) -> None:
    endpoint = note(workspace, process.pid)
    assert find.endpoint(workspace) == endpoint
    assert find.endpoint(workspace, "demo") == endpoint
    assert statuses(workspace)[0].state == "starting"  # it lives, and nobody answers on its port


def test_a_pid_that_was_given_to_another_process_is_not_the_server(
    workspace: Workspace, process: subprocess.Popen[bytes]
) -> None:
    find.write(workspace.server("demo"), replace(note(workspace, process.pid), started="1"))
    assert find.running(workspace.server("demo")) is None
    assert statuses(workspace)[0].state == "dead"


async def test_down_stops_a_server_whose_note_was_lost(workspace: Workspace, process: subprocess.Popen[bytes]) -> None:
    workspace.server("demo").root.mkdir(parents=True)
    assert await stop.stop(workspace.server("demo"))
    assert process.wait() == -signal.SIGTERM
    assert not await stop.stop(workspace.server("demo"))


async def test_down_leaves_a_stranger_with_the_same_pid_alone(
    workspace: Workspace, process: subprocess.Popen[bytes]
) -> None:
    find.write(workspace.server("other"), replace(note(workspace, process.pid, "other"), started="1"))
    assert not await stop.stop(workspace.server("other"))
    assert process.poll() is None
    assert statuses(workspace)[-1].state == "stopped"


def test_nothing_running_says_what_to_do(workspace: Workspace) -> None:
    with pytest.raises(ServerError) as caught:
        find.endpoint(workspace)
    assert caught.value.code == "TW-S02"
    assert "`triton-wizard up demo`" in caught.value.todo
    with pytest.raises(UsageError, match="no server demo") as unknown:
        find.endpoint(workspace, "demo")
    assert unknown.value.code == "TW-S09"
    assert unknown.value.todo == "Start one: `triton-wizard up demo`."
    workspace.server("demo").root.mkdir(parents=True)
    with pytest.raises(ServerError, match="demo is not running"):
        find.endpoint(workspace, "demo")
    workspace.server("demo").root.rename(workspace.servers / "mine")
    with pytest.raises(ServerError, match="no server is running") as mine:
        find.endpoint(workspace)
    assert "`triton-wizard up mine`" in mine.value.todo
    with pytest.raises(UsageError) as renamed:
        find.endpoint(workspace, "demo")
    assert renamed.value.todo == "Available: mine."


def test_of_several_running_servers_one_must_be_named(workspace: Workspace, process: subprocess.Popen[bytes]) -> None:
    note(workspace, process.pid)
    note(workspace, process.pid, "second")
    with pytest.raises(UsageError, match="demo, second") as caught:
        find.endpoint(workspace)
    assert caught.value.code == "TW-S01"


ENDPOINT = Endpoint("demo", "m", "127.0.0.1", Ports(), 7, "8", "triton.log", folder="/m", remove=("docker", "rm"))


@pytest.mark.parametrize("endpoint", [ENDPOINT, replace(ENDPOINT, folder=None, url="http://127.0.0.1:9/v1", remove=())])
def test_a_note_is_read_as_it_was_written(workspace: Workspace, endpoint: Endpoint) -> None:
    server = workspace.server("demo")
    server.root.mkdir(parents=True)
    find.write(server, endpoint)
    assert find.note(server) == endpoint


@pytest.mark.parametrize("value", [None, True, 1.5, "1", [1], {"http": "1"}], ids=json.dumps)
@pytest.mark.parametrize("name", [field.name for field in fields(Endpoint)])
def test_a_note_with_a_field_that_does_not_fit_is_no_note(workspace: Workspace, name: str, value: object) -> None:
    server = workspace.server("demo")
    server.root.mkdir(parents=True)
    server.endpoint.write_text(json.dumps({**json.loads(to_json(ENDPOINT)), name: value}))
    kinds = {"pid": (), "ports": (), "remove": ()}
    kinds |= dict.fromkeys(("folder", "url", "openai", "openai_key"), (str, type(None)))
    fits = isinstance(value, kinds.get(name, (str,)))
    assert (find.note(server) is not None) == fits


@pytest.mark.parametrize("text", ["[]", "1", '{"name": "demo"}', "[" * 100_000, "\xff"])
def test_a_note_that_is_no_endpoint_is_no_note(workspace: Workspace, text: str) -> None:
    server = workspace.server("demo")
    server.root.mkdir(parents=True)
    server.endpoint.write_text(text, encoding="latin-1")
    assert find.note(server) is None


def test_a_damaged_note_is_no_note(workspace: Workspace) -> None:
    server = workspace.server("demo")
    server.root.mkdir(parents=True)
    server.endpoint.write_text('{"name": "demo"')
    assert find.note(server) is None
    assert statuses(workspace)[0].state == "stopped"


async def test_a_process_that_cannot_be_stopped_is_reported(
    workspace: Workspace, process: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stop, "ASK", ())
    monkeypatch.setattr(stop, "FORCE", ())
    note(workspace, process.pid)
    with pytest.raises(ServerError) as caught:
        await stop.stop(workspace.server("demo"))
    assert caught.value.code == "TW-S07"
