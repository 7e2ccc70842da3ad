"""A stand-in for TensorRT-LLM, which needs a GPU: as much of its LLM API as ``trtllm_engine.py`` uses.

Made from the sources of 1.0.0 and 1.2.1 as nvidia.github.io/TensorRT-LLM/VERSION/_modules/tensorrt_llm shows them:
``llmapi/llm.py``, ``llmapi/llm_args.py``, ``sampling_params.py``, ``executor/result.py``, ``executor/executor.py`` and
``executor/utils.py``. ``FAKE_TENSORRT_LLM`` says which of the two it is; where they differ here, `VERSION` is asked.
What neither has is an error, as there.
"""

from __future__ import annotations

import os

VERSION = os.environ["FAKE_TENSORRT_LLM"]
assert VERSION in ("1.0.0", "1.2.1")

from tensorrt_llm.llmapi import LLM, SamplingParams  # noqa: E402 - they ask for the version

__all__ = ["LLM", "SamplingParams"]
__version__ = VERSION
