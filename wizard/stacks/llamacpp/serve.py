"""What llama.cpp's log, 2024 to 2026, says that the engine took."""

from __future__ import annotations

from dataclasses import replace

from wizard.advise.calibration import Measured
from wizard.kernel import proctable
from wizard.serve.endpoint import Endpoint
from wizard.serve.measured import BYTES, NUMBER, Log, StackLog, single


def read(log: Log) -> Measured:
    """Buffers of all devices are added up; the KV cache is logged once for each kind of layer."""
    weights = log.all(rf"model buffer size += +{BYTES}", rf"load_tensors: +\w+ buffer size = +{BYTES}")
    return Measured(
        weights_bytes=single(weights, sum),
        kv_capacity_tokens=single(
            log.all(rf"(?:llama_context|llama_new_context_with_model|llama_init_from_model): n_ctx += {NUMBER}")
        ),
        kv_bytes=single(log.all(rf"(?:KV|RS) buffer size += +{BYTES}"), sum),
        activation_bytes=single(log.all(rf"(?:compute|output|input) buffer size += +{BYTES}"), sum),
    )


def add(measured: Measured, log: Log, endpoint: Endpoint) -> Measured:
    """What is beside its buffers: the memory of the server's processes without the KV cache.

    They have written to the cache already. The compute buffers are not touched before the first request, and the
    model's file, mapped into memory, is not among what `proctable.memory` counts.
    """
    if measured.kv_bytes is None:
        return measured
    held = sum(proctable.memory(row.pid) or 0 for row in proctable.group_members(endpoint.pid))
    copied = single(log.all(rf"(?<!Mapped) model buffer size += +{BYTES}"), sum) or 0
    return replace(measured, runtime_bytes=max(0, held - measured.kv_bytes - copied))


PORT = StackLog(read, add)
