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

import pytest
from openai import OpenAI

from tests.chat.conftest import Served, served
from wizard.kernel import proctable
from wizard.kernel.paths import ServerFolder
from wizard.serve import find
from wizard.serve.endpoint import Endpoint

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
        return OpenAI(base_url=f"{self.url}/v1", api_key="x", max_retries=0, timeout=SECONDS)


@contextmanager
def gateway(endpoint: Endpoint, scratch: Path) -> Iterator[Address]:
    """A gateway to the model of ``endpoint``, stopped at the end by its process id."""
    server = ServerFolder(scratch / f"gateway-{endpoint.model}")
    server.root.mkdir()
    row = proctable.read(endpoint.pid)
    assert row is not None
    find.write(server, replace(endpoint, started=row.started))
    log = scratch / f"gateway-{endpoint.model}.log"
    with socket.create_server(("127.0.0.1", 0)) as listener, log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "wizard.gateway", str(server.root), str(listener.fileno())],
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
    scratch, running = tmp_path_factory.mktemp("gateway"), dict[str, Address]()
    with ExitStack() as stack:

        def started(model: str) -> Address:
            if model not in running:
                running[model] = stack.enter_context(gateway(served.endpoint(model), scratch))
            return running[model]

        yield started


@pytest.fixture
def chain(start: Callable[[str], Address]) -> Address:
    return start("chain")
