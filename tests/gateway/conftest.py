"""One gateway, a process as `up` starts it, in front of the real tritonserver of the chat's tests."""

from __future__ import annotations

import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.chat.conftest import Served, served
from wizard.kernel import proctable
from wizard.kernel.paths import Workspace
from wizard.kernel.values import to_json
from wizard.serve import find
from wizard.serve.endpoint import Endpoint
from wizard.serve.exposure import Exposure

if TYPE_CHECKING:
    from openai import OpenAI

__all__ = ["served"]
SECONDS = 60


@dataclass(frozen=True)
class Address:
    """A running gateway."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self) -> OpenAI:
        from openai import OpenAI  # every worker of the tests imports this file, one of them needs the 520 modules

        return OpenAI(base_url=f"{self.url}/v1", api_key="x", max_retries=0, timeout=SECONDS)


def added(workspace: Workspace, served: Served, model: str, name: str = "", **changes: object) -> Endpoint:
    """A server of ``workspace``, as `up` leaves it, whose Triton is the one of the tests."""
    return noted(workspace, replace(served.endpoint(model), name=name or model), **changes)


def noted(workspace: Workspace, endpoint: Endpoint, **changes: object) -> Endpoint:
    """``endpoint`` as a server of ``workspace``."""
    server = workspace.server(endpoint.name)
    server.root.mkdir(parents=True, exist_ok=True)
    row = proctable.read(endpoint.pid)
    assert row is not None
    written = replace(endpoint, **{"started": row.started, **changes})  # type: ignore[arg-type]
    find.write(server, written)
    return written


@contextmanager
def gateway(endpoint: Endpoint, scratch: Path) -> Iterator[Address]:
    """A gateway to the server of ``endpoint`` alone."""
    workspace = Workspace(scratch / "workspace")
    noted(workspace, endpoint)
    with running(workspace) as address:
        yield address


@contextmanager
def running(workspace: Workspace) -> Iterator[Address]:
    """The gateway of ``workspace``, stopped at the end by its process id."""
    workspace.gateway.root.mkdir(parents=True)
    log = workspace.gateway.log
    with socket.create_server(("127.0.0.1", 0)) as listener, log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "wizard.gateway", str(workspace.root), str(listener.fileno()), to_json(Exposure())],
            pass_fds=[listener.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=Path(__file__).parents[2],  # this checkout's code, whatever is installed
        )
        port = listener.getsockname()[1]
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=SECONDS).close()
        yield Address(process, port, log)
    finally:
        process.terminate()
        process.wait(SECONDS)


@pytest.fixture(scope="session")
def start(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Address]]:
    """The gateway of a model, started when it is first asked for."""
    scratch, started_ones = tmp_path_factory.mktemp("gateway"), dict[str, Address]()
    with ExitStack() as stack:

        def started(model: str) -> Address:
            if model not in started_ones:
                workspace = Workspace(scratch / model)
                added(workspace, served, model)
                started_ones[model] = stack.enter_context(running(workspace))
            return started_ones[model]

        yield started


@pytest.fixture
def chain(start: Callable[[str], Address]) -> Address:
    return start("chain")
