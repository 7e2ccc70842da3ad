"""``config.pbtxt`` by way of Triton's own protobuf message: what cannot be said in its schema cannot be written.

Nothing is ever pasted into text, so a quote, a newline or a ``${x}`` in a value stays that value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

DataType: TypeAlias = Literal["STRING", "BOOL", "INT32", "INT64", "UINT64", "FP32"]


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input or output. ``dims`` without the batch dimension; -1 is any size; outputs are never ``optional``."""

    name: str
    type: DataType
    dims: tuple[int, ...] = (1,)
    optional: bool = False


def config_pbtxt(
    name: str,
    *,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    parameters: Mapping[str, str],
    backend: str = "python",
    decoupled: bool = False,
    max_batch_size: int = 0,
    instances: int = 1,
) -> str:
    """The text of one model's ``config.pbtxt`` (schema: ``model_config.proto`` of triton-inference-server/common).

    Args:
        name: The model's name; its folder must have the same.
        inputs: What a request may hold.
        outputs: What each response holds.
        parameters: Passed to the model as ``parameters[KEY].string_value``, byte for byte.
        backend: Triton backend that runs it.
        decoupled: Whether one request may have any number of responses (streaming).
        max_batch_size: 0 means that requests have no batch dimension.
        instances: Copies of the model, on the CPU as far as Triton is concerned (a backend's engine decides by itself).

    Returns:
        Protobuf text in UTF-8, the same for the same arguments.

    Raises:
        ValueError: A text holds a lone surrogate, which no protobuf string can.
    """
    from google.protobuf import text_format
    from tritonclient.grpc import model_config_pb2 as pb

    config = pb.ModelConfig(name=name, backend=backend, max_batch_size=max_batch_size)
    config.model_transaction_policy.decoupled = decoupled
    for tensor in inputs:
        kind = pb.DataType.Value(f"TYPE_{tensor.type}")
        config.input.add(name=tensor.name, data_type=kind, dims=tensor.dims, optional=tensor.optional)
    for tensor in outputs:
        kind = pb.DataType.Value(f"TYPE_{tensor.type}")
        config.output.add(name=tensor.name, data_type=kind, dims=tensor.dims)
    config.instance_group.add(kind=pb.ModelInstanceGroup.KIND_CPU, count=instances)
    for key, value in parameters.items():
        config.parameters[key].string_value = value
    text: str = text_format.MessageToString(config, as_utf8=True)
    return text
