"""A server is ready when all its services are up and its model is loaded; what goes wrong meanwhile ends the wait."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.chat.fake_http import serving_bytes, whole
from tests.serve.stub import living
from wizard.kernel.errors import ServerError
from wizard.plan.ports import Ports
from wizard.serve import health, ready
from wizard.serve.endpoint import Endpoint

STARTED = (
    'I1120 23:32:41.326265 19933 grpc_server.cc:2558] "Started GRPCInferenceService at 127.0.0.1:18001"',
    'I1120 23:32:41.326544 19933 http_server.cc:4713] "Started HTTPService at 127.0.0.1:18000"',
    'I1120 23:32:41.368031 19933 http_server.cc:362] "Started Metrics Service at 127.0.0.1:18002"',
)
NOISE = 'E1120 23:32:39.389845 19933 server.cc:241] "CudaDriverHelper has not been initialized."'
HOPELESS = "stub: error while loading shared libraries: libpython3.11.so.1.0: cannot open shared object file"
LONG = 1e6
"""Seconds that no test waits."""


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[Endpoint]:
    with living(tmp_path) as endpoint:
        yield endpoint


async def waited(endpoint: Endpoint, seconds: float = LONG) -> list[str]:
    """The lines that came until the model was ready."""

    async def lines() -> list[str]:
        return [line.text async for batch in ready.wait(endpoint, seconds) for line in batch]

    return await asyncio.wait_for(lines(), 20)


def logged(endpoint: Endpoint, *lines: str, end: str = "\n") -> None:
    with Path(endpoint.log).open("a") as log:
        log.write("\n".join(lines) + end)


async def test_the_lines_come_whole_and_without_noise_until_the_model_is_ready(
    endpoint: Endpoint, pauses: list[float]
) -> None:
    """The model is loaded at the second look; meanwhile the log goes on, in the middle of a line."""
    asked: list[str] = []

    def answer(request: str) -> bytes:
        asked.append(request)
        if len(asked) == 1:
            logged(endpoint, "f a line", "next")
            return whole(b"", "400 Bad Request")
        return whole(b"")

    with serving_bytes(answer) as http:
        logged(endpoint, NOISE, "first", *STARTED, "half o", end="")
        lines = await waited(replace(endpoint, ports=Ports(http.port, 9, 9)))
    assert lines == ["first", *STARTED, "half of a line", "next"]
    assert asked == ["GET /v2/models/demo/ready HTTP/1.1"] * 2
    assert len(pauses) == 1


@pytest.mark.parametrize("missing", STARTED)
async def test_another_server_on_its_port_is_not_it(endpoint: Endpoint, missing: str) -> None:
    with serving_bytes(lambda _: whole(b"")) as http:
        logged(endpoint, *(line for line in STARTED if line != missing))
        with pytest.raises(ServerError, match="not ready within") as caught:
            await waited(replace(endpoint, ports=Ports(http.port, 9, 9)), 0.0)
    assert caught.value.code == "TW-S06"
    assert http.lines == []


@pytest.mark.parametrize("status", ["201 Created", "400 Bad Request", "503 Service Unavailable"])
def test_only_ok_is_ready(endpoint: Endpoint, status: str) -> None:
    with serving_bytes(lambda _: whole(b"", status)) as http:
        assert not health.is_ready(replace(endpoint, ports=Ports(http.port, 9, 9)))


def test_what_speaks_no_http_is_not_ready(endpoint: Endpoint) -> None:
    with serving_bytes(lambda _: b"SSH-2.0-OpenSSH_9.2\r\n\r\n") as other:
        assert health.status(replace(endpoint, ports=Ports(other.port, 9, 9)), "/") is None
    assert not health.is_ready(endpoint)  # nobody answers


@pytest.mark.parametrize(
    ("lines", "code", "words"),
    [
        ((), "TW-S04", "its log is empty"),
        (("loading", "", " "), "TW-S04", "does not show why; the last line is: loading"),
        (("error: creating server: hf_" + "a" * 20, "loading"), "TW-S04", "creating server: •••"),
        ((HOPELESS,), "TW-S04", "error while loading shared libraries"),
        (STARTED, "TW-S04", "the last line is"),
    ],
)
async def test_a_process_that_ended_is_noticed_at_once(
    endpoint: Endpoint, lines: tuple[str, ...], code: str, words: str
) -> None:
    """Even if another server answers in its place."""
    with serving_bytes(lambda _: whole(b"")) as http:
        logged(endpoint, *lines, end="")
        os.kill(endpoint.pid, signal.SIGKILL)
        os.waitid(os.P_PID, endpoint.pid, os.WEXITED | os.WNOWAIT)  # noqa: ASYNC222 -- it is killed
        with pytest.raises(ServerError) as caught:
            await waited(replace(endpoint, ports=Ports(http.port, 9, 9)))
    assert caught.value.code == code
    assert words in caught.value.what
    assert endpoint.log in caught.value.todo


async def test_a_process_that_hangs_for_lack_of_a_library_is_noticed_at_once(endpoint: Endpoint) -> None:
    logged(endpoint, HOPELESS)
    with pytest.raises(ServerError, match="the model process cannot start: error while loading") as caught:
        await waited(endpoint)
    assert caught.value.code == "TW-S05"
