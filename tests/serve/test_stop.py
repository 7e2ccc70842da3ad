"""``down``: Triton may end in order, nothing of it survives, and what it leaves behind is removed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from wizard.kernel import proctable
from wizard.kernel.paths import ServerFolder, Workspace
from wizard.plan.ports import Ports
from wizard.plan.runtimes.native import shm_prefix
from wizard.plan.runtimes.runtime import EXIT_TIMEOUT_S
from wizard.serve import find, stop
from wizard.serve.endpoint import Endpoint

DEAF_CHILD = """
import os, signal, sys
if os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("deaf", flush=True)
    while True:
        signal.pause()
signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
print("ready", flush=True)
signal.pause()
"""


@pytest.fixture
def server(tmp_path: Path) -> ServerFolder:
    server = Workspace(tmp_path / "w").server("demo")
    server.root.mkdir(parents=True)
    return server


def endpoint(pid: int, remove: tuple[str, ...] = ()) -> Endpoint:
    row = proctable.read(pid)
    return Endpoint("demo", "demo", "127.0.0.1", Ports(9, 9, 9), pid, row.started if row else "1", "", remove=remove)


async def test_triton_ends_in_order_and_what_it_started_need_not_end_by_itself(server: ServerFolder) -> None:
    env = {**os.environ, proctable.SERVER_MARK: str(server.root)}
    with subprocess.Popen(  # noqa: ASYNC220 -- the server
        [sys.executable, "-c", DEAF_CHILD], env=env, start_new_session=True, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert {process.stdout.readline(), process.stdout.readline()} == {b"deaf\n", b"ready\n"}
        find.write(server, endpoint(process.pid))
        assert await asyncio.wait_for(stop.stop(server), EXIT_TIMEOUT_S)
        assert process.wait() == 3
        assert proctable.group_members(process.pid) == []
    assert find.note(server) is None


def test_triton_is_given_longer_than_it_gives_its_requests() -> None:
    ((number, seconds),) = stop.ASK
    assert number == signal.SIGTERM
    assert EXIT_TIMEOUT_S < seconds <= 2 * EXIT_TIMEOUT_S


@pytest.mark.parametrize("removable", [True, False])
async def test_its_container_and_its_shared_memory_are_removed(
    server: ServerFolder, tmp_path: Path, removable: bool
) -> None:
    """Also of a server that has ended by itself."""
    remove = ("touch", str(tmp_path / "removed")) if removable else ()
    find.write(server, endpoint(2**22 + 1, remove))  # beyond pid_max: no process
    shared = [Path(f"/dev/shm/{shm_prefix(each)}region") for each in (server, ServerFolder(tmp_path / "other"))]
    try:
        for path in shared:
            path.touch()
        assert not await stop.stop(server)
        assert [path.exists() for path in shared] == [False, True]
    finally:
        for path in shared:
            path.unlink(missing_ok=True)
    assert (tmp_path / "removed").exists() == removable
    assert find.note(server) is None
