"""``config.pbtxt`` through Triton's own protobuf message: only what its schema allows can be written.

No text is ever pasted into a template, so a quote, a newline or a ``${x}`` in a value stays part of that value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

DataType: TypeAlias = Literal[
    "BOOL", "UINT8", "UINT32", "UINT64", "INT32", "INT64", "FP16", "BF16", "FP32", "STRING"
]  # fmt: skip
InstanceKind: TypeAlias = Literal["KIND_AUTO", "KIND_CPU", "KIND_GPU", "KIND_MODEL"]


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input or output.

    Attributes:
        name: Name in requests.
        type: Triton's name of the type, without ``TYPE_``.
        dims: Without the batch dimension; -1 is any size.
        optional: Whether a request may omit it; never set for an output.
        reshape: Shape for the backend instead of ``dims``; ``()`` is a scalar, None means unset.
        ragged: Whether requests of different sizes may share a batch.
    """

    name: str
    type: DataType
    dims: tuple[int, ...] = (1,)
    optional: bool = False
    reshape: tuple[int, ...] | None = None
    ragged: bool = False


@dataclass(frozen=True, slots=True)
class InstanceGroup:
    """Instances of the model: ``count`` on each of ``gpus``, or on every GPU if ``gpus`` is empty (KIND_GPU)."""

    count: int = 1
    kind: InstanceKind = "KIND_CPU"
    gpus: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class DynamicBatching:
    """Batching of requests by Triton.

    Attributes:
        preferred: Batch sizes worth waiting for.
        max_queue_delay_microseconds: Maximum time that a request waits for others.
        max_queue_size: Maximum number of waiting requests; 0 means unlimited, None means unset.
        preserve_ordering: Whether responses are sent in the order of the requests.
    """

    preferred: tuple[int, ...] = ()
    max_queue_delay_microseconds: int = 0
    max_queue_size: int | None = None
    preserve_ordering: bool = False


@dataclass(frozen=True, slots=True)
class EnsembleStep:
    """A member of an ensemble. The maps go from the member's names to the ensemble's."""

    model: str
    inputs: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)


def config_pbtxt(
    name: str,
    *,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    parameters: Mapping[str, str],
    backend: str = "python",
    decoupled: bool = False,
    max_batch_size: int = 0,
    instances: int | Sequence[InstanceGroup] = 1,
    batching: DynamicBatching | None = None,
) -> str:
    """The text of a model's ``config.pbtxt`` (schema: ``model_config.proto`` of triton-inference-server/common).

    Args:
        name: The model's name; its folder must have the same.
        inputs: Inputs of a request.
        outputs: Outputs of each response.
        parameters: Passed to the model as ``parameters[KEY].string_value``, byte for byte.
        backend: Triton backend that runs it.
        decoupled: Whether one request may have any number of responses (streaming).
        max_batch_size: 0 means that requests have no batch dimension.
        instances: Instances of the model. A number means that many on the CPU from Triton's point of view (a backend's
            engine selects the hardware itself).
        batching: Dynamic batching; None turns it off.

    Returns:
        Protobuf text in UTF-8, the same for the same arguments.

    Raises:
        ValueError: A text contains a lone surrogate, which protobuf strings do not support.
    """
    from tritonclient.grpc import model_config_pb2 as pb

    config = pb.ModelConfig(name=name, backend=backend, max_batch_size=max_batch_size)
    config.model_transaction_policy.decoupled = decoupled
    _add_tensors(config, inputs, outputs)
    for group in (InstanceGroup(instances),) if isinstance(instances, int) else instances:
        kind = pb.ModelInstanceGroup.Kind.Value(group.kind)
        config.instance_group.add(kind=kind, count=group.count, gpus=group.gpus)
    if batching:
        _add_batching(config, batching)
    for key, value in parameters.items():
        config.parameters[key].string_value = value
    return _text(config)


def ensemble_pbtxt(
    name: str,
    *,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    steps: Sequence[EnsembleStep],
    max_batch_size: int = 0,
) -> str:
    """The text of an ensemble's ``config.pbtxt``.

    It does not set instances, batching and decoupling: Triton rejects the first two for an ensemble, and derives the
    last from its members.

    Args:
        name: The ensemble's name; its folder must have the same.
        inputs: Inputs of a request.
        outputs: Outputs of each response.
        steps: The members, each with the newest version of its model.
        max_batch_size: No larger than that of any member.

    Returns:
        Protobuf text in UTF-8, the same for the same arguments.
    """
    from tritonclient.grpc import model_config_pb2 as pb

    config = pb.ModelConfig(name=name, platform="ensemble", max_batch_size=max_batch_size)
    _add_tensors(config, inputs, outputs)
    for step in steps:
        made = config.ensemble_scheduling.step.add(model_name=step.model, model_version=-1)
        made.input_map.update(step.inputs)
        made.output_map.update(step.outputs)
    return _text(config)


def _add_tensors(config: Any, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> None:
    from tritonclient.grpc import model_config_pb2 as pb

    for tensor in inputs:
        kind = pb.DataType.Value(f"TYPE_{tensor.type}")
        made = config.input.add(name=tensor.name, data_type=kind, dims=tensor.dims, optional=tensor.optional)
        made.allow_ragged_batch = tensor.ragged
        _reshape(made, tensor)
    for tensor in outputs:
        kind = pb.DataType.Value(f"TYPE_{tensor.type}")
        _reshape(config.output.add(name=tensor.name, data_type=kind, dims=tensor.dims), tensor)


def _reshape(made: Any, tensor: Tensor) -> None:
    if tensor.reshape is not None:
        made.reshape.SetInParent()  # an empty shape, a scalar, differs from an unset one
        made.reshape.shape.extend(tensor.reshape)


def _add_batching(config: Any, batching: DynamicBatching) -> None:
    made = config.dynamic_batching
    made.SetInParent()
    made.preferred_batch_size.extend(batching.preferred)
    made.max_queue_delay_microseconds = batching.max_queue_delay_microseconds
    made.preserve_ordering = batching.preserve_ordering
    if batching.max_queue_size is not None:
        made.default_queue_policy.max_queue_size = batching.max_queue_size


def _text(config: Any) -> str:
    from google.protobuf import text_format

    text: str = text_format.MessageToString(config, as_utf8=True)
    return text
