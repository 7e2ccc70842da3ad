"""The requests of ``openai_shapes.py``, and the differences from vLLM's server that are meant."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from typing import Any

from tool_parsers import TOOL

MODEL = "shapes"
TEMPLATE = (
    "{%- if tools %}{{ '<|im_start|>system\\n<tools>' }}{% for tool in tools %}{{ tool | tojson }}{% endfor %}"
    '{{ \'</tools> Answer with <tool_call>{"name": ..., "arguments": ...}</tool_call><|im_end|>\\n\' }}{% endif %}'
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' }}{{ message['content'] or '' }}"
    "{% for call in message['tool_calls'] or [] %}{{ '<tool_call>' + (call['function'] | tojson) + '</tool_call>' }}"
    "{% endfor %}{{ '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
"""The demo's template (ChatML) with functions as the Hermes models have them."""
QUESTIONS = ("What is Triton?", "What is vLLM?", "What is tensor parallelism?", "Where am I?", "hello")
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 12}, "size": {"type": "integer"}},
    "required": ["name", "size"],
    "additionalProperties": False,
}
FORMATS: tuple[Any, ...] = (
    {"type": "text"},
    {"type": "json_object"},
    {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}},
    {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True}},
)
OTHER = {"type": "function", "function": {"name": "time", "parameters": {"type": "object", "properties": {}}}}
ENDING: dict[str, Any] = {"frequency_penalty": 2.0, "max_tokens": 200}
"""So that guided answers end: this model prefers line breaks for ever."""
NAMED = {"type": "function", "function": {"name": "weather"}}
HISTORY = [
    {"role": "user", "content": "What is the weather in Oslo?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "rain"},
]

EXPECTED = {
    "only here: .error.wizard_code": "our addition",
    "only vLLM: .detail": "its web framework's error; ours has OpenAI's shape for all",
    "only here: .error.message": "the same",
    "only here: .error.type": "the same",
    ".error.code": "vLLM's is the HTTP status, OpenAI's and ours a text",
    ".error.param": "only one of the two names the parameter",
    "only vLLM: .choices[].stop_reason": "vLLM's addition",
    "only vLLM: .choices[].token_ids": "vLLM's addition",
    "only vLLM: .system_fingerprint": "vLLM's fingerprint of its settings",
    "only vLLM: .usage.prompt_tokens_details": "cached tokens are not reported here",
    "only vLLM: .data[].": "vLLM describes its permissions",
    "only vLLM: .prompt_": "vLLM's addition",
    "only vLLM: .choices[].prompt_": "vLLM's addition",
    "only vLLM: .kv_transfer_params": "vLLM's addition",
}
"""Part of a row → why that is meant."""


@dataclass(frozen=True)
class Case:
    """A request.

    Attributes:
        name: Of the case.
        body: Its bytes.
        path: Its path.
        method: Of HTTP.
        greedy: Whether both should say the same.
        why: Why the two may differ in it.
    """

    name: str
    body: bytes | None
    path: str = "/v1/chat/completions"
    method: str = "POST"
    greedy: bool = False
    why: str = ""


def chat(name: str, why: str = "", **more: Any) -> Case:
    messages = [{"role": "user", "content": QUESTIONS[0]}]
    body = {"model": MODEL, "messages": messages, "temperature": 0, "top_p": 1, "max_tokens": 24, **more}
    greedy = body["temperature"] == 0
    return Case(name, json.dumps({k: v for k, v in body.items() if v is not ...}).encode(), greedy=greedy, why=why)


def completion(name: str, why: str = "", **more: Any) -> Case:
    body = {"model": MODEL, "prompt": "Triton is", "temperature": 0, "top_p": 1, **more}
    greedy = body["temperature"] == 0
    return Case(name, json.dumps(body).encode(), "/v1/completions", greedy=greedy, why=why)


def cases() -> list[Case]:
    """All requests: 200 or more."""
    made = [*good_chats(), *formats(), *tools(), *completions(), *bad_chats(), *bad_completions(), *others()]
    names = [case.name for case in made]
    assert len(made) >= 200, len(made)
    assert len(set(names)) == len(names), sorted(names)
    return made


def good_chats() -> list[Case]:
    made = []
    for stream, (number, question) in itertools.product((False, True), enumerate(QUESTIONS)):
        kind = "stream" if stream else "whole"
        asked: dict[str, Any] = {"messages": [{"role": "user", "content": question}], "stream": stream}
        usage = {"stream_options": {"include_usage": True}} if stream else {}
        made += [
            chat(f"{kind} {number}", **asked),
            chat(f"{kind} {number} usage", **asked, **usage, max_completion_tokens=24),
            chat(f"{kind} {number} short", **asked, max_tokens=3),
            chat(f"{kind} {number} stop", **asked, stop=["e", "zzz"]),
            chat(f"{kind} {number} stop text", **asked, stop=" "),
            chat(f"{kind} {number} seed", **asked, temperature=1.0, seed=number),
            chat(f"{kind} {number} n", **asked, temperature=1.0, n=3, **usage),
            chat(f"{kind} {number} logprobs", **asked, logprobs=True, max_tokens=4),
            chat(f"{kind} {number} top_logprobs", **asked, logprobs=True, top_logprobs=2, max_tokens=4),
            chat(f"{kind} {number} penalties", **asked, presence_penalty=0.5, frequency_penalty=-0.5),
            chat(f"{kind} {number} vllm", **asked, temperature=0.7, top_k=5, min_p=0.1, repetition_penalty=1.2),
        ]
    parts = [{"role": "user", "content": [{"type": "text", "text": "What is "}, {"type": "text", "text": "Triton?"}]}]
    made.append(chat("parts", messages=parts, why="vLLM puts a line break between the parts"))
    made.append(chat("system", messages=[{"role": "system", "content": "Be brief."}, *parts]))
    made.append(chat("n and logprobs", n=2, temperature=1.0, logprobs=True, top_logprobs=1))
    made.append(chat("unknown parameter", frobnicate=1))
    return made


def formats() -> list[Case]:
    made = []
    for stream, (number, form) in itertools.product((False, True), enumerate(FORMATS)):
        kind = "stream" if stream else "whole"
        made.append(chat(f"{kind} format {number}", response_format=form, stream=stream, **ENDING))
        made.append(
            chat(
                f"{kind} format {number} n", response_format=form, stream=stream, n=2, **{**ENDING, "temperature": 1.0}
            )
        )
    bad = ({"type": "xml"}, {"type": "json_schema"}, {"type": "json_schema", "json_schema": {"name": "x"}}, "json", {})
    made += [chat(f"bad format {number}", response_format=each) for number, each in enumerate(bad)]
    impossible = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "nothing"}}}
    made.append(chat("a schema that is none", response_format=impossible))
    return made


def tools() -> list[Case]:
    made = []
    choices: tuple[Any, ...] = (..., "none", "auto", "required", NAMED)
    for stream, (number, choice) in itertools.product((False, True), enumerate(choices)):
        kind = "stream" if stream else "whole"
        for given in ([TOOL], [TOOL, OTHER]):
            name = f"{kind} {len(given)} tools, choice {number}"
            made.append(chat(name, tools=given, tool_choice=choice, stream=stream, **ENDING))
        made.append(
            chat(
                f"{kind} history {number}", messages=HISTORY, tools=[TOOL], tool_choice=choice, stream=stream, **ENDING
            )
        )
    made.append(chat("one call", tools=[TOOL], tool_choice="required", parallel_tool_calls=False, **ENDING))
    made.append(chat("a choice without tools", tool_choice="required"))
    made.append(chat("another function", tools=[TOOL], tool_choice={"type": "function", "function": {"name": "x"}}))
    made.append(chat("a choice that is none", tools=[TOOL], tool_choice="sometimes"))
    made.append(chat("tools that are none", tools=[{"type": "function"}]))
    made.append(chat("tools as text", tools="weather"))
    made.append(chat("no tools", tools=[], why="vLLM refuses an empty list, OpenAI's clients send it"))
    return made


def completions() -> list[Case]:
    made = []
    for stream, (number, prompt) in itertools.product((False, True), enumerate(QUESTIONS)):
        kind = "stream" if stream else "whole"
        asked: dict[str, Any] = {"prompt": prompt, "stream": stream}
        made += [
            completion(f"{kind} completion {number}", **asked),
            completion(f"{kind} completion {number} stop", **asked, stop=["e"], max_tokens=24),
            completion(f"{kind} completion {number} n", **asked, n=2, temperature=1.0),
            completion(f"{kind} completion {number} logprobs", **asked, logprobs=2, max_tokens=4),
        ]
    made.append(completion("two prompts", prompt=["Triton", "vLLM"]))
    made.append(completion("two prompts streamed", prompt=["Triton", "vLLM"], stream=True))
    return made


def bad_chats() -> list[Case]:
    wrong: dict[str, dict[str, Any]] = {
        "no messages": {"messages": []},
        "messages as text": {"messages": "hello"},
        "no role": {"messages": [{"content": "x"}]},
        "temperature too high": {"temperature": 3},
        "temperature below 0": {"temperature": -1},
        "temperature as text": {"temperature": "warm"},
        "top_p 0": {"top_p": 0},
        "top_p above 1": {"top_p": 1.5},
        "max_tokens 0": {"max_tokens": 0},
        "max_tokens as text": {"max_tokens": "many"},
        "n 0": {"n": 0},
        "penalty": {"presence_penalty": 5},
        "top_logprobs alone": {"top_logprobs": 2},
        "top_logprobs too many": {"logprobs": True, "top_logprobs": 1000},
        "stream_options alone": {"stream_options": {"include_usage": True}},
        "another model": {"model": "nothing"},
        "too long": {"messages": [{"role": "user", "content": "long " * 3000}]},
        "stop as number": {"stop": 5},
    }
    meant = {
        "temperature too high": "OpenAI's range is 0 to 2",
        "max_tokens 0": "OpenAI needs 1 or more",
        "top_logprobs alone": "as OpenAI's",
    }
    made = [chat(name, meant.get(name, ""), **each) for name, each in wrong.items()]
    bodies = {"no JSON": b"{", "empty": b"", "not UTF-8": b'{"model": "\xff"}', "deep": b"[" * 50_000}
    made += [Case(f"body: {name}", body) for name, body in bodies.items()]
    made.append(Case("body: a list", b"[]", why="vLLM 0.26 fails with status 500"))
    why = "at most 32 stop texts: each is searched in every piece"
    made.append(chat("10,000 stop words", why, stop=[f"w{number}" for number in range(10_000)]))
    return made


def bad_completions() -> list[Case]:
    return [
        completion("no prompt", "as OpenAI's", prompt=""),
        completion("prompt as number", prompt=5),
        completion("completion max_tokens", "OpenAI needs 1 or more", max_tokens=0),
        completion("completion logprobs too many", logprobs=1000),
        completion("token IDs", "only texts here", prompt=[5, 6, 7]),
        completion("echo", "not supported here", echo=True),
        completion("suffix", suffix="x"),
    ]


def others() -> list[Case]:
    return [
        Case("models", None, "/v1/models", "GET"),
        Case("health", None, "/health", "GET", why="vLLM's has no body"),
        Case("no path", None, "/v1/nothing", "GET"),
        Case("wrong method", None, "/v1/chat/completions", "GET"),
        Case("embeddings", b'{"model": "shapes", "input": "x"}', "/v1/embeddings"),
    ]
