"""The address of a workspace: started once, found again, restarted, and gone with the last server."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.chat.conftest import Served
from tests.gateway.conftest import SECONDS, added
from wizard.kernel import http, proctable
from wizard.kernel.errors import ServerError
from wizard.kernel.paths import Workspace
from wizard.serve import find, gateway
from wizard.serve.endpoint import Endpoint
from wizard.serve.exposure import Exposure
from wizard.serve.status import status

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("gateway")]


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """A workspace; no process of it is left at the end."""
    yield Workspace(tmp_path)
    for row in gateways(Workspace(tmp_path)):
        os.kill(row.pid, signal.SIGKILL)


@pytest.fixture
def other() -> Iterator[proctable.Process]:
    """A process that stands for a server's; killed at the end."""
    pid = os.posix_spawn("/bin/sleep", ["sleep", "600"], {})
    row = proctable.read(pid)
    assert row is not None
    yield row
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def gateways(workspace: Workspace) -> list[proctable.Process]:
    return proctable.marked(proctable.GATEWAY_MARK, str(workspace.root))


def lives_as(row: proctable.Process) -> dict[str, object]:
    return {"pid": row.pid, "started": row.started}


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline


def test_it_is_started_once_found_again_and_restarted_on_its_port(workspace: Workspace, served: Served) -> None:
    first = gateway.ensure(workspace, added(workspace, served, "chain"))
    assert urlsplit(first.openai or "").hostname == "127.0.0.1"
    assert gateway.ensure(workspace, first) == first
    assert http.get(f"{first.openai}/models", timeout_s=SECONDS).status == 200
    now = status(workspace.server("chain"))
    assert first.openai in now.detail
    assert now.endpoint == first

    rows = gateways(workspace)
    os.killpg(rows[0].group, signal.SIGKILL)
    until(lambda: not any(map(proctable.alive, rows)))
    now = status(workspace.server("chain"))
    assert (now.state, now.endpoint and now.endpoint.openai) == ("ready", None)
    assert "no OpenAI-compatible address" in now.detail
    again = gateway.ensure(workspace, first)
    assert again.openai == first.openai
    assert len({each.group for each in gateways(workspace)} - {rows[0].group}) == 1


def answers(address: str | None) -> bool:
    """Whether a new connection is answered, after waiting for it."""
    return http.get(f"{address}/models", timeout_s=SECONDS).status == 200


def test_one_that_is_killed_comes_back_by_itself(workspace: Workspace, served: Served) -> None:
    """With the same address, whichever of its two processes was killed; programs that connect meanwhile wait."""
    first = gateway.ensure(workspace, added(workspace, served, "chain"))
    keeper = gateway.running(workspace)
    assert keeper
    (child,) = (row for row in gateways(workspace) if row.pid != keeper.pid)
    os.kill(child.pid, signal.SIGKILL)
    assert answers(first.openai)
    assert gateway.running(workspace) == keeper
    assert not proctable.alive(child)
    assert "another one starts" in workspace.gateway.log.read_text()

    os.kill(keeper.pid, signal.SIGKILL)
    until(lambda: gateway.running(workspace) not in (None, keeper))
    heir = gateway.running(workspace)
    assert answers(first.openai)
    until(lambda: len(gateways(workspace)) == 2)
    assert gateway.ensure(workspace, first).openai == first.openai
    assert gateway.running(workspace) == heir

    workspace.server("chain").endpoint.unlink()
    gateway.stop_unused(workspace)
    assert gateways(workspace) == []


def test_one_that_cannot_start_is_not_tried_for_ever(workspace: Workspace, served: Served) -> None:
    endpoint = added(workspace, served, "chain")
    workspace.gateway.root.mkdir()
    with pytest.raises(ServerError, match="does not respond"):
        gateway.ensure(workspace, endpoint, Exposure(tls_cert="/no/such/file", tls_key="/no/such/file"))
    assert gateways(workspace) == []


def test_after_an_upgrade_it_is_restarted(
    workspace: Workspace, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would answer with the old code for as long as any server runs."""
    endpoint = added(workspace, served, "chain")
    before = gateway.start(workspace)
    assert gateway.start(workspace) == before
    monkeypatch.setattr(gateway, "__version__", "99.0")
    after = gateway.start(workspace)
    assert after.version == "99.0"
    assert {each.group for each in gateways(workspace)} == {after.pid} != {before.pid}
    assert gateway.ensure(workspace, endpoint).openai == after.url


def _start(root: Path) -> int:
    return gateway.start(Workspace(root)).pid


def test_two_wizards_at_once_start_one(workspace: Workspace, served: Served) -> None:
    added(workspace, served, "chain")
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        pids = pool.map(_start, [workspace.root] * 4)
    assert {each.group for each in gateways(workspace)} == set(pids)
    assert len(set(pids)) == 1


def test_it_outlives_one_server_and_ends_with_the_last(
    workspace: Workspace, served: Served, other: proctable.Process
) -> None:
    """Also when that was killed, which tells nobody."""
    endpoint = added(workspace, served, "chain")
    added(workspace, served, "another", **lives_as(other))
    address = gateway.ensure(workspace, endpoint).openai
    workspace.server("chain").endpoint.unlink()
    gateway.stop_unused(workspace)
    rows = gateways(workspace)
    assert http.get(f"{address}/models", timeout_s=SECONDS).body == b'{"object":"list","data":[]}'
    os.kill(other.pid, signal.SIGKILL)
    until(lambda: not any(map(proctable.alive, rows)))
    assert gateway.note(workspace) is None


def test_down_leaves_none_and_the_next_one_is_for_this_machine_only(workspace: Workspace, served: Served) -> None:
    endpoint = added(workspace, served, "chain")
    gateway.ensure(workspace, endpoint, Exposure(cors_origins=("https://a.example",)))
    workspace.server("chain").endpoint.unlink()
    gateway.stop_unused(workspace)
    assert gateways(workspace) == []
    added(workspace, served, "chain")
    assert gateway.start(workspace).exposure == Exposure()


def test_other_options_restart_it_and_are_kept(workspace: Workspace, served: Served) -> None:
    endpoint = added(workspace, served, "chain")
    before = gateway.ensure(workspace, endpoint).openai
    wanted = Exposure(cors_origins=("https://a.example",))
    assert gateway.ensure(workspace, endpoint, wanted).openai == before
    assert gateway.start(workspace).exposure == wanted
    assert len({each.group for each in gateways(workspace)}) == 1


def test_a_note_that_was_lost_or_damaged_leaves_no_second_one(workspace: Workspace, served: Served) -> None:
    endpoint = added(workspace, served, "chain")
    gateway.ensure(workspace, endpoint)
    workspace.gateway.address.write_text('{"url": 1}')
    assert gateway.with_address(workspace, endpoint).openai is None
    gateway.ensure(workspace, endpoint)
    assert len({each.group for each in gateways(workspace)}) == 1


def test_a_model_that_cannot_be_described_is_said(workspace: Workspace, served: Served) -> None:
    """The others are served on."""
    endpoint = added(workspace, served, "chain")
    gateway.ensure(workspace, endpoint)
    with pytest.raises(ServerError) as caught:
        gateway.ensure(workspace, added(workspace, served, "no-such-model"))
    assert caught.value.code == "TW-S12"
    assert "TW-C02" in caught.value.what
    assert gateway.ensure(workspace, endpoint).openai


def test_one_that_does_not_answer_is_ended(
    workspace: Workspace, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint = added(workspace, served, "chain")
    stuck = gateway.start(workspace).pid
    os.killpg(stuck, signal.SIGSTOP)
    monkeypatch.setattr(gateway, "START_S", 0.1)
    monkeypatch.setattr(gateway, "END", ((signal.SIGKILL, 5.0),))
    with pytest.raises(ServerError, match="does not respond"):
        gateway.ensure(workspace, endpoint)
    assert gateways(workspace) == []


def test_a_lock_that_is_held_is_said(workspace: Workspace, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    added(workspace, served, "chain")
    workspace.gateway.root.mkdir()
    monkeypatch.setattr(gateway, "LOCK_S", 0.05)
    with gateway.locked(workspace), pytest.raises(ServerError, match="another process"):
        gateway.start(workspace)


def test_a_folder_that_cannot_be_written_is_said(workspace: Workspace, served: Served) -> None:
    workspace.gateway.root.parent.mkdir(exist_ok=True)
    workspace.gateway.root.write_text("a file")
    with pytest.raises(ServerError, match="File exists") as caught:
        gateway.ensure(workspace, added(workspace, served, "chain"))
    assert caught.value.code == "TW-S12"


def test_a_file_of_an_earlier_release_is_read(workspace: Workspace, served: Served) -> None:
    added(workspace, served, "chain")
    server = workspace.server("chain")
    data = json.loads(server.endpoint.read_text())
    for name in ("ref", "openai", "openai_key"):
        del data[name]
    server.endpoint.write_text(json.dumps(data))
    endpoint = find.note(server)
    assert isinstance(endpoint, Endpoint)
    assert (endpoint.ref, endpoint.openai) == ("", None)
