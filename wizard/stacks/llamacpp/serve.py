"""Memory figures in llama.cpp's log, 2024 to 2026."""

from __future__ import annotations

from dataclasses import replace

from wizard.advise.advice import Choice
from wizard.advise.calibration import Measured
from wizard.kernel import proctable
from wizard.kernel.language import tr
from wizard.serve.endpoint import Endpoint
from wizard.serve.measured import BYTES, NUMBER, Log, StackLog, last, single

GPU = r"CUDA0 +"
"""Name of the first GPU's buffers, which `Choice.memory` is about; with one, those of the host are no part of it."""


def read(log: Log) -> Measured:
    """Buffers of a GPU if it has any, else of all devices; the KV cache is logged once per kind of layer."""
    anywhere = rf"model buffer size += +{BYTES}"
    weights = log.all(rf"{GPU}{anywhere}", anywhere, rf"load_tensors: +\w+ buffer size = +{BYTES}")
    cache, working = rf"(?:KV|RS) buffer size += +{BYTES}", rf"(?:compute|output|input) buffer size += +{BYTES}"
    return Measured(
        weights_bytes=single(weights, sum),
        kv_capacity_tokens=single(
            log.all(rf"(?:llama_context|llama_new_context_with_model|llama_init_from_model): n_ctx += {NUMBER}")
        ),
        kv_bytes=single(log.all(GPU + cache, cache), sum),
        activation_bytes=single(log.all(GPU + working, working), sum),
    )


def add(measured: Measured, log: Log, endpoint: Endpoint) -> Measured:
    """Add the memory besides its buffers: that of the server's processes without the KV cache.

    The processes have already written to the cache. The compute buffers are not touched before the first request, and
    the model's file, mapped into memory, is not counted by `proctable.memory`.
    """
    if measured.kv_bytes is None or log.all(rf"{GPU}model buffer size += +{BYTES}"):
        return measured  # on a GPU, the processes' memory says nothing about it
    held = sum(proctable.memory(row.pid) or 0 for row in proctable.group_members(endpoint.pid))
    copied = single(log.all(rf"(?<!Mapped) model buffer size += +{BYTES}"), sum) or 0
    return replace(measured, runtime_bytes=max(0, held - measured.kv_bytes - copied))


def differs(log: Log, choice: Choice) -> str | None:
    """What differs from the planned split: llama.cpp logs the layers on GPUs only if it was built for them and sees
    one (``offloaded %d/%d layers to GPU`` in ``llama_model_base::load_tensors``), and the weights of each.
    """
    if choice.offload is None:
        return None
    wanted = choice.offload.gpu_layers
    loaded = single(log.all(rf"offloaded {NUMBER}/\d+ layers to GPU"), last)
    if loaded is None or not log.all(rf"{GPU}model buffer size += +{BYTES}"):
        return tr("llama.cpp loaded no layer on a GPU; {wanted} were planned", wanted=wanted)
    if loaded != wanted:
        return tr("llama.cpp loaded {loaded} layers on the GPU; {wanted} were planned", loaded=loaded, wanted=wanted)
    planned = len(choice.devices)
    used = sum(bool(log.all(rf"CUDA{number} +model buffer size += +{BYTES}")) for number in range(planned))
    if used != planned:
        return tr("llama.cpp uses {used} GPUs; {planned} were planned", used=used, planned=planned)
    return None


PORT = StackLog(read, add, differs)
