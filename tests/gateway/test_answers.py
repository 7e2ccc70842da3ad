"""Whole answers and streams, read by OpenAI's own client from a real tritonserver."""

from __future__ import annotations

import http.client
import json
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

from tests.chain_model import CYCLE, CYCLE_TOKENS
from tests.chat.conftest import REFUSAL, Served
from tests.gateway.conftest import Address

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("gateway")]
ASKED: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is Triton?"}]


def create(address: Address, **more: Any) -> Any:
    given = {"model": "chain", "messages": ASKED, "temperature": 0, "max_tokens": CYCLE_TOKENS, **more}
    return address.client().chat.completions.create(**given)


def test_a_whole_answer_with_its_usage(chain: Address) -> None:
    answer = create(chain)
    (choice,) = answer.choices
    assert (choice.message.role, choice.message.content, choice.finish_reason) == ("assistant", CYCLE, "length")
    assert answer.object == "chat.completion"
    usage = answer.usage
    assert usage.completion_tokens == CYCLE_TOKENS
    assert usage.total_tokens == usage.prompt_tokens + CYCLE_TOKENS
    again = create(chain, messages=[{"role": "user", "content": "What is Triton??"}])
    longer = create(chain, messages=[{"role": "user", "content": "What is Triton???"}])
    assert longer.usage.prompt_tokens == again.usage.prompt_tokens + 1  # each byte is a token of this model


def test_a_stream_is_the_same_answer_in_pieces(chain: Address) -> None:
    chunks = list(create(chain, stream=True, stream_options={"include_usage": True}))
    assert {chunk.object for chunk in chunks} == {"chat.completion.chunk"}
    assert len({chunk.id for chunk in chunks}) == 1
    *pieces, last = chunks
    assert pieces[0].choices[0].delta.role == "assistant"
    assert len(pieces) > 4
    assert "".join(piece.choices[0].delta.content or "" for piece in pieces) == CYCLE
    assert [piece.choices[0].finish_reason for piece in pieces if piece.choices[0].finish_reason] == ["length"]
    assert (last.choices, last.usage) == ([], create(chain).usage)
    assert all(chunk.usage is None for chunk in create(chain, stream=True))


def test_a_completion_continues_a_text(chain: Address) -> None:
    client = chain.client()
    given: dict[str, Any] = {"model": "chain", "prompt": "a" * 39 + "\n", "temperature": 0}
    whole = client.completions.create(**given, max_tokens=CYCLE_TOKENS)
    assert (whole.choices[0].text, whole.choices[0].finish_reason) == (CYCLE, "length")
    assert whole.usage is not None
    assert (whole.usage.prompt_tokens, whole.usage.completion_tokens) == (40, CYCLE_TOKENS)
    events = list(client.completions.create(**given, max_tokens=CYCLE_TOKENS, stream=True))
    assert "".join(event.choices[0].text for event in events) == CYCLE
    assert events[-1].choices[0].finish_reason == "length"
    short = client.completions.create(**given)
    assert short.usage is not None
    assert short.usage.completion_tokens == 16  # OpenAI's default


def test_a_stop_string_ends_an_answer(chain: Address) -> None:
    stop = CYCLE[3:5]
    answer = create(chain, stop=["never in it", stop])
    assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == (CYCLE[: CYCLE.index(stop)], "stop")
    assert create(chain, stop=stop).choices[0].message.content == CYCLE[: CYCLE.index(stop)]


def test_an_answer_without_a_limit_ends_with_the_context(start: Callable[[str], Address]) -> None:
    given: dict[str, Any] = {"model": "short", "messages": ASKED, "temperature": 0}
    answer = start("short").client().chat.completions.create(**given)
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage is not None
    assert answer.usage.total_tokens in (255, 256)


def test_a_confidence_gate_stops(start: Callable[[str], Address]) -> None:
    answer = start("gated").client().completions.create(model="gated", prompt="Is it!")
    assert (answer.choices[0].text, answer.choices[0].finish_reason) == (REFUSAL, "stop")
    assert answer.usage is not None
    assert answer.usage.completion_tokens == 0


def test_the_same_seed_gives_the_same_answer(chain: Address) -> None:
    texts = [create(chain, temperature=1.5, seed=-7, top_p=1).choices[0].message.content for _ in range(2)]
    assert texts[0] == texts[1]


def test_log_probabilities(chain: Address) -> None:
    whole = create(chain, logprobs=True, top_logprobs=2).choices[0].logprobs.content
    assert b"".join(bytes(token.bytes) for token in whole).decode(errors="ignore")[:3] == CYCLE[:3]
    assert all(token.logprob <= 0 and len(token.top_logprobs) == 2 for token in whole)
    chunks = [chunk.choices[0].logprobs for chunk in create(chain, logprobs=True, stream=True)]
    streamed = [token for each in chunks if each for token in each.content]
    assert [token.token for token in streamed] == [token.token for token in whole]
    given: dict[str, Any] = {"model": "chain", "prompt": "ab", "temperature": 0, "logprobs": 1}
    logprobs = chain.client().completions.create(**given).choices[0].logprobs
    assert logprobs is not None
    assert logprobs.tokens is not None
    assert len(logprobs.tokens) == len(logprobs.top_logprobs or []) == len(logprobs.text_offset or []) == 16


def test_settings_that_change_nothing_are_no_reason_to_refuse(chain: Address) -> None:
    neutral = {"presence_penalty": 0, "frequency_penalty": 0.0, "top_p": 1, "n": 1, "logit_bias": {}, "tools": []}
    assert create(chain, **neutral, response_format={"type": "text"}, user="me").choices[0].message.content == CYCLE


def test_the_models(chain: Address) -> None:
    client = chain.client()
    (model,) = client.models.list().data
    assert (model.id, model.object, model.owned_by) == ("chain", "model", "triton-wizard")
    assert client.models.retrieve("chain") == model
    from openai import NotFoundError

    with pytest.raises(NotFoundError):
        client.models.retrieve("another")
    with urllib.request.urlopen(f"{chain.url}/health", timeout=60) as health:
        assert json.load(health) == {"status": "ok"}


def cancelled(served: Served) -> int:
    """Requests that the model has stopped because their client was gone, by its own log."""
    return served.triton.logged().count("cancelled after")


def test_a_stream_that_is_closed_cancels_its_request(chain: Address, served: Served) -> None:
    before = cancelled(served)
    endless = create(chain, max_tokens=16000, stream=True)
    assert next(iter(endless)).choices
    endless.close()
    served.triton.wait_for_log(lambda _: cancelled(served) > before)


def test_a_client_that_gives_up_waiting_cancels_its_request(chain: Address, served: Served) -> None:
    before, requests = cancelled(served), served.requests("chain")
    body = json.dumps({"model": "chain", "messages": ASKED, "max_tokens": 16000}).encode()
    connection = http.client.HTTPConnection("127.0.0.1", chain.port, timeout=60)
    connection.request("POST", "/v1/chat/completions", body)
    served.wait_for_requests("chain", requests + 1)
    connection.close()
    served.triton.wait_for_log(lambda _: cancelled(served) > before)
