"""What the engine program of vLLM reads with vLLM's own parsers: ``python tool_parsers.py TOKENIZER_FOLDER``.

Needs vLLM and no GPU. Prints JSON: way of writing calls → the text and the calls that were read, or an error's text.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

WIZARD = Path(__file__).resolve().parents[2] / "wizard"
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather in a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "enum": ["Oslo", "Rome"]}},
            "required": ["city"],
        },
    },
}
READ: list[Any] = ["weather", {"city": "Oslo"}]
SAMPLES = {
    "hermes": '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>',
    "qwen3_coder": "<tool_call>\n<function=weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>",
    "llama3_json": '{"name": "weather", "parameters": {"city": "Oslo"}}',
    "mistral": '[TOOL_CALLS][{"name": "weather", "arguments": {"city": "Oslo"}}]',
    "glm45": "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>",
    "deepseek_v3": (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n"
        '{"city": "Oslo"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
    ),
}
"""Parser of vLLM → an answer as its models write it (chat templates of the families; vLLM's docstrings)."""
TOKENS = (
    *("<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"),
    *("<|python_tag|>", "[TOOL_CALLS]", "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
    *("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>"),
)
"""Parsers look for the tokens of their families."""


def main(folder: str) -> dict[str, Any]:
    """Each sample, read as the engine program does."""
    sys.path[:0] = [str(WIZARD / "repository"), str(WIZARD / "stacks" / "vllm" / "engine")]
    import vllm_engine
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(list(TOKENS))
    read: dict[str, Any] = {}
    for name, sample in SAMPLES.items():
        try:
            text, calls = vllm_engine._parser(tokenizer, {"parser": name, "tools": [TOOL]})(sample)
            read[name] = [text, [[function, json.loads(arguments)] for function, arguments in calls]]
        except Exception as error:
            read[name] = repr(error)
    return read


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))
