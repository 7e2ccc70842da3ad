"""As in TensorRT-LLM."""

from tensorrt_llm.llmapi.llm import LLM, RequestError
from tensorrt_llm.llmapi.llm_args import KvCacheConfig
from tensorrt_llm.sampling_params import SamplingParams

__all__ = ["LLM", "KvCacheConfig", "RequestError", "SamplingParams"]
