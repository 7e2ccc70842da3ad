"""Memory figures in llama.cpp's log, 2024 to 2026."""

from __future__ import annotations

from dataclasses import replace

from wizard.advise.calibration import Measured
from wizard.kernel import proctable
from wizard.serve.endpoint import Endpoint
from wizard.serve.measured import BYTES, NUMBER, Log, StackLog, single


def read(log: Log) -> Measured:
    """Buffers of all devices are summed; the KV cache is logged once per kind of layer."""
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
    """Add the memory besides its buffers: that of the server's processes without the KV cache.

    The processes have already written to the cache. The compute buffers are not touched before the first request, and
    the model's file, mapped into memory, is not counted by `proctable.memory`.
    """
    if measured.kv_bytes is None:
        return measured
    held = sum(proctable.memory(row.pid) or 0 for row in proctable.group_members(endpoint.pid))
    copied = single(log.all(rf"(?<!Mapped) model buffer size += +{BYTES}"), sum) or 0
    return replace(measured, runtime_bytes=max(0, held - measured.kv_bytes - copied))


PORT = StackLog(read, add)
