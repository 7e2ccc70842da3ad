"""The engine."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from tensorrt_llm import VERSION
from tensorrt_llm.llmapi.llm_args import TorchLlmArgs
from tensorrt_llm.sampling_params import SamplingParams

DIGITS = [ord(str(digit)) for digit in range(10)]
STEP_SECONDS = 0.002


class RequestError(RuntimeError):
    """An error of one request; any other that a result raises comes after the executor has shut down."""


@dataclass
class CompletionOutput:
    """What a request has so far. Text there is none without detokenizing."""

    index: int = 0
    text: str = ""
    token_ids: list[int] = field(default_factory=list)
    finish_reason: str | None = None
    stop_reason: int | str | None = None
    _last_token_ids_len: int = field(default=0, init=False, repr=False)

    @property
    def token_ids_diff(self) -> list[int]:
        return self.token_ids[self._last_token_ids_len :]


class RequestOutput:
    """One request's answer; each step of the iteration gives the same object again."""

    def __init__(self, request_id: int, prompt: list[int], sampling_params: SamplingParams) -> None:
        asyncio.get_running_loop()  # without one there is no queue to read from
        self.request_id, self.prompt_token_ids, self.sampling_params = request_id, prompt, sampling_params
        self.outputs = [CompletionOutput()]
        self.finished = False
        self._number = 0

    def abort(self) -> None:
        print(f"request {self.request_id} aborted after {len(self.outputs[0].token_ids)} tokens", flush=True)

    def __aiter__(self) -> AsyncIterator[RequestOutput]:
        return self

    async def __anext__(self) -> RequestOutput:
        if self.finished:
            raise StopAsyncIteration
        await asyncio.sleep(STEP_SECONDS)
        self._step()
        return self

    def _step(self) -> None:
        """The decimal numbers from 0 on, one token for each letter; what the prompt's last letter asks for else."""
        (output,) = self.outputs
        last = self.prompt_token_ids[-1]
        if last == ord("!") and self._number:
            raise RuntimeError("a worker has died")
        if last == ord("?") and self._number:
            raise RequestError("this request has gone wrong")
        token = self.sampling_params.end_id if last == ord(".") and self._number == 2 else self._next()
        if last == ord(",") and self._number == 2 and self.sampling_params.stop_token_ids:
            token = self.sampling_params.stop_token_ids[-1]
        output._last_token_ids_len = len(output.token_ids)
        output.token_ids.append(token)
        self._number += 1
        if token == self.sampling_params.end_id:
            output.finish_reason = "stop"
        elif token in (self.sampling_params.stop_token_ids or ()):
            output.finish_reason, output.stop_reason = "stop", token
            output.token_ids = output.token_ids[:-1]
        elif self._number == self.sampling_params.max_tokens:
            output.finish_reason = "length"
        self.finished = output.finish_reason is not None

    def _next(self) -> int:
        return DIGITS[self._number % 10]


class LLM:
    """Says the digits from 0 to 9, over and over, and prints what it is told."""

    def __init__(
        self,
        model: str,
        tokenizer: Any = None,
        tokenizer_mode: str = "auto",
        skip_tokenizer_init: bool = False,
        trust_remote_code: bool = False,
        tensor_parallel_size: int = 1,
        dtype: str = "auto",
        revision: str | None = None,
        tokenizer_revision: str | None = None,
        **kwargs: Any,
    ) -> None:
        for key in kwargs:
            if key not in TorchLlmArgs.model_fields:
                raise ValueError(f"LLM got invalid argument: {key}")
        self.args = TorchLlmArgs(model=str(model), tensor_parallel_size=tensor_parallel_size, **kwargs)
        print(f"TensorRT-LLM {VERSION} with {self.args}", flush=True)
        self._last_id = 1
        # A worker for each GPU, in a process group of its own, as OpenMPI starts them; the MPI pool's do nothing else.
        sleep = "import os, signal; os.setpgrp(); signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()"
        ranks = range(tensor_parallel_size * self.args.pipeline_parallel_size)
        self._workers = [subprocess.Popen([sys.executable, "-c", sleep]) for _ in ranks]
        print(f"workers {[worker.pid for worker in self._workers]}", flush=True)

    def generate_async(
        self,
        inputs: Any,
        sampling_params: SamplingParams | None = None,
        lora_request: Any = None,
        prompt_adapter_request: Any = None,
        streaming: bool = False,
        kv_cache_retention_config: Any = None,
        disaggregated_params: Any = None,
        _postproc_params: Any = None,
        scheduling_params: Any = None,
        **more: Any,
    ) -> RequestOutput:
        if more.keys() - ({"cache_salt"} if VERSION == "1.2.1" else set()):
            raise TypeError(f"generate_async() got an unexpected keyword argument {next(iter(more))!r}")
        if not isinstance(inputs, list) or not all(type(token) is int for token in inputs):
            raise TypeError(f"The inputs must be type str or list of int, but got {type(inputs)}")
        if not isinstance(sampling_params, SamplingParams) or sampling_params.end_id is None:
            raise ValueError("tokenizer is required to reset end_id if it is None")
        if not streaming:
            raise NotImplementedError("this stand-in only streams")
        most = self.args.max_num_tokens or 8192
        if not self.args.enable_chunked_prefill and len(inputs) > most:
            raise ValueError(f"The sum of prompt length ({len(inputs)}.0) should not exceed max_num_tokens ({most})")
        self._last_id += 1
        greedy = sampling_params._greedy_decoding
        print(f"request {self._last_id}: greedy={greedy} {sampling_params}", flush=True)
        if inputs[-1] == ord("#"):
            os.kill(os.getpid(), signal.SIGKILL)
        return RequestOutput(self._last_id, inputs, sampling_params)

    def shutdown(self) -> None:
        for worker in self._workers:
            worker.kill()
