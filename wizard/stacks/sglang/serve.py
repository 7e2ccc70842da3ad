"""Memory figures in SGLang's log, 0.5.

Messages: ``model_executor/model_runner.py``, ``cuda_graph_setup.py`` and ``mem_cache/memory_pool.py`` of the wheel
0.5.17, and published logs of 2025 and 2026. SGLang prints ``GB`` and divides by powers of 1024.
"""

from __future__ import annotations

from wizard.advise.calibration import Measured
from wizard.serve.measured import BYTES, NUMBER, Log, StackLog, single


def read(log: Log) -> Measured:
    """The fullest rank's figures. The log does not report activations."""
    # Keys and values are separate figures, except if the model has a combined cache (MLA).
    halves = [single(log.all(pattern)) for pattern in (rf"#tokens: \d+, K size: {BYTES}", rf", V size: {BYTES}")]
    both = [half for half in halves if half is not None]
    cache = sum(both) if both else single(log.all(rf"#tokens: \d+, KV size: {BYTES}"))
    graphs = [
        single(log.all(rf"Capture target {phase} CUDA graph end\..*? mem usage={BYTES}"))
        for phase in ("prefill", "decode")
    ]
    captured = [figure for figure in graphs if figure is not None]
    return Measured(
        weights_bytes=single(log.all(rf"Load weight end\..*? mem usage={BYTES}")),
        kv_capacity_tokens=single(log.all(rf"KV Cache is allocated\..*?#tokens: {NUMBER}"), min),
        kv_bytes=cache,
        graphs_bytes=sum(captured) if captured else single(log.all(rf"Capture cuda graph end\..*? mem usage={BYTES}")),
    )


PORT = StackLog(read)
