"""The log of TensorRT-LLM's backend."""

from __future__ import annotations

from wizard.serve.measured import StackLog
from wizard.stacks.trtllm.log import read

PORT = StackLog(read)
