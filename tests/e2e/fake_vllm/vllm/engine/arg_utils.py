"""Arguments of the engine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class AsyncEngineArgs:
    """Those that are given; an unknown one is an error, as in vLLM."""

    model: str
    max_model_len: int
    dtype: str = "auto"
    gpu_memory_utilization: float = 0.9
    max_num_seqs: int | None = None
    tensor_parallel_size: int = 1
