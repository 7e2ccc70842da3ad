"""Anthropic's Messages API. The shapes are those that the client of PyPI's ``anthropic`` 2.12.0 read without a
complaint from this server, whole and streamed (2026-11-23).
"""

from __future__ import annotations

import http.client
import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.chain_model import CYCLE, CYCLE_TOKENS
from tests.gateway.conftest import SECONDS, Address
from tests.gateway.test_tools import PARAMETERS
from wizard.chat.ask import Piece, ToolCall
from wizard.gateway import messages
from wizard.gateway.faults import Fault

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("gateway")]
BODY: dict[str, Any] = {
    "model": "chain",
    "max_tokens": CYCLE_TOKENS,
    "temperature": 0,
    "messages": [{"role": "user", "content": [{"type": "text", "text": "What is Triton?"}]}],
}


def post(address: Address, **changes: Any) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=SECONDS)
    body = json.dumps({**BODY, **changes})
    connection.request("POST", messages.PATH, body, {"x-api-key": "x", "anthropic-version": "2023-06-01"})
    answer = connection.getresponse()
    status, data = answer.status, answer.read()
    connection.close()
    return status, data


def test_a_whole_message(chain: Address) -> None:
    status, data = post(chain, system="Be brief.", top_k=1, metadata={"user_id": "me"})
    message = json.loads(data)
    assert status == 200
    assert (message["type"], message["role"], message["model"]) == ("message", "assistant", "chain")
    assert message["content"] == [{"type": "text", "text": CYCLE}]
    assert (message["stop_reason"], message["stop_sequence"]) == ("max_tokens", None)
    assert message["usage"]["output_tokens"] == CYCLE_TOKENS
    shorter = json.loads(post(chain, top_k=1)[1])
    assert message["usage"]["input_tokens"] > shorter["usage"]["input_tokens"] > 0


def test_a_stream_is_the_same_message_in_events(chain: Address) -> None:
    _, data = post(chain, stream=True)
    events = [each.split("\n") for each in data.decode().strip().split("\n\n")]
    read = [json.loads(line.removeprefix("data: ")) for _, line in events]
    assert [name.removeprefix("event: ") for name, _ in events] == [each["type"] for each in read]
    kinds = [each["type"] for each in read]
    assert kinds[:2] == ["message_start", "content_block_start"]
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert set(kinds[2:-3]) == {"content_block_delta"}
    assert "".join(each["delta"]["text"] for each in read[2:-3]) == CYCLE
    started, stopped = read[0]["message"], read[-2]
    assert (started["content"], started["stop_reason"]) == ([], None)
    assert stopped["delta"]["stop_reason"] == "max_tokens"
    assert stopped["usage"] == json.loads(post(chain)[1])["usage"]


def test_a_stop_sequence_ends_it(chain: Address) -> None:
    message = json.loads(post(chain, stop_sequences=[CYCLE[3:5]])[1])
    assert (message["content"][0]["text"], message["stop_reason"]) == (CYCLE[: CYCLE.index(CYCLE[3:5])], "end_turn")


@pytest.mark.parametrize(
    ("changes", "status", "kind", "code"),
    [
        ({"model": "another"}, 404, "not_found_error", "TW-G05"),
        ({"max_tokens": 0}, 400, "invalid_request_error", "TW-G03"),
        ({"max_tokens": None}, 400, "invalid_request_error", "TW-G03"),
        ({"messages": []}, 400, "invalid_request_error", "TW-G03"),
        ({"messages": [{"role": "system", "content": "x"}]}, 400, "invalid_request_error", "TW-G03"),
        ({"messages": [{"role": "user", "content": [{"type": "image"}]}]}, 400, "invalid_request_error", "TW-G04"),
        ({"tools": [{"name": "f", "input_schema": {}}]}, 400, "invalid_request_error", "TW-G04"),
        ({"tools": [{"name": "f"}]}, 400, "invalid_request_error", "TW-G03"),
        ({"tools": [{"type": "bash_20250124", "name": "bash"}]}, 400, "invalid_request_error", "TW-G03"),
        ({"tool_choice": {"type": "any"}}, 400, "invalid_request_error", "TW-G03"),
        (
            {"messages": [{"role": "assistant", "content": [{"type": "tool_result"}]}]},
            400,
            "invalid_request_error",
            "TW-G04",
        ),
        ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, 400, "invalid_request_error", "TW-G04"),
        ({"messages": [{"role": "user", "content": "x " * 20_000}]}, 400, "invalid_request_error", "TW-C05"),
    ],
)
def test_an_error_has_the_shape_of_this_api(
    chain: Address, changes: dict[str, Any], status: int, kind: str, code: str
) -> None:
    got, data = post(chain, **changes)
    read = json.loads(data)
    assert (got, read["type"], read["error"]["type"], read["error"]["wizard_code"]) == (status, "error", kind, code)


def test_an_error_within_a_stream_is_an_event() -> None:
    answer = messages.Answer("m")
    assert b"message_start" in answer.take(0, Piece("text", None, ""))
    name, data, *_ = answer.failed(Fault("TW-G09", 500, "it failed")).decode().split("\n")
    assert (name, json.loads(data.removeprefix("data: "))["error"]["type"]) == ("event: error", "api_error")


WEATHER = {"name": "weather", "input_schema": PARAMETERS}
ASKED = {"role": "user", "content": "Is it raining in Oslo?"}


def called(start: Callable[[str], Address], **changes: Any) -> Any:
    given = {"model": "tools", "messages": [ASKED], "tools": [WEATHER], "max_tokens": 60, **changes}
    status, data = post(start("tools"), **given)
    assert status == 200, data
    if not given.get("stream"):
        return json.loads(data)
    return [json.loads(each.split("\n")[1].removeprefix("data: ")) for each in data.decode().strip().split("\n\n")]


def test_a_tool_is_called_and_its_result_is_read(start: Callable[[str], Address]) -> None:
    message = called(start, tool_choice={"type": "auto"})
    (use,) = message["content"]
    assert (use["type"], use["name"], use["input"]) == ("tool_use", "weather", {"city": "Oslo"})
    assert message["stop_reason"] == "tool_use"
    result = {"type": "tool_result", "tool_use_id": use["id"], "content": [{"type": "text", "text": "rain"}]}
    turns = [ASKED, {"role": "assistant", "content": message["content"]}, {"role": "user", "content": [result]}]
    answer = called(start, messages=turns, max_tokens=CYCLE_TOKENS)
    assert answer["content"] == [{"type": "text", "text": CYCLE}]


def test_a_call_is_a_block_of_the_stream(start: Callable[[str], Address]) -> None:
    events = called(start, stream=True)
    assert [kind for kind, _ in itertools.groupby(each["type"] for each in events)] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert (events[1]["content_block"]["type"], events[1]["content_block"]["input"]) == ("tool_use", {})
    pieces = [each["delta"]["partial_json"] for each in events[2:-3]]
    assert json.loads("".join(pieces)) == {"city": "Oslo"}
    assert len(pieces) > 1  # as it is written
    assert events[-2]["delta"]["stop_reason"] == "tool_use"


def test_text_and_calls_are_blocks_in_turn() -> None:
    answer = messages.Answer("m")
    calls = (ToolCall("", ": 1}"), ToolCall("b", '{"cut'))
    pieces = [
        Piece("Well", 1, "", calls=(ToolCall("a", '{"x"'),)),
        Piece("", 2, "", calls=calls),
        Piece("", 3, "length"),
    ]
    sent = b"".join(answer.take(0, piece) for piece in pieces).decode().strip().split("\n\n")
    events = [json.loads(each.split("\n")[1].removeprefix("data: ")) for each in sent]
    assert [each["index"] for each in events if "index" in each] == [0] * 3 + [1] * 4 + [2] * 3
    whole = messages.Answer("m").whole([(0, piece) for piece in pieces])["content"]
    assert [each["type"] for each in whole] == ["text", "tool_use", "tool_use"]
    assert [each["input"] for each in whole[1:]] == [{"x": 1}, {"arguments": '{"cut'}]


def test_text_after_a_call_is_a_block_of_its_own() -> None:
    answer = messages.Answer("m")
    pieces = [Piece("", 1, "", calls=(ToolCall("a", "{}"),)), Piece("Done", 2, "tool_calls")]
    sent = b"".join(answer.take(0, piece) for piece in pieces).decode().strip().split("\n\n")
    events = [json.loads(each.split("\n")[1].removeprefix("data: ")) for each in sent]
    blocks = [each["content_block"]["type"] for each in events if each["type"] == "content_block_start"]
    assert (blocks, events[-1]["delta"]["stop_reason"]) == (["tool_use", "text"], "tool_use")


def test_thinking_is_switched_off_and_thoughts_are_not_sent_again() -> None:
    thought = [{"type": "thinking", "thinking": "Hm", "signature": ""}, {"type": "text", "text": "Yes"}]
    turns = [ASKED, {"role": "assistant", "content": thought}, ASKED]
    wanted = messages.read(json.dumps({**BODY, "messages": turns, "thinking": {"type": "disabled"}}).encode())
    assert wanted.sampling.thinking == "off"
    assert wanted.turns[1] == {"role": "assistant", "content": "Yes"}


@pytest.mark.parametrize(
    ("choice", "named", "guided", "parallel"),
    [
        ({"type": "auto"}, None, False, True),
        ({"type": "auto", "disable_parallel_tool_use": True}, None, False, False),
        ({"type": "any"}, None, True, True),
        ({"type": "tool", "name": "weather"}, "weather", True, True),
    ],
)
def test_the_choice_of_a_tool(choice: Any, named: str | None, guided: bool, parallel: bool) -> None:
    tools = messages.read(json.dumps({**BODY, "tools": [WEATHER], "tool_choice": choice}).encode()).tools
    assert tools is not None
    assert (tools.named, tools.schema is not None, tools.parallel) == (named, guided, parallel)


def test_a_call_that_the_client_named_ends_with_its_use() -> None:
    piece = Piece("", 1, "stop", calls=(ToolCall("weather", "{}"),))
    assert messages.Answer("m").whole([(0, piece)])["stop_reason"] == "tool_use"
