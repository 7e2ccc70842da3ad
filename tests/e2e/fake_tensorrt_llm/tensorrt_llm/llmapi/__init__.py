"""As in TensorRT-LLM."""

from tensorrt_llm.llmapi.llm import LLM, RequestError
from tensorrt_llm.llmapi.llm_args import EagleDecodingConfig, KvCacheConfig, MTPDecodingConfig, NGramDecodingConfig
from tensorrt_llm.sampling_params import GuidedDecodingParams, SamplingParams

__all__ = [
    "LLM",
    "EagleDecodingConfig",
    "GuidedDecodingParams",
    "KvCacheConfig",
    "MTPDecodingConfig",
    "NGramDecodingConfig",
    "RequestError",
    "SamplingParams",
]
