"""An answer that the engine gives up is an error of the server, streamed and whole, as with vLLM's own server."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from openai import APIError, InternalServerError

from tests.chat.fake_repository import write_fakes
from tests.gateway.conftest import Address, gateway
from tests.server_environment import running_triton
from wizard.serve.endpoint import Endpoint

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("gateway")]
GIVEN: dict[str, Any] = {"model": "vllm", "prompt": "Hello~", "max_tokens": 9}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    scratch = tmp_path_factory.mktemp("fakes")
    with running_triton(write_fakes(scratch / "repository", scratch / "none"), scratch) as triton:
        endpoint = Endpoint("vllm", "vllm", "127.0.0.1", triton.ports, triton.process.pid, "0", str(triton.log))
        with gateway(endpoint, scratch) as there:
            yield there


def test_a_whole_answer(address: Address) -> None:
    with pytest.raises(InternalServerError) as failed:
        address.client().completions.create(**GIVEN)
    assert isinstance(failed.value.body, dict)
    assert (failed.value.type, failed.value.body["wizard_code"]) == ("server_error", "TW-C04")


def test_a_stream(address: Address) -> None:
    """What came before is there; the client's own type of error ends it."""
    came: list[Any] = []
    with pytest.raises(APIError, match="finish reason 'error'") as failed:
        came.extend(event.choices[0] for event in address.client().completions.create(**GIVEN, stream=True))
    assert failed.value.type == "server_error"
    assert "".join(choice.text for choice in came) == "yes"
    assert not any(choice.finish_reason for choice in came)


def test_one_of_several_answers(address: Address) -> None:
    """As with vLLM, the whole request has failed."""
    with pytest.raises(InternalServerError):
        address.client().completions.create(**{**GIVEN, "prompt": ["Hello?", "Hello~"]})


def test_a_message_of_anthropics_api(address: Address) -> None:
    body = {"model": "vllm", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello~"}]}
    request = urllib.request.Request(f"{address.url}/v1/messages", json.dumps(body).encode())
    with pytest.raises(urllib.error.HTTPError) as failed:
        urllib.request.urlopen(request, timeout=60)
    with failed.value as reply:
        assert (reply.code, json.load(reply)["error"]["type"]) == (500, "api_error")
