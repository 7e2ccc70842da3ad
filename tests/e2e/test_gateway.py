"""The address in front of engines behind the proxy, in the real tritonserver: what the engine itself was asked, and
whether a request whose client has gone is ended there, by the engine's own log.
"""

from __future__ import annotations

import http.client
import itertools
import json
import re
import socket
from collections.abc import Iterator
from typing import Any

import openai
import pytest

from tests.e2e import test_proxy, test_proxy_sglang, test_proxy_vllm
from tests.e2e.test_proxy import Served, wait_until
from tests.gateway.conftest import Address, gateway

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("proxy")]
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
FORM = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}
TOOLS = [{"type": "function", "function": {"name": "weather"}}]
HERMES = "{{ tools | tojson if tools else '' }}<tool_call>{{ messages[-1]['content'] }}"
QUESTION: Any = [{"role": "user", "content": "hello"}]


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Address]]:
    """An engine that says numbers until it is told to stop, and notes what it is told."""
    scratch = tmp_path_factory.mktemp("counting")
    with test_proxy.serving(scratch, step_s=0.002) as served, gateway(served.endpoint, scratch) as address:
        yield served, address


@pytest.fixture(scope="module")
def vllm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Address]]:
    """vLLM's stand-in, with a model that writes calls as the Hermes models do."""
    scratch = tmp_path_factory.mktemp("vllm")
    with test_proxy_vllm.serving(scratch, template=HERMES) as served, gateway(served.endpoint, scratch) as address:
        yield served, address


@pytest.fixture(scope="module")
def sglang(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Address]]:
    """SGLang's stand-in, with a model that has no functions."""
    scratch = tmp_path_factory.mktemp("sglang")
    with test_proxy_sglang.serving(scratch) as served, gateway(served.endpoint, scratch) as address:
        yield served, address


def create(address: Address, **more: Any) -> Any:
    given = {"model": "demo", "messages": QUESTION, "max_tokens": 9, "temperature": 0.5, **more}
    return address.client().chat.completions.create(**given)


def logged(served: Served, part: str) -> str:
    """vLLM's sampling parameters of the last request with ``part`` in them."""
    log = served.triton.wait_for_log(lambda text: re.search(rf"request \d+: .*{part}", text) is not None)
    return str(re.findall(rf"request \d+: (.*{part}.*)", log)[-1])


def test_vllm_gets_the_schema(vllm: tuple[Served, Address]) -> None:
    served, address = vllm
    create(address, response_format=FORM, seed=77)
    assert f"structured_outputs=StructuredOutputsParams(json={SCHEMA})" in logged(served, "seed=77")
    create(address, response_format={"type": "json_object"}, seed=78)
    assert "StructuredOutputsParams(json={'type': 'object'})" in logged(served, "seed=78")
    create(address, seed=79)
    assert "structured_outputs=None" in logged(served, "seed=79")


def test_a_function_that_must_be_called_is_a_schema(vllm: tuple[Served, Address]) -> None:
    served, address = vllm
    choice = {"type": "function", "function": {"name": "weather"}}
    answer = create(address, tools=TOOLS, tool_choice=choice, seed=80)
    assert "StructuredOutputsParams(json={'type': 'object', 'properties': {}})" in logged(served, "seed=80")
    (call,) = answer.choices[0].message.tool_calls
    assert (call.function.name, call.function.arguments) == ("weather", "0 1 2 3 4 <tool_call>6 7 8 ")
    create(address, tools=TOOLS, tool_choice="required", parallel_tool_calls=False, seed=81)
    assert "'type': 'array', 'minItems': 1, 'maxItems': 1, 'items'" in logged(served, "seed=81")


@pytest.mark.parametrize("stream", [False, True])
def test_calls_are_read_by_vllms_own_parser(vllm: tuple[Served, Address], stream: bool) -> None:
    """Text before a call is sent as it comes."""
    _, address = vllm
    answer = create(address, tools=TOOLS, stream=stream)
    if stream:
        events = list(answer)
        text = "".join(event.choices[0].delta.content or "" for event in events)
        (call,) = [call for event in events for call in event.choices[0].delta.tool_calls or ()]
    else:
        text = answer.choices[0].message.content
        (call,) = answer.choices[0].message.tool_calls
    assert (text, call.function.name, json.loads(call.function.arguments)) == (
        "0 1 2 3 4 ",
        "weather",
        {"rest": "6 7 8"},
    )


def test_arguments_are_sent_before_their_call_ends(vllm: tuple[Served, Address]) -> None:
    """By the profile's format, through the engine program, the proxy and the address; the parser adds nothing."""
    _, address = vllm
    asked: Any = [{"role": "user", "content": "Answer in JSON"}]
    events = [event.choices[0] for event in create(address, messages=asked, tools=TOOLS, stream=True)]
    calls = [call for event in events for call in event.delta.tool_calls or ()]
    assert [(call.index, call.function.name) for call in calls] == [(0, "weather"), *[(0, None)] * (len(calls) - 1)]
    assert "".join(call.function.arguments for call in calls) == '{"city": "Oslo"}'
    whole = create(address, messages=asked, tools=TOOLS).choices[0].message
    assert [call.function.arguments for call in whole.tool_calls] == ['{"city": "Oslo"}']
    assert (whole.content, "".join(event.delta.content or "" for event in events)) == (None, "")


def test_an_answer_without_a_call(vllm: tuple[Served, Address]) -> None:
    _, address = vllm
    choice = create(address, tools=TOOLS, max_tokens=4).choices[0]
    assert (choice.message.content, choice.message.tool_calls, choice.finish_reason) == ("0 1 2 3 ", None, "length")


def test_sglang_gets_the_schema(sglang: tuple[Served, Address]) -> None:
    served, address = sglang
    answer = create(address, response_format=FORM, seed=77)
    assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == ("{}", "stop")
    log = served.triton.wait_for_log(lambda text: "'sampling_seed': 77" in text)
    (line,) = [line for line in log.splitlines() if "'sampling_seed': 77" in line]
    assert f"'json_schema': {json.dumps(SCHEMA)!r}" in line
    create(address, seed=78)
    log = served.triton.wait_for_log(lambda text: "'sampling_seed': 78" in text)
    assert all("json_schema" not in line for line in log.splitlines() if "'sampling_seed': 78" in line)


def test_a_schema_that_sglang_cannot_compile_is_an_error_of_the_client(sglang: tuple[Served, Address]) -> None:
    _, address = sglang
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "nothing"}}}
    with pytest.raises(openai.BadRequestError, match="Failed to compile json grammar"):
        create(address, response_format=form)


@pytest.mark.parametrize("more", [{"tools": TOOLS}, {"logprobs": True}])
def test_what_an_engine_cannot_is_refused(sglang: tuple[Served, Address], more: dict[str, Any]) -> None:
    """The model's template has no functions, and the engine reports no log probabilities."""
    _, address = sglang
    with pytest.raises(openai.BadRequestError) as caught:
        create(address, **more)
    assert caught.value.code == "unsupported_parameter"
    assert caught.value.param == next(iter(more))
    assert create(address).choices


def messages(served: Served, kind: str) -> list[Any]:
    return [message[kind] for message in served.messages() if kind in message]


def test_a_client_that_goes_ends_all_its_requests_in_the_engine(counting: tuple[Served, Address]) -> None:
    served, address = counting
    before = len(messages(served, "ask")), len(messages(served, "cancel"))
    answer = create(address, n=3, max_tokens=10**6, stream=True)
    begun: set[int] = set()
    for event in answer:
        begun |= {choice.index for choice in event.choices if choice.delta.content}
        if len(begun) == 3:
            break
    answer.close()
    wait_until(lambda: len(messages(served, "cancel")) == before[1] + 3)
    asked = [message["id"] for message in messages(served, "ask")[before[0] :]]
    assert sorted(messages(served, "cancel")[before[1] :]) == sorted(asked)


def test_a_half_closed_client_is_gone(counting: tuple[Served, Address]) -> None:
    """It has ended its side of the connection, or all of it: what it asked for ends too, whole or streamed."""
    served, address = counting
    for stream, half in itertools.product((False, True), repeat=2):
        before, asked = len(messages(served, "cancel")), len(messages(served, "ask"))
        body = json.dumps({"model": "demo", "messages": QUESTION, "max_tokens": 10**6, "stream": stream}).encode()
        connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=60)
        connection.request("POST", "/v1/chat/completions", body)
        wait_until(lambda asked=asked: len(messages(served, "ask")) > asked)  # type: ignore[misc]
        if half:
            connection.sock.shutdown(socket.SHUT_WR)
        else:
            connection.close()
        wait_until(lambda before=before: len(messages(served, "cancel")) == before + 1)  # type: ignore[misc]
        connection.close()
    assert create(address, max_tokens=2).choices[0].message.content == "0 1 "
