"""SGLang (0.5.15 or newer) as an engine behind ``proxy_model.py``.

    python sglang_engine.py '{"model_path": "/models/x", "context_length": 4096}'

The argument is JSON: fields of SGLang's ``ServerArgs``, of which these two are needed here. SGLang does its own
batching and starts its scheduler as a separate process; this program only passes messages. The API that it calls was
read in the wheels of 0.5.15, 0.5.17 and 0.5.23 (``srt/entrypoints/engine.py``, ``srt/managers/tokenizer_manager.py``,
``srt/sampling/sampling_params.py``); 0.5.17 was run on H200s (2026-11-22).

Input and output are tokens: text that SGLang streams may contain the beginning of a stop word that it retracts at the
end. SGLang has its own tokenizer all the same, since it builds grammars for guided answers only with one
(``srt/constrained/grammar_manager.py``: none with ``skip_tokenizer_init``).
"""

from __future__ import annotations

import asyncio
import json
import sys
import traceback
from collections.abc import Callable
from typing import Any

from engine_process import Answer, Refused, Requests, ToolCalls, die, end_ids, prompt_ids, stop_ids

BAD_REQUEST = 400
"""``status_code`` of an abort caused by the request itself."""


def _rid(number: int) -> str:
    """A request ID for SGLang, which aborts all IDs with a given prefix: 1 would match 10 too."""
    return f"{number}."


def _parser(given: dict[str, Any]) -> Callable[[str], tuple[str, list[Any]]]:
    """SGLang's parser for calls of functions (read in the wheel of 0.5.17).

    Raises:
        Refused: This release lacks it.
        ValueError: It rejects the functions.
    """
    try:
        from sglang.srt.entrypoints.openai.protocol import Tool
        from sglang.srt.function_call.function_call_parser import FunctionCallParser
    except ImportError as error:
        raise Refused(f"this SGLang cannot read the calls of this model: {error}") from error
    parser = FunctionCallParser([Tool(**tool) for tool in given["tools"]], given["parser"])

    def parse(text: str) -> tuple[str, list[Any]]:
        rest, calls = parser.parse_non_stream(text)
        return rest, [(call.name, call.parameters) for call in calls]

    return parse


class Server:
    """Runs in a single event loop, which must be running when a request begins: SGLang reads its answers in it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._requests = Requests(loop, self._answer)
        self.proxy = self._requests.proxy

    def load(self, settings: dict[str, Any]) -> None:
        """Load the model; takes a minute or more."""
        from sglang import Engine
        from transformers import AutoTokenizer

        self._context = int(settings["context_length"])
        self._tokenizer: Any = AutoTokenizer.from_pretrained(settings["model_path"])
        # SGLang has its own list of them, and the last token of an answer may be one.
        self._ends = end_ids(self._tokenizer, settings["model_path"])
        self._engine = Engine(**settings)

    async def warm_up(self) -> None:
        """Sample a token: at its first request, SGLang compiles its sampling kernels (84 s on one H200, 99 on two)."""
        sampling = {"max_new_tokens": 1, "temperature": 0.7, "top_p": 0.95, "top_k": 40}
        stream = await self._engine.async_generate(input_ids=[0], sampling_params=sampling, stream=True, rid="warm-up")
        async for _ in stream:
            pass

    async def _answer(self, ask: dict[str, Any]) -> None:
        number = ask["id"]
        try:
            ids = prompt_ids(self._tokenizer, ask, self._context)
            self._requests.proxy.count(number, len(ids))
            limit = min(ask["max_tokens"], self._context - len(ids))
            answer = Answer(self._tokenizer, ask, self._ends, limit)
            tools = ToolCalls(ask["tools"], _parser(ask["tools"])) if "tools" in ask else None
            stream = await self._engine.async_generate(
                input_ids=ids, sampling_params=self._sampling(ask, limit), stream=True, rid=_rid(number)
            )
            await self._read(stream, number, answer, tools)
        except (Refused, ValueError) as error:  # SGLang's own validation errors are ValueErrors
            self.proxy.refuse(number, Refused(str(error)))
        except Exception as error:  # if SGLang itself cannot continue, it ends this process
            traceback.print_exc()
            self.proxy.refuse(number, error)

    async def _read(self, stream: Any, number: int, answer: Answer, tools: ToolCalls | None) -> None:
        seen, over = 0, False
        try:
            async for output in stream:
                tokens = output["output_ids"][seen:]  # all tokens so far
                seen += len(tokens)
                reason = output["meta_info"]["finish_reason"]
                over = reason is not None
                if over and reason["type"] == "abort":
                    kind = Refused if reason.get("status_code") == BAD_REQUEST else RuntimeError
                    raise kind(reason.get("message") or "SGLang aborted the request")
                text = answer.take(tokens)
                if over and not answer.finish:
                    text += answer.end("length" if reason["type"] == "length" else "stop")
                calls: list[Any] = []
                if tools:
                    text, calls = tools.take(text, bool(answer.finish))
                self._requests.say(number, text, answer.tokens, answer.finish, [], calls)
                if answer.finish:
                    return
        finally:
            if not over:  # cancelled, or at a stop word
                self._engine.tokenizer_manager.abort_request(rid=_rid(number))

    def _sampling(self, ask: dict[str, Any], limit: int) -> dict[str, Any]:
        return {
            "max_new_tokens": limit,
            "temperature": ask["temperature"],
            "top_p": ask["top_p"],
            "top_k": ask["top_k"] if ask["top_k"] > 0 else -1,
            "sampling_seed": ask["seed"],  # SGLang uses it only with enable_deterministic_inference
            "stop_token_ids": [*self._ends, *stop_ids(self._tokenizer, ask["stop"])],
            **({"json_schema": json.dumps(ask["json_schema"])} if "json_schema" in ask else {}),
        }


def serve(settings: dict[str, Any]) -> None:
    """Load and warm up, then answer until the proxy exits."""
    loop = asyncio.new_event_loop()
    server = Server(loop)
    server.load(settings)
    loop.run_until_complete(server.warm_up())
    server.proxy.ready()
    loop.run_forever()


if __name__ == "__main__":
    # SGLang spawns its processes, and they import this file.
    try:
        serve(json.loads(sys.argv[1]))
    except Exception:
        traceback.print_exc()
        die("SGLang could not be loaded")
