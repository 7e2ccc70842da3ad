"""The address belongs to its server: with it, it is started, found again, restarted, stopped."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.chat.conftest import Served
from wizard.kernel import http, proctable
from wizard.kernel.errors import ServerError
from wizard.kernel.paths import ServerFolder
from wizard.plan.ports import Ports
from wizard.serve import find, gateway
from wizard.serve.endpoint import Endpoint
from wizard.serve.status import status

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("gateway")]
SECONDS = 60


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerFolder]:
    """A server's folder; no process of it is left at the end."""
    folder = ServerFolder(tmp_path / "servers" / "s")
    folder.logs.mkdir(parents=True)
    yield folder
    for row in proctable.marked(proctable.SERVER_MARK, str(folder.root)):
        os.kill(row.pid, signal.SIGKILL)


def noted(server: ServerFolder, served: Served, **changes: object) -> Endpoint:
    row = proctable.read(served.triton.process.pid)
    assert row is not None
    endpoint = replace(served.endpoint("chain"), **{"started": row.started, "name": "s", **changes})  # type: ignore[arg-type]
    find.write(server, endpoint)
    return endpoint


def killed(endpoint: Endpoint) -> None:
    os.kill(endpoint.gateway_pid, signal.SIGKILL)
    until(lambda: not gateway.alive(endpoint))


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline


def test_it_is_started_once_found_again_and_restarted_on_its_port(server: ServerFolder, served: Served) -> None:
    first = gateway.ensure(server, noted(server, served))
    assert urlsplit(first.openai or "").hostname == "127.0.0.1"
    assert find.note(server) == first
    assert gateway.ensure(server, first) is first
    assert http.get(f"{first.openai}/models", timeout_s=SECONDS).status == 200
    now = status(server)
    assert first.openai in now.detail
    assert now.endpoint == first

    killed(first)
    now = status(server)
    assert (now.state, now.endpoint and now.endpoint.openai) == ("ready", None)
    assert "no OpenAI-compatible address" in now.detail
    again = gateway.ensure(server, find.note(server) or first)
    assert (again.openai, again.gateway_pid == first.gateway_pid) == (first.openai, False)


def test_it_carries_the_mark_by_which_a_server_is_stopped(server: ServerFolder, served: Served) -> None:
    endpoint = gateway.ensure(server, noted(server, served))
    assert [row.pid for row in proctable.marked(proctable.SERVER_MARK, str(server.root))] == [endpoint.gateway_pid]


def test_it_ends_with_the_process_of_its_server(server: ServerFolder, served: Served) -> None:
    """Also when that was killed, which tells nobody."""
    process = os.posix_spawn("/bin/sleep", ["sleep", "600"], {})
    row = proctable.read(process)
    assert row is not None
    try:
        endpoint = gateway.ensure(server, noted(server, served, pid=row.pid, started=row.started))
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    until(lambda: not gateway.alive(endpoint))


def test_a_model_that_cannot_be_described_is_said_and_leaves_no_process(server: ServerFolder, served: Served) -> None:
    with pytest.raises(ServerError) as caught:
        gateway.ensure(server, noted(server, served, model="another"))
    assert caught.value.code == "TW-S12"
    assert "TW-C02" in caught.value.what
    assert proctable.marked(proctable.SERVER_MARK, str(server.root)) == []
    endpoint = find.note(server)
    assert endpoint is not None
    assert endpoint.openai is None


def test_a_file_of_an_earlier_release_is_read(server: ServerFolder) -> None:
    find.write(server, Endpoint("s", "m", "127.0.0.1", Ports(), 1, "0", "log"))
    text = server.endpoint.read_text()
    lines = [line for line in text.splitlines() if not any(name in line for name in ("openai", "gateway"))]
    server.endpoint.write_text("\n".join(lines).replace('"remove": [],', '"remove": []'))
    endpoint = find.note(server)
    assert endpoint is not None
    assert endpoint.openai is None
    assert not gateway.alive(endpoint)


def test_a_log_that_cannot_be_written_is_said(server: ServerFolder, served: Served) -> None:
    server.logs.rmdir()
    with pytest.raises(ServerError, match="No such file") as caught:
        gateway.ensure(server, noted(server, served))
    assert caught.value.code == "TW-S12"
