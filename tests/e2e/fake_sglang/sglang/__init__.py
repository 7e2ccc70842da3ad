"""A stand-in for SGLang, which needs a GPU: as much of its `Engine` as ``sglang_engine.py`` uses.

Made from the wheels of 0.5.15, 0.5.17 and 0.5.23: ``srt/entrypoints/engine.py``, ``srt/managers/tokenizer_manager.py``
(``generate_request``, ``_handle_batch_output``, ``abort_request``), ``srt/managers/scheduler.py``
(``init_req_max_new_tokens``, ``abort_request``), ``srt/constrained/grammar_manager.py`` (``process_req_with_grammar``)
and ``srt/sampling/sampling_params.py``. ``FAKE_SGLANG`` says which of
the three it is; names that this version does not have (``tests/stacks/sglang/contract.json``) are errors, as there.
It only streams, and only with SGLang's own tokenizer: ``output_ids`` are then as without it, and the text comes at the
end. The only answer that it knows to match a schema is an empty object.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

CONTRACT = Path(__file__).parents[3] / "stacks" / "sglang" / "contract.json"
__version__ = os.environ["FAKE_SGLANG"]
KNOWN = json.loads(CONTRACT.read_text(encoding="utf-8"))["versions"][__version__]
DIGITS = [ord(str(digit)) for digit in range(10)]
STEP_SECONDS = 0.002


def _check(name: str, given: dict[str, Any]) -> None:
    for key in given:
        if key not in KNOWN[name]:
            raise TypeError(f"{name}() got an unexpected keyword argument {key!r}")


class Engine:
    """Says the digits from 0 to 9, over and over, and prints what it is told."""

    def __init__(self, **kwargs: Any) -> None:
        _check("ServerArgs", kwargs)
        self._args = kwargs
        logging.basicConfig(level=kwargs.get("log_level", "error").upper(), stream=sys.stderr)
        logging.info("SGLang %s with %s", __version__, kwargs)
        self._running: dict[str, bool] = {}
        self.tokenizer_manager = SimpleNamespace(abort_request=self._abort)
        # The scheduler is a process of its own, which does not end by SIGTERM while it computes.
        sleep = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()"
        self._scheduler = subprocess.Popen([sys.executable, "-c", sleep])
        print(f"scheduler {self._scheduler.pid}", flush=True)

    async def async_generate(self, **given: Any) -> AsyncIterator[dict[str, Any]]:
        _check("Engine.async_generate", given)
        if given.get("stream") is not True or self._args.get("skip_tokenizer_init"):
            raise NotImplementedError("this stand-in only streams, with a tokenizer")
        return self._generate(given["input_ids"], given["sampling_params"], given["rid"])

    def _abort(self, rid: str = "", abort_all: bool = False) -> None:
        for running in self._running:
            if running.startswith(rid):
                self._running[running] = True
                print(f"request {running} aborted", flush=True)

    async def _generate(self, ids: list[int], sampling: dict[str, Any], rid: str) -> AsyncIterator[dict[str, Any]]:
        # The first request's loop is where answers are read, and its SIGTERM is SGLang's from then on.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: None)
        _check("SamplingParams", sampling)
        print(f"request {rid}: {len(ids)} tokens, {sampling}", flush=True)
        context, limit = self._args["context_length"], sampling["max_new_tokens"]
        if len(ids) + limit > context:
            raise ValueError(f"Requested token count exceeds the model's maximum context length of {context} tokens.")
        if sampling.get("stop"):
            raise NotImplementedError("this stand-in only stops at tokens")
        if not 0.0 < sampling["top_p"] <= 1.0 or (sampling["top_k"] < 1 and sampling["top_k"] != -1):
            raise ValueError("top_p must be in (0, 1]; top_k must be -1 or at least 1")
        self._running[rid] = False
        limit = max(0, min(limit, context - 1 - len(ids) - 1))
        output: list[int] = []
        finish = None
        while finish is None:
            await asyncio.sleep(STEP_SECONDS)
            finish = self._step(chr(ids[-1]), output, sampling, limit, rid)
            text = "".join(map(chr, output)) if finish else None
            yield {"text": text, "output_ids": output, "meta_info": {"id": rid, "finish_reason": finish}}
        del self._running[rid]

    def _step(
        self, last: str, output: list[int], sampling: dict[str, Any], limit: int, rid: str
    ) -> dict[str, Any] | None:
        """One token more, or what the prompt's last letter asks for; the finish reason as ``to_json`` writes it."""
        if self._running[rid]:
            return {"type": "abort", "message": "Aborted", "status_code": None, "err_type": None}
        if last == "?" and output:
            return {"type": "abort", "message": "this request is wrong", "status_code": 400, "err_type": "BadRequest"}
        if last == "%" and output:
            return {"type": "abort", "message": "no memory", "status_code": 500, "err_type": None}
        if last == "!" and output:  # a child that fails: SGLang ends its whole process tree
            os.kill(os.getpid(), signal.SIGKILL)
        if len(output) >= limit:
            return {"type": "length", "length": limit}
        if schema := sampling.get("json_schema"):
            return self._guided(json.loads(schema), output, sampling["stop_token_ids"][0])
        token = DIGITS[len(output) % 10]
        if last in ".," and len(output) == 2:
            token = sampling["stop_token_ids"][0 if last == "." else -1]
        output.append(token)
        if token in sampling.get("stop_token_ids", ()):
            return {"type": "stop", "matched": token}
        return {"type": "length", "length": limit} if len(output) == limit else None

    @staticmethod
    def _guided(schema: dict[str, Any], output: list[int], end: int) -> dict[str, Any] | None:
        """An empty object; a schema that XGrammar cannot compile ends the request before its first token."""
        if schema.get("type") != "object":
            message = "Failed to compile json grammar: Unsupported type"
            return {"type": "abort", "message": message, "status_code": 400, "err_type": "BadRequestError"}
        output.append((ord("{"), ord("}"), end)[len(output)])
        return {"type": "stop", "matched": end} if output[-1] == end else None
