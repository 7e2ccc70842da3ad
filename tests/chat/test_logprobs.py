"""Log-probabilities in the forms of every server."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.chat.conftest import Served
from wizard.chat.client import described
from wizard.chat.conversation import Conversation, Sampling, TokenLogprob
from wizard.chat.logprobs import of_openai, of_own
from wizard.chat.stream import answer
from wizard.stacks.vllm.chat import logprobs as of_vllm


def test_openais() -> None:
    entry = {"token": "Hi", "bytes": [72, 105], "logprob": -0.1}
    others = [{"token": "Hi", "logprob": -0.1, "bytes": None}, {"token": "Ho", "logprob": -3, "bytes": None}]
    assert of_openai([{**entry, "top_logprobs": others}]) == (TokenLogprob("Hi", -0.1, (("Hi", -0.1), ("Ho", -3.0))),)
    assert of_openai([entry]) == (TokenLogprob("Hi", -0.1),)  # llama.cpp and others leave the list out


def test_vllms() -> None:
    place = {
        "7": {"logprob": -2.0, "rank": 2, "decoded_token": "b"},
        "5": {"logprob": -0.2, "rank": 1, "decoded_token": "a"},
        "9": {"logprob": -9.0, "rank": 3, "decoded_token": None},
    }
    alone = {"5": {"logprob": -0.2, "rank": 1, "decoded_token": "a"}}
    assert of_vllm(json.dumps([place, alone])) == (
        TokenLogprob("b", -2.0, (("a", -0.2), ("b", -2.0), ("", -9.0))),
        TokenLogprob("a", -0.2),
    )
    assert of_vllm("null") == ()
    assert of_vllm("") == ()


def test_our_own() -> None:
    assert of_own('[["a", -0.5, [["a", -0.5], ["b", -1]]]]') == (TokenLogprob("a", -0.5, (("a", -0.5), ("b", -1.0))),)
    assert of_own("[]") == ()


@pytest.mark.parametrize("read", [of_own, of_vllm])
@pytest.mark.parametrize("text", ["{", "[[1]]", '[{"5": {}}]', "7"])
def test_what_is_none_raises_what_the_clients_expect(read: Callable[[str], object], text: str) -> None:
    with pytest.raises((KeyError, TypeError, ValueError, AttributeError)):
        read(text)


@pytest.mark.e2e
@pytest.mark.parametrize("protocol", ["grpc", "http"])
async def test_through_a_real_server(served: Served, protocol: str) -> None:
    endpoint = served.endpoint()
    assert described(endpoint).logprobs == 20
    talk = Conversation(sampling=Sampling(temperature=0, max_tokens=4, logprobs=2)).with_message("user", "Hello")
    chunks = [chunk async for chunk in answer(endpoint, talk, protocol=protocol)]
    tokens = [token for chunk in chunks for token in chunk.logprobs]
    assert [token.text for token in tokens][:3] == ["H", "i", " "]
    assert all(token.top[0] == (token.text, token.logprob) and len(token.top) == 2 for token in tokens[:3])
    assert all(token.logprob <= 0 for token in tokens)
