"""TensorRT-LLM's LLM API (1.0 or newer, its PyTorch backend) as an engine behind ``proxy_model.py``.

    python trtllm_engine.py '{"model": "/models/x", "max_seq_len": 4096, "tensor_parallel_size": 2}'

The argument is JSON: arguments of ``tensorrt_llm.LLM``, of which ``model`` and ``max_seq_len`` are needed here. The
engine does its own batching and starts its workers, one per GPU, with MPI; this program only passes messages. It never
ran with the real package: the API that it calls was read in the sources of 1.0.0 and 1.2.1 (``llmapi/llm.py``,
``llm_args.py``, ``sampling_params.py``, ``executor/result.py`` and ``executor/utils.py``, as
nvidia.github.io/TensorRT-LLM/VERSION shows them).

Tokens are converted to text and checked for stop words here: the engine compares stop words token by token, and so
misses a word that the model has composed of other tokens.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import traceback
from typing import Any

from engine_process import Answer, Refused, Requests, die, end_ids, prompt_ids, stop_ids

CHUNK_TOKENS = 8192
"""``max_num_tokens`` if it is not set: a longer prompt is rejected unless chunking is on."""
AS_ROOT = tuple(f"{name}_ALLOW_RUN_AS_ROOT{more}" for name in ("OMPI", "PRTE") for more in ("", "_CONFIRM"))
"""Without these OpenMPI starts no worker as root, the user of many containers (OpenMPI 4 and 5)."""


class Server:
    """Runs in a single event loop, which must be running when a request begins: the engine's queues belong to it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._requests = Requests(loop, self._answer)
        self.proxy = self._requests.proxy

    _guided: Any = None

    def load(self, settings: dict[str, Any]) -> None:
        """Load the model; takes a minute or more."""
        from tensorrt_llm import LLM, llmapi
        from tensorrt_llm.llmapi import GuidedDecodingParams, KvCacheConfig, RequestError, SamplingParams
        from transformers import AutoTokenizer

        self._context = int(settings["max_seq_len"])
        if "max_num_tokens" not in settings and self._context > CHUNK_TOKENS:
            settings = {**settings, "enable_chunked_prefill": True}
        if cache := settings.get("kv_cache_config"):
            settings = {**settings, "kv_cache_config": KvCacheConfig(**cache)}
        if speculative := dict(settings.get("speculative_config") or {}):
            kind = getattr(llmapi, f"{speculative.pop('decoding_type')}DecodingConfig")
            settings = {**settings, "speculative_config": kind(**speculative)}
        self._tokenizer: Any = AutoTokenizer.from_pretrained(settings["model"])
        self._ends = end_ids(self._tokenizer, settings["model"])  # 1.0 checks the tokenizer's only
        if not settings.get("speculative_config"):  # 1.0 cannot do both
            settings = {**settings, "guided_decoding_backend": "xgrammar"}
            self._guided = GuidedDecodingParams
        self._llm = LLM(**settings)
        self._params, self._request_error = SamplingParams, RequestError

    async def _answer(self, ask: dict[str, Any]) -> None:
        number = ask["id"]
        try:
            ids = prompt_ids(self._tokenizer, ask, self._context)
            self._requests.proxy.count(number, len(ids))
            limit = min(ask["max_tokens"], self._context - len(ids))
            answer = Answer(self._tokenizer, ask, self._ends, limit)
            result = self._llm.generate_async(ids, self._sampling(ask, limit), streaming=True)
            try:
                await self._read(result, number, answer)
            except asyncio.CancelledError:
                result.abort()
                raise
            if not result.finished:  # at a stop word
                result.abort()
        except (Refused, ValueError) as error:  # the LLM's own validation errors are ValueErrors
            self.proxy.refuse(number, Refused(str(error)))
        except self._request_error as error:  # of this request; the engine continues
            self.proxy.refuse(number, error)
        except Exception as error:  # of the engine, which shuts down before it raises one
            traceback.print_exc()
            die(f"TensorRT-LLM cannot go on: {error!r}")

    async def _read(self, result: Any, number: int, answer: Answer) -> None:
        async for output in result:
            (completion,) = output.outputs  # the new part is only known until the next one is read
            text = answer.take(completion.token_ids_diff)
            if output.finished and not answer.finish:
                text += answer.end(completion.finish_reason or "stop")
            self._requests.say(number, text, answer.tokens, answer.finish)
            if answer.finish:
                return

    def _sampling(self, ask: dict[str, Any], limit: int) -> Any:
        """Greedy is requested by ``top_k`` alone: 1.0 ignores a temperature of 0."""
        how = {"top_k": 1}
        if ask["temperature"] > 0:
            how = {"temperature": ask["temperature"], "top_p": ask["top_p"], "seed": ask["seed"]}
            how |= {"top_k": ask["top_k"]} if ask["top_k"] > 0 else {}
        if "json_schema" in ask:
            if self._guided is None:
                raise Refused("this engine decodes speculatively, and cannot guide an answer by a schema then")
            how["guided_decoding"] = self._guided(json=ask["json_schema"])
        return self._params(
            max_tokens=limit,
            end_id=self._ends[0] if self._ends else -1,
            stop_token_ids=[*self._ends[1:], *stop_ids(self._tokenizer, ask["stop"])] or None,
            detokenize=False,
            **how,
        )


def serve(settings: dict[str, Any]) -> None:
    """Load, then answer until the proxy exits."""
    if os.geteuid() == 0:
        os.environ.update(dict.fromkeys(AS_ROOT, "1"))
    loop = asyncio.new_event_loop()
    server = Server(loop)
    server.load(settings)
    server.proxy.ready()
    loop.run_forever()


if __name__ == "__main__":
    # MPI's workers import this file.
    try:
        serve(json.loads(sys.argv[1]))
    except Exception:
        traceback.print_exc()
        die("TensorRT-LLM could not be loaded")
