"""The log of TensorRT-LLM's LLM API."""

from __future__ import annotations

from wizard.serve.measured import StackLog
from wizard.stacks.trtllm.log import read

PORT = StackLog(read)
