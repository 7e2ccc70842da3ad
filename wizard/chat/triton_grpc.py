"""Stream an answer over Triton's gRPC endpoint: ``ModelStreamInfer`` of the KServe v2 protocol, decoupled."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

from wizard.chat.ask import Ask, Piece, lost, server_said, unreachable

_OPTIONS = [
    ("grpc.enable_http_proxy", 0),  # a company's proxy has no way to a server on this machine
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
]


async def stream(ask: Ask, address: str, sent: Callable[[], object] = lambda: None) -> AsyncGenerator[Piece, None]:
    """Send ``ask`` to ``address`` (host:port) and yield the answer's pieces; closing the iterator cancels the request.

    ``sent`` is called when everything is connected and the request goes out.

    Raises:
        PromptTooLong: The prompt does not fit.
        ServerError: TW-C01 … TW-C04, TW-C11, see `wizard.chat.ask`.
    """
    import grpc
    from tritonclient.grpc.aio import InferenceServerClient
    from tritonclient.utils import InferenceServerException

    finished = started = False
    async with InferenceServerClient(address, channel_args=_OPTIONS) as client:
        # Leaving the block closes the channel, and that cancels what still runs on it.
        request = {"model_name": ask.model, "inputs": _inputs(ask)}
        try:
            await client.is_server_live()
        except InferenceServerException as refused:
            raise unreachable(address, refused.message()) from refused
        responses = client.stream_infer(_once(request, sent))
        try:
            async for result, error in responses:
                if error is not None:
                    raise server_said(str(error.message()), ask.model)
                piece = _piece(result)
                started, finished = True, bool(piece.finish)
                yield piece
        except grpc.aio.AioRpcError as error:
            detail = error.details() or error.code().name
            if not started and error.code() is grpc.StatusCode.UNAVAILABLE and "connect" in detail:
                raise unreachable(address, detail) from error
            raise lost(address, detail) from error
    if not finished:
        raise lost(address, "the stream ended early")


async def _once(request: dict[str, Any], sent: Callable[[], object]) -> AsyncGenerator[dict[str, Any], None]:
    sent()
    yield request


def _inputs(ask: Ask) -> list[Any]:
    import numpy as np
    from tritonclient.grpc import InferInput

    values: list[tuple[str, str, Any]] = [
        ("text_input", "BYTES", np.array([ask.prompt.encode()], dtype=np.object_)),
        ("apply_chat_template", "BOOL", np.array([False])),
        ("max_tokens", "INT32", np.array([ask.max_tokens], dtype=np.int32)),
        ("top_p", "FP32", np.array([ask.top_p], dtype=np.float32)),
    ]
    if ask.temperature is not None:
        values.append(("temperature", "FP32", np.array([ask.temperature], dtype=np.float32)))
    if ask.seed is not None:
        values.append(("random_seed", "UINT64", np.array([ask.seed], dtype=np.uint64)))
    inputs = []
    for name, kind, value in values:
        tensor = InferInput(name, [1], kind)
        tensor.set_data_from_numpy(value)
        inputs.append(tensor)
    return inputs


def _piece(result: Any) -> Piece:
    return Piece(
        text=result.as_numpy("text_output")[0].decode(),
        tokens=int(result.as_numpy("completion_tokens")[0]),
        finish=result.as_numpy("finish_reason")[0].decode(),
    )
