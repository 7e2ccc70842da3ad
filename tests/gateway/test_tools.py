"""Several answers, answers that match a schema, and calls of functions, with the real llama.cpp behind the address."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from typing import Any

import openai
import pytest

from tests.chain_model import CHAT, CYCLE, CYCLE_TOKENS
from tests.gateway.conftest import Address
from tests.gateway.test_answers import create
from wizard.chat.ask import Ask, Piece, ToolCall, whole_calls
from wizard.chat.served import ServedModel
from wizard.gateway.answers import Answer
from wizard.gateway.faults import Fault
from wizard.gateway.reasoning import split, splitter_of
from wizard.gateway.tools import NamedChoice, Tool, Tools, called, tools_of

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("gateway")]
CITY = {"type": "string", "enum": ["Oslo"]}
PARAMETERS = {"type": "object", "properties": {"city": CITY}, "required": ["city"], "additionalProperties": False}
WEATHER = {"type": "function", "function": {"name": "weather", "description": "Now.", "parameters": PARAMETERS}}
QUESTION = {"role": "user", "content": "Is it raining in Oslo?"}
# The model prefers a line break to all else where a schema allows it; the penalty ends that.
GUIDED: dict[str, Any] = {"max_tokens": 120, "frequency_penalty": 2.0}


@pytest.fixture
def tools(start: Callable[[str], Address]) -> Address:
    return start("tools")


def asked(address: Address, **more: Any) -> Any:
    return create(address, **{"model": "tools", "messages": [QUESTION], "tools": [WEATHER], "max_tokens": 60, **more})


def test_several_answers(chain: Address) -> None:
    whole = create(chain, n=3)
    assert [(each.index, each.message.content, each.finish_reason) for each in whole.choices] == [
        (index, CYCLE, "length") for index in range(3)
    ]
    assert whole.usage.completion_tokens == 3 * CYCLE_TOKENS
    assert whole.usage.prompt_tokens == create(chain).usage.prompt_tokens
    *events, last = create(chain, n=3, stream=True, stream_options={"include_usage": True})
    texts = dict.fromkeys(range(3), "")
    for choice in (choice for event in events for choice in event.choices):
        texts[choice.index] += choice.delta.content or ""
    assert texts == dict.fromkeys(range(3), CYCLE)
    assert last.usage == whole.usage


def test_answers_to_one_prompt_have_seeds_of_their_own(chain: Address) -> None:
    given: dict[str, Any] = {"model": "chain", "prompt": "a!", "max_tokens": 1, "seed": 7, "top_p": 1, "temperature": 1}
    texts = [[each.text for each in chain.client().completions.create(**given, n=12).choices] for _ in range(2)]
    assert set(texts[0]) == {"m", "n"}
    assert texts[0] == texts[1]


def test_several_prompts(chain: Address) -> None:
    given: dict[str, Any] = {"model": "chain", "prompt": ["a\n", "b?"], "temperature": 0, "max_tokens": 3}
    answer = chain.client().completions.create(**given, n=2)
    assert [(each.index, each.text[:3]) for each in answer.choices] == [(0, "Hi "), (1, "Hi "), (2, "yes"), (3, "yes")]
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (4, 12)


def test_an_error_of_one_answer_is_that_of_all(chain: Address) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        chain.client().completions.create(model="chain", prompt=["a\n", "long " * 20_000], max_tokens=16_000)
    assert caught.value.code == "context_length_exceeded"


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_matches_a_schema(chain: Address, stream: bool) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "place", "schema": PARAMETERS, "strict": True}}
    answer = create(chain, response_format=form, stream=stream, **GUIDED)
    events = list(answer) if stream else [answer]
    text = "".join((event.choices[0].delta if stream else event.choices[0].message).content or "" for event in events)
    assert json.loads(text) == {"city": "Oslo"}
    assert events[-1].choices[0].finish_reason == "stop"


def test_any_json_object(chain: Address) -> None:
    answer = create(chain, response_format={"type": "json_object"}, **GUIDED)
    assert answer.choices[0].message.content.startswith("{")


@pytest.mark.parametrize("stream", [False, True])
def test_a_schema_that_the_engine_rejects_is_an_error_of_the_client(chain: Address, stream: bool) -> None:
    """llama.cpp itself would answer without it."""
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"$ref": "#/nowhere"}}}
    with pytest.raises(openai.BadRequestError, match="json_schema"):
        list(create(chain, response_format=form, stream=stream))
    assert create(chain).choices


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("choice", "finish"),
    [
        ("auto", "tool_calls"),
        ("required", "tool_calls"),
        ({"type": "function", "function": {"name": "weather"}}, "stop"),
    ],
)
def test_a_call_of_a_function(tools: Address, choice: Any, finish: str, stream: bool) -> None:
    """By llama.cpp's own parser, or guided by a schema; the shape is that of OpenAI's own types."""
    answer = asked(tools, tool_choice=choice, stream=stream, **({} if choice == "auto" else GUIDED))
    if stream:
        choices = [event.choices[0] for event in answer]
        call, *more = [call for each in choices for call in each.delta.tool_calls or ()]
        assert more  # as it is written
        assert all((each.index, each.id, each.type, each.function.name) == (0, None, None, None) for each in more)
        assert (call.index, "".join(each.delta.content or "" for each in choices)) == (0, "")
        call.function.arguments += "".join(each.function.arguments for each in more)
        reason = choices[-1].finish_reason
    else:
        (call,) = answer.choices[0].message.tool_calls
        assert answer.choices[0].message.content is None
        reason = answer.choices[0].finish_reason
    assert (call.type, call.function.name) == ("function", "weather")
    assert json.loads(call.function.arguments) == {"city": "Oslo"}
    assert call.id.startswith("call_")
    assert reason == finish


def test_the_result_of_a_function_is_read(tools: Address) -> None:
    message = asked(tools).choices[0].message
    result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "rain"}
    answer = asked(tools, messages=[QUESTION, message.model_dump(exclude_none=True), result], max_tokens=CYCLE_TOKENS)
    assert (answer.choices[0].message.content, answer.choices[0].message.tool_calls) == (CYCLE, None)
    plain = asked(tools, messages=[QUESTION], tools=[], max_tokens=CYCLE_TOKENS)
    assert plain.usage.prompt_tokens < answer.usage.prompt_tokens


def test_no_function_may_be_called(tools: Address) -> None:
    answer = asked(tools, tool_choice="none", max_tokens=CYCLE_TOKENS)
    assert answer.choices[0].message.content == CYCLE


def test_a_model_with_a_gate_is_not_guided(start: Callable[[str], Address]) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        create(start("gated"), model="gated", response_format={"type": "json_object"})
    assert caught.value.param == "response_format"


@pytest.mark.parametrize("size", [1, 3, 100])
async def test_a_thought_is_apart_from_the_answer(size: int) -> None:
    """Written as vLLM does it: ``reasoning_content`` in deltas and messages."""
    chat = replace(CHAT, template="{{ messages }}<think></think>")
    served = ServedModel("m", chat, (), None, None)
    text = "<think>\nA city.\n</think>\n\nOslo."

    async def pieces() -> AsyncGenerator[Piece, None]:
        for place in range(0, len(text), size):
            yield Piece(text[place : place + size], 5, "stop" if place + size >= len(text) else "", (), 3)

    for prompt, schema, expected in (("Q", None, ("A city.", "Oslo.")), ("Q", "{}", ("", text))):
        ask = Ask("m", prompt, 9, None, 0.9, None, json_schema=schema)
        splitter = splitter_of(ask, served)
        apart = [(0, each) async for each in (split(pieces(), splitter) if splitter else pieces())]
        message = Answer("chat", "m").whole(apart)["choices"][0]["message"]
        assert (message.get("reasoning_content", ""), message["content"]) == expected
        answer = Answer("chat", "m")
        events = b"".join(answer.take(index, piece) for index, piece in apart).decode().split("\n\n")[:-1]
        deltas = [json.loads(event.removeprefix("data: "))["choices"][0]["delta"] for event in events]
        streamed = tuple("".join(delta.get(name, "") for delta in deltas) for name in ("reasoning_content", "content"))
        assert streamed == expected


def test_definitions_of_functions_are_at_the_root_where_references_look() -> None:
    place = {"type": "object", "properties": {"at": {"$ref": "#/$defs/Place"}}, "$defs": {"Place": {"type": "string"}}}
    other = {**place, "$defs": {"Place": {"type": "number"}}}

    def functions(*schemas: Any) -> list[Tool]:
        named = [{"name": f"f{number}", "parameters": schema} for number, schema in enumerate(schemas)]
        return [Tool.model_validate({"type": "function", "function": each}) for each in named]

    tools = tools_of(functions(place, place), "required", None)
    assert tools is not None
    schema = json.loads(tools.schema or "")
    assert schema["$defs"] == place["$defs"]
    assert [item["properties"]["name"]["enum"] for item in schema["items"]["anyOf"]] == [["f0"], ["f1"]]
    assert all("$defs" not in item["properties"]["parameters"] for item in schema["items"]["anyOf"])
    with pytest.raises(Fault, match="Place differently"):
        tools_of(functions(place, other), "required", None)


@pytest.mark.parametrize(("parallel", "names"), [(True, ["a", "b"]), (False, ["a"])])
async def test_only_one_call_if_the_client_wants_one(parallel: bool, names: list[str]) -> None:
    async def pieces() -> AsyncGenerator[Piece, None]:
        yield Piece("Well", 1, "")
        yield Piece("", 2, "stop", calls=(ToolCall("a", "{}"), ToolCall("b", "{}")))

    first, last = [piece async for piece in called(pieces(), Tools((), None, parallel, None))]
    assert (first.text, [call.name for call in last.calls], last.finish) == ("Well", names, "tool_calls")


async def test_required_calls_that_were_cut_are_a_text() -> None:
    async def pieces() -> AsyncGenerator[Piece, None]:
        yield Piece('[{"name": "a", ', 1, "")
        yield Piece('"param', 2, "length")

    first, last = [piece async for piece in called(pieces(), Tools((), None, True, "{}"))]
    assert (first.text, first.calls) == ("", ())
    assert (last.text, last.calls, last.finish) == ('[{"name": "a", "param', (), "length")


@pytest.mark.parametrize("name", ["required", "auto"])
async def test_a_function_may_have_the_name_of_a_choice(name: str) -> None:
    tool = Tool.model_validate({"type": "function", "function": {"name": name}})
    choice = NamedChoice.model_validate({"type": "function", "function": {"name": name}})
    tools = tools_of([tool], choice, None)
    assert tools is not None

    async def pieces() -> AsyncGenerator[Piece, None]:
        yield Piece('{"a": ', 1, "")
        yield Piece("1}", 2, "stop")

    first, last = [piece async for piece in called(pieces(), tools)]
    assert (first.text, first.calls) == ("", (ToolCall(name, '{"a": '),))
    assert (last.text, last.calls, last.finish) == ("", (ToolCall("", "1}"),), "stop")


@pytest.mark.parametrize("size", [1, 5, 1000])
async def test_required_calls_come_as_they_are_written(size: int) -> None:
    text = '[{"name": "a", "parameters": {"x": [1, {"y": "]}"}]}},\n {"name": "b", "parameters": {}}]'

    async def pieces() -> AsyncGenerator[Piece, None]:
        for place in range(0, len(text), size):
            yield Piece(text[place : place + size], 5, "stop" if place + size >= len(text) else "", (), 3)

    for parallel, names in ((True, ["a", "b"]), (False, ["a"])):
        given = [piece async for piece in called(pieces(), Tools((), None, parallel, "{}"))]
        assert [(call.name, json.loads(call.arguments)) for call in whole_calls(given)] == [
            (name, {"a": {"x": [1, {"y": "]}"}]}, "b": {}}[name]) for name in names
        ]
        assert ("".join(piece.text for piece in given), given[-1].finish) == ("", "tool_calls")
        assert (len([piece for piece in given if piece.calls]) > len(names)) == (size < 1000)
