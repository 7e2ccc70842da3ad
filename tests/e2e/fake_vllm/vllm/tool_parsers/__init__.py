"""One parser, of the numbers that this stand-in says; vLLM 0.31.0: tool_parsers/abstract_tool_parser.py."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest


class Numbers:
    """What follows the mark of a call is the argument, unless it is a call as the Hermes models write it."""

    def __init__(self, tokenizer: Any, tools: list[Any] | None = None) -> None:
        assert tokenizer.get_vocab()
        self._name = (tools or [])[0]["function"]["name"]

    def extract_tool_calls(self, model_output: str, request: ChatCompletionRequest) -> Any:
        assert request.tools
        _, mark, rest = model_output.partition("<tool_call>")
        arguments = {"rest": rest.strip()}
        if rest.startswith("\n{"):
            arguments = json.loads(rest.removesuffix("</tool_call>"))["arguments"]
        call = SimpleNamespace(function=SimpleNamespace(name=self._name, arguments=json.dumps(arguments)))
        return SimpleNamespace(tools_called=bool(mark), tool_calls=[call] if mark else [], content=None)


class ToolParserManager:
    """Parsers by name."""

    @classmethod
    def get_tool_parser(cls, name: str) -> type[Numbers]:
        return {"hermes": Numbers}[name]
