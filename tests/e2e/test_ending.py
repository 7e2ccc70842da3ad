"""The real tritonserver that gets SIGTERM amid answers, what clients and metrics show."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e import test_proxy
from tests.e2e.test_proxy import Served, wait_until
from tests.gateway.conftest import noted, running
from wizard.chat.conversation import Conversation, Sampling
from wizard.chat.nearby import at
from wizard.chat.stream import answer
from wizard.kernel import proctable
from wizard.kernel.errors import ServerError
from wizard.kernel.paths import Workspace
from wizard.serve import find, work
from wizard.serve.endpoint import Endpoint

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("proxy")]
ENDLESS = Sampling(max_tokens=10**6)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with test_proxy.serving(tmp_path, step_s=0.01) as served:
        yield served


def exact(served: Served) -> Endpoint:
    row = proctable.read(served.triton.process.pid)
    assert row
    return replace(served.endpoint, started=row.started)


async def test_answers_of_a_server_that_is_shutting_down_end_with_that_reason(served: Served, tmp_path: Path) -> None:
    """Over every wire. By itself Triton gives them five seconds, and then crashes."""
    endpoint = exact(served)
    workspace = Workspace(tmp_path / "workspace")
    noted(workspace, endpoint)
    with running(workspace) as address:
        gateway = await asyncio.to_thread(at, address.url)
        begun = {name: asyncio.Event() for name in ("grpc", "http", "openai")}

        async def read(name: str, where: Endpoint, protocol: str) -> str:
            talk = Conversation(sampling=ENDLESS).with_message("user", "hello")
            try:
                async for _ in answer(where, talk, protocol=protocol):
                    begun[name].set()
            except ServerError as error:
                return f"{error.code}: {error.what}"
            return "it ended as if it were complete"

        reading = [
            asyncio.create_task(read("grpc", endpoint, "grpc")),
            asyncio.create_task(read("http", endpoint, "http")),
            asyncio.create_task(read("openai", gateway, "grpc")),
        ]
        for event in begun.values():
            await asyncio.wait_for(event.wait(), 60)
        assert not find.ending(endpoint)
        os.kill(endpoint.pid, signal.SIGTERM)
        ends = await asyncio.wait_for(asyncio.gather(*reading), 60)
        assert all("the server is shutting down" in end for end in ends)
        assert [end[:6] for end in ends[:2]] == ["TW-C03"] * 2
        assert find.ending(endpoint), "the answers ended before the server did"
        await asyncio.to_thread(served.triton.process.wait, 60)
        assert not find.ending(endpoint)


async def test_the_work_of_a_model_is_reported(served: Served) -> None:
    """A request that gets on counts steps, and one that a client has left is no longer counted as running."""
    endpoint = served.endpoint
    await asyncio.to_thread(wait_until, lambda: work.done(endpoint) == work.Work(0, 0))
    stream = answer(endpoint, Conversation(sampling=ENDLESS).with_message("user", "hello"))
    await stream.__anext__()

    def seen(than: int = 0) -> bool:
        now = work.done(endpoint)
        return now is not None and now.running == 1 and now.steps > than

    await asyncio.to_thread(wait_until, seen)
    busy = work.done(endpoint)
    assert busy
    await asyncio.to_thread(wait_until, lambda: seen(busy.steps))
    await stream.aclose()
    await asyncio.to_thread(wait_until, lambda: getattr(work.done(endpoint), "running", 1) == 0)
