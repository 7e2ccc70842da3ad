"""The engine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from types import SimpleNamespace
from typing import Any

from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.sampling_params import RequestOutputKind, SamplingParams

CALL = ("<tool_call>\n", '{"name": "weather", "argu', 'ments": {"city": ', '"Oslo"}', "}\n</tool_call>")
"""As the Hermes models write it."""


class AsyncLLM:
    """Says the numbers from 0 on, one a step; ``!`` as the last letter of the prompt kills it after two. A prompt with
    the function ``weather`` has a call instead of the 5.
    """

    def __init__(self, args: AsyncEngineArgs) -> None:
        self.model_config = SimpleNamespace(max_model_len=args.max_model_len)
        self.errored = False
        self._args = args

    @classmethod
    def from_engine_args(cls, args: AsyncEngineArgs) -> AsyncLLM:
        return cls(args)

    def get_tokenizer(self) -> Any:
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(self._args.model)

    def _prompt(self, prompt: dict[str, Any]) -> str:
        return bytes(each for each in prompt["prompt_token_ids"] if each < 256).decode(errors="replace")

    async def generate(
        self, prompt: dict[str, Any], sampling_params: SamplingParams, request_id: str
    ) -> AsyncGenerator[Any, None]:
        assert sampling_params.output_kind is RequestOutputKind.DELTA
        assert isinstance(request_id, str)
        print(f"request {request_id}: {sampling_params}", flush=True)
        if "type" not in prompt:  # as v1/engine/input_processor.py of 0.31.0
            print("Passing raw prompts to InputProcessor is deprecated", flush=True)
        try:
            for number in range(sampling_params.max_tokens):
                await asyncio.sleep(0.002)
                if prompt["prompt_token_ids"][-1] == ord("!") and number == 2:
                    self.errored = True
                    raise RuntimeError("EngineDeadError")
                last = number + 1 == sampling_params.max_tokens
                finish = "length" if last else None
                text = "<tool_call>" if number == 5 and "weather" in self._prompt(prompt) else f"{number} "
                if "in JSON" in self._prompt(prompt):
                    text = CALL[number] if number < len(CALL) else ""
                output = SimpleNamespace(text=text, token_ids=[number], finish_reason=finish, logprobs=None)
                if sampling_params.logprobs is not None:
                    others = range(1, 1 + sampling_params.logprobs)
                    place = {number: SimpleNamespace(logprob=-0.5, rank=1, decoded_token=f"{number} ")}
                    place |= {
                        1000 + n: SimpleNamespace(logprob=-0.5 - n, rank=1 + n, decoded_token=None) for n in others
                    }
                    output.logprobs = [place]
                yield SimpleNamespace(outputs=[output], finished=last)
        except (asyncio.CancelledError, GeneratorExit):
            print(f"request {request_id} aborted", flush=True)
            raise
