"""What only the client over gRPC has to do; whole answers are in ``test_stream.py`` and ``test_wires.py``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import grpc
import pytest
from tritonclient.grpc import service_pb2, service_pb2_grpc

from tests.chat.test_stream import asked, read, without_template
from tests.ports import reserved
from wizard.chat import triton_grpc
from wizard.kernel.errors import ServerError
from wizard.plan.ports import Ports
from wizard.serve.endpoint import Endpoint


class FakeTriton(service_pb2_grpc.GRPCInferenceServiceServicer):
    """Refuses every request, and goes on with the same stream for a while, as Triton does to end it, or for ever."""

    def __init__(self, *, ends: bool = True) -> None:
        self.ends, self.ended = ends, False

    async def ServerLive(self, request: object, context: object) -> object:
        return service_pb2.ServerLiveResponse(live=True)

    async def ModelStreamInfer(self, requests: AsyncIterator[object], context: object) -> AsyncIterator[object]:
        async for _ in requests:
            yield service_pb2.ModelStreamInferResponse(error_message="the engine has had enough")
        for _ in range(1000):
            yield service_pb2.ModelStreamInferResponse(error_message="and this is the consequence")
        if not self.ends:
            await asyncio.Event().wait()
        self.ended = True


async def test_a_server_that_was_refused_is_reached_as_soon_as_it_is_back() -> None:
    """Channels share what they know of an address unless each has its own: that nobody is there, for seconds."""
    with reserved() as port:
        endpoint = Endpoint("t", "m", "127.0.0.1", Ports(port, port, port), 1, "0", "log")
        errors = []
        for back in (False, False, True):
            server = grpc.aio.server()
            if back:
                server.add_insecure_port(f"127.0.0.1:{port}")
                await server.start()
            with pytest.raises(ServerError) as caught:
                await read(endpoint, asked("x"), "grpc", without_template("m"))
            errors.append(caught.value)  # as a screen that shows it does, which keeps the channel, too
            await server.stop(None)
    assert ["Connection refused" in error.what for error in errors] == [True, True, False]


async def refused(fake: FakeTriton) -> ServerError:
    """What a chat with ``fake`` is told."""
    server = grpc.aio.server()
    service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(fake, server)
    with reserved() as port:
        server.add_insecure_port(f"127.0.0.1:{port}")
        await server.start()
        endpoint = Endpoint("t", "m", "127.0.0.1", Ports(port, port, port), 1, "0", "log")
        with pytest.raises(ServerError, match="the engine has had enough") as caught:
            await read(endpoint, asked("x"), "grpc", without_template("m"))
        await server.stop(None)
    return caught.value


async def test_the_stream_of_a_refused_request_is_read_to_its_end() -> None:
    """Closed under Triton 2.51.0, it brings down the whole server now and then (server#7368, #8034)."""
    fake = FakeTriton()
    assert (await refused(fake)).code == "TW-C04"
    assert fake.ended


async def test_a_stream_that_the_server_never_ends_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton_grpc, "ENDS_S", 0.05)
    assert (await refused(FakeTriton(ends=False))).code == "TW-C04"
