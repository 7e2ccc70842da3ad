"""Arguments of the LLM class, those of both releases that a server may be told."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict


class KvCacheConfig(BaseModel):
    """Some of its fields; any other is an error, as there."""

    model_config = ConfigDict(extra="forbid")
    enable_block_reuse: bool = True
    max_tokens: int | None = None
    free_gpu_memory_fraction: float | None = None
    dtype: str = "auto"


class TorchLlmArgs(BaseModel):
    """Some of its fields; ``extra="forbid"`` is theirs."""

    model_config = ConfigDict(extra="forbid")
    model: str
    tokenizer: Any = None
    skip_tokenizer_init: bool = False
    trust_remote_code: bool = False
    tensor_parallel_size: int = 1
    dtype: str = "auto"
    pipeline_parallel_size: int = 1
    moe_tensor_parallel_size: int | None = None
    moe_expert_parallel_size: int | None = None
    kv_cache_config: KvCacheConfig = KvCacheConfig()
    enable_chunked_prefill: bool = False
    max_batch_size: int | None = None
    max_input_len: int | None = None
    max_seq_len: int | None = None
    max_num_tokens: int | None = None
    backend: str | None = None
