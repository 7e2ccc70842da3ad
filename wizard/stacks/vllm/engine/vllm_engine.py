"""vLLM (0.9 or newer) as an engine behind ``proxy_model.py``.

    python vllm_engine.py '{"model": "/models/x", "max_model_len": 4096}'

The argument is JSON: the fields of vLLM's ``AsyncEngineArgs``. vLLM batches continuously; this program only passes
messages.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
import traceback
from collections.abc import Callable
from typing import Any

from engine_process import Refused, Requests, ToolCalls, die, keeps_special, prompt_ids, stop_ids

MORE = ("min_p", "repetition_penalty", "presence_penalty", "frequency_penalty", "logprobs")
"""Set only if a request has them."""


def _logprobs(places: Any, alternatives: int) -> list[Any]:
    """For each token its text, its log probability and the most likely alternatives; the chosen token is the first at
    its position.
    """
    rows = []
    for place in places:
        tokens = [(entry.decoded_token or "", entry.logprob) for entry in place.values()]
        top = sorted(tokens, key=lambda token: token[1], reverse=True)[:alternatives]
        rows.append((*tokens[0], top))
    return rows


def _tokens_input() -> Callable[[list[int]], Any]:
    """The function for token prompts: other prompts than engine inputs are deprecated (vLLM's
    v1/engine/input_processor.py).
    """
    try:
        from vllm.inputs import tokens_input
    except ImportError:  # older releases lack the function
        return lambda ids: {"prompt_token_ids": ids}
    made: Callable[[list[int]], Any] = tokens_input
    return made


def _guided(schema: dict[str, Any]) -> dict[str, Any]:
    """The sampling parameter for answers that match ``schema``."""
    from vllm import sampling_params

    if hasattr(sampling_params, "StructuredOutputsParams"):
        return {"structured_outputs": sampling_params.StructuredOutputsParams(json=schema)}
    return {"guided_decoding": sampling_params.GuidedDecodingParams(json=schema)}  # before 0.11


def _parser(tokenizer: Any, given: dict[str, Any]) -> Callable[[str], tuple[str, list[Any]]]:
    """vLLM's parser for calls of functions (read in the wheels of 0.26.0 and 0.31.0).

    Raises:
        Refused: This release lacks it, or rejects the functions.
    """
    try:
        try:
            from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
            from vllm.tool_parsers import ToolParserManager
        except ImportError:  # older releases
            from vllm.entrypoints.openai.protocol import ChatCompletionRequest
            from vllm.entrypoints.openai.tool_parsers import ToolParserManager
        made = ToolParserManager.get_tool_parser(given["parser"])
    except (ImportError, KeyError) as error:
        raise Refused(f"this vLLM cannot read the calls of this model: {error}") from error
    request = ChatCompletionRequest(model="", messages=[], tools=given["tools"])
    tools = (request.tools,) if "tools" in inspect.signature(made).parameters else ()
    parser = made(tokenizer, *tools)

    def parse(text: str) -> tuple[str, list[Any]]:
        read = parser.extract_tool_calls(text, request=request)
        return read.content or "", [(call.function.name, call.function.arguments) for call in read.tool_calls]

    return parse


class Server:
    """Runs in a single event loop, which vLLM's frontend shares; vLLM aborts a request whose reader is cancelled."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._requests = Requests(loop, self._answer)
        self.proxy = self._requests.proxy

    async def load(self, settings: dict[str, Any]) -> None:
        """Load the model; takes a minute or more."""
        from vllm.engine.arg_utils import AsyncEngineArgs
        from vllm.v1.engine.async_llm import AsyncLLM

        self._prompt = _tokens_input()
        self._engine = AsyncLLM.from_engine_args(AsyncEngineArgs(**settings))
        tokenizer = self._engine.get_tokenizer()  # awaitable before 0.12
        self._tokenizer: Any = await tokenizer if inspect.isawaitable(tokenizer) else tokenizer
        self._context = int(self._engine.model_config.max_model_len)

    async def _answer(self, ask: dict[str, Any]) -> None:
        number, tokens = ask["id"], 0
        try:
            ids = prompt_ids(self._tokenizer, ask, self._context)
            self._requests.proxy.count(number, len(ids))
            tools = ToolCalls(ask["tools"], _parser(self._tokenizer, ask["tools"])) if "tools" in ask else None
            async for output in self._engine.generate(self._prompt(ids), self._sampling(ask, len(ids)), str(number)):
                (completion,) = output.outputs
                tokens += len(completion.token_ids)
                finish, text, calls = completion.finish_reason or "", completion.text, []
                if tools:
                    text, calls = tools.take(text, bool(finish))
                reported = completion.logprobs and "logprobs" in ask
                logprobs = _logprobs(completion.logprobs, ask["logprobs"]) if reported else []
                self._requests.say(number, text, tokens, finish, logprobs, calls)
        except (Refused, ValueError) as error:  # vLLM's own validation errors are ValueErrors
            self.proxy.refuse(number, Refused(str(error)))
        except Exception as error:
            traceback.print_exc()
            if self._engine.errored:
                die(f"vLLM cannot go on: {error!r}")
            self.proxy.refuse(number, error)

    def _sampling(self, ask: dict[str, Any], prompt: int) -> Any:
        from vllm.sampling_params import RequestOutputKind, SamplingParams

        return SamplingParams(
            max_tokens=min(ask["max_tokens"], self._context - prompt),
            temperature=ask["temperature"],
            top_p=ask["top_p"],
            top_k=ask["top_k"],
            seed=ask["seed"],
            stop=ask["stop"],
            stop_token_ids=stop_ids(self._tokenizer, ask["stop"]),
            output_kind=RequestOutputKind.DELTA,
            skip_special_tokens=not keeps_special(self._tokenizer, ask),
            **{name: ask[name] for name in MORE if name in ask},
            **(_guided(ask["json_schema"]) if "json_schema" in ask else {}),
        )


async def serve(settings: dict[str, Any]) -> None:
    """Load, then answer until the proxy exits."""
    server = Server(asyncio.get_running_loop())
    await server.load(settings)
    server.proxy.ready()
    await asyncio.Event().wait()


if __name__ == "__main__":
    # vLLM spawns its workers if CUDA is already in use, and they import this file.
    try:
        asyncio.run(serve(json.loads(sys.argv[1])))
    except Exception:
        traceback.print_exc()
        die("vLLM could not be loaded")
