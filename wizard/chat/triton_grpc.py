"""Stream an answer over Triton's gRPC endpoint: ``ModelStreamInfer`` of the KServe v2 protocol, decoupled."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

from wizard.chat.ask import Ask, Piece, lost, not_triton, server_error, unreachable
from wizard.chat.exchange import Exchange
from wizard.chat.triton_stubs import stubs
from wizard.chat.wire import Tensor
from wizard.kernel.errors import ServerError
from wizard.kernel.language import tr

if TYPE_CHECKING:
    import grpc

_OPTIONS = [
    ("grpc.enable_http_proxy", 0),  # a company's proxy cannot reach a server on this machine
    ("grpc.use_local_subchannel_pool", 1),  # otherwise a refused connection blocks the next one to a restarted server
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
]
CONTENTS = {
    "BOOL": "bool",
    "BYTES": "bytes",
    **dict.fromkeys(("INT8", "INT16", "INT32"), "int"),
    **dict.fromkeys(("UINT8", "UINT16", "UINT32"), "uint"),
    "INT64": "int64",
    "UINT64": "uint64",
    "FP32": "fp32",
    "FP64": "fp64",
}
"""Triton's data type → the field of the protocol's ``InferTensorContents``."""
LAYOUTS = dict(
    zip(
        ("BOOL", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64", "FP16", "FP32", "FP64"),
        "?bhiqBHIQefd",
        strict=True,
    )
)
"""Triton's data type → the letter of `struct`."""
STREAM = "/inference.GRPCInferenceService/ModelStreamInfer"
"""The method (triton-inference-server/common, protobuf/grpc_service.proto)."""
ENDS_S = 2.0
"""A server that has nothing more to send ends its stream at once; one that does not is not waited for."""


def channel(address: str) -> grpc.aio.Channel:
    """A connection to ``address`` (host:port) for any number of requests; to be closed."""
    import grpc

    return grpc.aio.insecure_channel(address, _OPTIONS)


async def stream(
    ask: Ask,
    address: str,
    sent: Callable[[], object] = lambda: None,
    exchange: Exchange | None = None,
    shared: grpc.aio.Channel | None = None,
) -> AsyncGenerator[Piece, None]:
    """Send ``ask`` to ``address`` (host:port) and yield the answer's pieces; closing the iterator cancels the request.

    ``sent`` is called when the connection is open and the request is sent. Without an ``exchange`` the model is one of
    the wizard's own. A ``shared`` channel stays open; without one the request has its own.

    Raises:
        PromptTooLong: The prompt does not fit.
        ServerError: TW-C01 … TW-C04, TW-C07, TW-C11, TW-C33, see `wizard.chat.ask`.
    """
    exchange = exchange or Exchange(ask)
    if shared is not None:
        async with aclosing(_answer(shared, ask, address, sent, exchange)) as pieces:
            async for piece in pieces:
                yield piece
    else:
        async with channel(address) as own, aclosing(_answer(own, ask, address, sent, exchange, new=True)) as pieces:
            async for piece in pieces:
                yield piece
    if not exchange.over:
        raise lost(address, tr("the stream ended too early"))


async def _answer(
    channel: grpc.aio.Channel,
    ask: Ask,
    address: str,
    sent: Callable[[], object],
    exchange: Exchange,
    *,
    new: bool = False,
) -> AsyncGenerator[Piece, None]:
    import grpc

    messages, services = stubs()
    started = False
    request = messages.ModelInferRequest(model_name=ask.model, inputs=map(_input, exchange.tensors()))
    request.parameters["triton_enable_empty_final_response"].bool_param = True
    if new:  # so that connecting does not count as the server's time
        try:
            await services.GRPCInferenceServiceStub(channel).ServerLive(messages.ServerLiveRequest())
        except grpc.aio.AioRpcError as refused:
            raise unreachable(address, refused.details()) from refused
    # The stub would prepare all methods of the protocol for each request.
    serialize, parse = messages.ModelInferRequest.SerializeToString, messages.ModelStreamInferResponse.FromString
    responses = channel.stream_stream(STREAM, serialize, parse)(_once(request, sent))
    try:
        async for response in responses:
            if response.error_message:
                await _ended(responses)
                raise server_error(response.error_message, ask.model)
            started = True
            if piece := _piece(exchange, response.infer_response, address):
                yield piece
            if response.infer_response.parameters["triton_final_response"].bool_param:
                await _ended(responses)
                break
            if exchange.cut:
                break
    except grpc.aio.AioRpcError as error:
        raise _broken(address, error, started=started) from error
    finally:
        responses.cancel()  # nothing to cancel if it is over
    if piece := exchange.end():
        yield piece


async def _once(request: Any, sent: Callable[[], object]) -> AsyncGenerator[Any, None]:
    sent()
    yield request


async def _ended(responses: Any) -> None:
    """Read a stream that the server is about to end to its end, for at most `ENDS_S`.

    Closing it at that moment crashes the server (2.51.0: 7 of 8,000 rejected requests;
    triton-inference-server/server issues 7368, 8034).
    """
    import grpc

    async def rest() -> None:
        async for _ in responses:
            pass

    with suppress(asyncio.TimeoutError, grpc.aio.AioRpcError):
        await asyncio.wait_for(rest(), ENDS_S)


def _broken(address: str, error: grpc.aio.AioRpcError, *, started: bool) -> ServerError:
    detail = error.details() or error.code().name
    if not started and error.code().name == "UNAVAILABLE" and "connect" in detail:
        return unreachable(address, detail)
    return lost(address, detail)


def _input(tensor: Tensor) -> dict[str, Any]:
    """The fields of a ``ModelInferRequest.InferInputTensor``."""
    values = [value.encode() if isinstance(value, str) else value for value in tensor.values]
    contents = {f"{CONTENTS[tensor.kind]}_contents": values}
    return {"name": tensor.name, "datatype": tensor.kind, "shape": tensor.shape, "contents": contents}


def _piece(exchange: Exchange, response: Any, address: str) -> Piece | None:
    if not response.outputs:
        return None  # the empty response that ends a stream
    outputs = zip(response.outputs, response.raw_output_contents, strict=False)
    names = exchange.outputs
    try:
        return exchange.take({each.name: _values(each.datatype, raw) for each, raw in outputs if each.name in names})
    except (KeyError, IndexError, ValueError, TypeError, AttributeError, struct.error) as error:
        raise not_triton(address, repr(error)) from error


def _values(kind: str, raw: bytes) -> list[Any]:
    """The values of an output as Triton sends them: little-endian, each text after its length in four bytes.

    Raises:
        KeyError, struct.error: It has another format.
    """
    if kind != "BYTES":
        return [value for (value,) in struct.iter_unpack(f"<{LAYOUTS[kind]}", raw)]
    texts, place = [], 0
    while place < len(raw):
        (length,) = struct.unpack_from("<I", raw, place)
        texts.append(raw[place + 4 : place + 4 + length])
        place += 4 + length
    return texts
