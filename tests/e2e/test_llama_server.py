"""A chat with the real llama-server (llama.cpp in the package xllamacpp), which the wizard did not start."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chat.fake_openai import asked, read
from tests.ports import reserved
from tests.server_environment import CHECKOUT, server_environment
from wizard.catalog.local_servers import LocalServer, LocalServers, local_servers
from wizard.chat import nearby
from wizard.chat.client import described

pytestmark = [pytest.mark.e2e]
MODEL = CHECKOUT / "profiles" / "models" / "triton-wizard-demo" / "triton-wizard-demo-q8_0.gguf"


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    python = server_environment() / "bin" / "python"
    with reserved() as number:
        command = [str(python), str(Path(__file__).with_name("llama_server.py")), str(MODEL), str(number)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
            assert server.stdout is not None
            try:
                assert server.stdout.readline().decode().strip() == f"http://127.0.0.1:{number}"
                yield number
            finally:
                server.kill()


async def test_it_is_found_described_and_counts_its_tokens(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    owners = next(server.owners for server in local_servers().servers if server.name == "llama-server")
    table = LocalServers((LocalServer("llama-server", (port,), owners, "this test"),))
    monkeypatch.setattr(nearby, "local_servers", lambda: table)
    server = (await asyncio.to_thread(nearby.nearby))[0]
    assert (server.kind, server.address) == ("llama-server", f"127.0.0.1:{port}")
    (endpoint,) = server.endpoints
    assert described(endpoint).max_seq_len == 512
    chunks = await read(endpoint, asked("What is Triton?", temperature=0))
    stats = chunks[-1].stats
    assert stats is not None
    assert stats.tokens is not None
    assert stats.tokens > 10
    assert stats.tokens_per_s is not None
    assert stats.pieces is None
    assert "Triton" in "".join(chunk.text for chunk in chunks)
