"""Memory figures in vLLM's log, 0.5 to 0.27."""

from __future__ import annotations

from wizard.advise.calibration import Measured
from wizard.serve.measured import BYTES, NUMBER, Log, StackLog, single


def read(log: Log) -> Measured:
    """Figures of the old engine and of the new one (V0, V1)."""
    loaded = rf"(?:Model loading|Loading model weights) took {BYTES}"
    weights = single(log.all(loaded, rf"{BYTES} for weight", rf"weights take {BYTES}", rf"weights memory: {BYTES}"))
    runtime = single(
        log.all(
            rf"non-torch forward increase memory: {BYTES}",
            rf"non_torch_memory takes {BYTES}",
            rf"{BYTES} for non-torch memory",
        )
    )
    consumed = single(log.all(rf"{BYTES} for consumed memory")) if runtime is None else None
    if consumed is not None and weights is not None:
        runtime = consumed - weights
    return Measured(
        weights_bytes=weights,
        kv_capacity_tokens=_tokens(log),
        kv_bytes=single(
            log.all(rf"Available KV cache memory: {BYTES}", rf"memory reserved for KV Cache is {BYTES}"), min
        ),
        activation_bytes=single(
            log.all(
                rf"torch peak memory increase: {BYTES}",
                rf"PyTorch activation peak memory takes {BYTES}",
                rf"{BYTES} for peak activation",
            )
        ),
        graphs_bytes=single(log.all(rf"Graph capturing finished in .*took {BYTES}", rf"{BYTES} for CUDAGraph memory")),
        runtime_bytes=runtime,
    )


def _tokens(log: Log) -> int | None:
    """Tokens as logged, or blocks times the tokens per block that follow from the logged concurrency (engine V0)."""
    tokens = log.all(rf"GPU KV cache size: {NUMBER} tokens")
    if tokens:
        return single(tokens, min)
    blocks = single(log.all(rf"# (?:GPU|cuda|CUDA) blocks: {NUMBER}"), min)
    length = log.all(rf"Maximum concurrency for {NUMBER} tokens per request")
    times = log.all(rf"tokens per request: {NUMBER}x")
    if not (blocks and length and times):
        return None
    return blocks * round(length[0] * times[0] / blocks)


PORT = StackLog(read)
