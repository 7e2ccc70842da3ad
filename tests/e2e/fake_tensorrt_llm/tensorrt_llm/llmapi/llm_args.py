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


class DecodingBaseConfig(BaseModel):
    """Some of the fields that NVIDIA/TensorRT-LLM's ``llm_args.py`` has in 1.0 and in 1.2 (stored copies, not tags)."""

    model_config = ConfigDict(extra="forbid")
    max_draft_len: int | None = None
    speculative_model_dir: str | None = None


class NGramDecodingConfig(DecodingBaseConfig):
    """Proposes what followed the same tokens before."""

    max_matching_ngram_size: int = 0
    is_keep_all: bool = True
    is_use_oldest: bool = True
    is_public_pool: bool = True


class MTPDecodingConfig(DecodingBaseConfig):
    """The model's own layers propose."""

    num_nextn_predict_layers: int = 1


class EagleDecodingConfig(DecodingBaseConfig):
    """A draft model proposes."""

    eagle3_one_model: bool | None = True


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
    enable_attention_dp: bool = False
    kv_cache_config: KvCacheConfig = KvCacheConfig()
    speculative_config: DecodingBaseConfig | None = None
    enable_chunked_prefill: bool = False
    guided_decoding_backend: str | None = None
    max_batch_size: int | None = None
    max_input_len: int | None = None
    max_seq_len: int | None = None
    max_num_tokens: int | None = None
    backend: str | None = None
