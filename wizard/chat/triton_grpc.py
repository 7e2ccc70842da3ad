"""Stream an answer over Triton's gRPC endpoint: ``ModelStreamInfer`` of the KServe v2 protocol, decoupled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from wizard.chat.ask import Ask, Piece, lost, not_triton, server_said, unreachable
from wizard.chat.reader import Reader
from wizard.chat.wire import Tensor
from wizard.kernel.errors import ServerError
from wizard.kernel.language import tr

if TYPE_CHECKING:
    import grpc

_OPTIONS = [
    ("grpc.enable_http_proxy", 0),  # a company's proxy has no way to a server on this machine
    ("grpc.use_local_subchannel_pool", 1),  # or one that was refused keeps the next from a server that came back
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
]
ENDS_S = 2.0
"""A server that says no more ends its stream at once; one that does not is not waited for."""


async def stream(
    ask: Ask, address: str, sent: Callable[[], object] = lambda: None, reader: Reader | None = None
) -> AsyncGenerator[Piece, None]:
    """Send ``ask`` to ``address`` (host:port) and yield the answer's pieces; closing the iterator cancels the request.

    ``sent`` is called when everything is connected and the request goes out. Without a ``reader`` the model is one of
    the wizard's own.

    Raises:
        PromptTooLong: The prompt does not fit.
        ServerError: TW-C01 … TW-C04, TW-C07, TW-C11, see `wizard.chat.ask`.
    """
    import grpc
    from tritonclient.grpc.aio import InferenceServerClient
    from tritonclient.utils import InferenceServerException

    reader = reader or Reader(ask)
    started = False
    async with InferenceServerClient(address, channel_args=_OPTIONS) as client:
        # Leaving the block closes the channel, and that cancels what still runs on it.
        inputs = [_input(tensor) for tensor in reader.tensors()]
        request = {"model_name": ask.model, "inputs": inputs, "enable_empty_final_response": True}
        try:
            await client.is_server_live()
        except InferenceServerException as refused:
            raise unreachable(address, refused.message()) from refused
        responses = client.stream_infer(_once(request, sent))
        try:
            async for result, error in responses:
                if error is not None:
                    await _ended(responses)
                    raise server_said(str(error.message()), ask.model)
                started = True
                if piece := _piece(reader, result, address):
                    yield piece
                if _final(result):
                    await _ended(responses)
                    break
                if reader.cut:
                    break
        except grpc.aio.AioRpcError as error:
            raise _broken(address, error, started=started) from error
        if piece := reader.end():
            yield piece
    if not reader.over:
        raise lost(address, tr("the stream ended early"))


async def _once(request: dict[str, Any], sent: Callable[[], object]) -> AsyncGenerator[dict[str, Any], None]:
    sent()
    yield request


async def _ended(responses: Any) -> None:
    """Read to its end a stream that the server is about to end, for `ENDS_S` at most.

    Closing it just then brings down the whole server (2.51.0: 7 of 8,000 refused requests;
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


def _input(tensor: Tensor) -> Any:
    import numpy as np
    from tritonclient.grpc import InferInput
    from tritonclient.utils import triton_to_np_dtype

    one = InferInput(tensor.name, list(tensor.shape), tensor.kind)
    values = [value.encode() if isinstance(value, str) else value for value in tensor.values]
    one.set_data_from_numpy(np.array(values, dtype=triton_to_np_dtype(tensor.kind)).reshape(tensor.shape))
    return one


def _final(result: Any) -> bool:
    return bool(result.get_response().parameters["triton_final_response"].bool_param)


def _piece(reader: Reader, result: Any, address: str) -> Piece | None:
    names = [output.name for output in result.get_response().outputs]
    if not names:
        return None  # the empty response that ends a stream
    try:
        wanted = reader.wire.outputs.intersection(names)
        return reader.take({name: result.as_numpy(name).reshape(-1).tolist() for name in wanted})
    except (KeyError, IndexError, ValueError, TypeError, AttributeError) as error:
        raise not_triton(address, repr(error)) from error
