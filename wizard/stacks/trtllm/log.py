"""Memory figures in TensorRT-LLM's log, 0.8 to 1.1."""

from __future__ import annotations

from wizard.advise.calibration import Measured
from wizard.serve.measured import BYTES, NUMBER, Log, last, single


def read(log: Log) -> Measured:
    """An engine's log, or the LLM API's, which allocates a small KV cache first: the last one counts.

    The LLM API's "outside torch" is ignored: it includes other processes' memory.
    """
    parts = (rf"Allocated {BYTES} for execution context memory", rf"Allocated {BYTES} GPU memory for runtime buffers")
    engine = [single(log.all(part)) for part in (*parts, rf"Allocated {BYTES} GPU memory for decoder")]
    known = [figure for figure in engine if figure is not None]
    inside = single(log.all(rf"allocated during inference \(inside torch\) in memory usage profiling: {BYTES}"))
    return Measured(
        weights_bytes=single(
            log.all(
                rf"after loading model weights \(inside torch\) in memory usage profiling: {BYTES}",
                rf"Loaded engine size: {BYTES}",
                rf"Use {BYTES} for model weights",
            )
        ),
        kv_capacity_tokens=_tokens(log),
        kv_bytes=single(
            log.all(rf"Allocated {BYTES} for max tokens in paged KV cache", rf"Allocate {BYTES} for k/v cache"), last
        ),
        activation_bytes=inside if inside is not None else sum(known) if known else None,
    )


def _tokens(log: Log) -> int | None:
    tokens = log.all(rf"for max tokens in paged KV cache \({NUMBER}\)", rf"Using {NUMBER} tokens in paged KV cache")
    if tokens:
        return single(tokens, last)
    blocks = single(log.all(rf"Number of blocks in KV cache primary pool: {NUMBER}"), last)
    size = single(log.all(rf"[Tt]okens per block[:=] ?{NUMBER}"), last)
    return blocks * size if blocks and size else None
