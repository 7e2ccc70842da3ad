"""What a server says of the model that it serves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.chain_model import CHAT
from tests.chat.conftest import SHORT_CONTEXT, Served
from tests.chat.fake_server import fake_server, http_answer
from wizard.chat.client import ask_of
from wizard.chat.conversation import Sampling
from wizard.chat.served import ServedModel, served_model
from wizard.chat.wire import OWN, WIZARD
from wizard.kernel.errors import ServerError
from wizard.model.chat_format import ChatFormat


@pytest.mark.e2e
def test_the_server_describes_its_model(served: Served) -> None:
    chain = served_model(served.triton.url, "chain")
    assert chain.wire.format is WIZARD
    assert replace(chain, wire=OWN) == ServedModel("chain", CHAT, ("is it?",), 16384, 0.7)
    assert served_model(served.triton.url, "gated").default_temperature == 0
    base = served_model(served.triton.url, "base")
    assert replace(base, wire=OWN) == ServedModel("base", None, (), SHORT_CONTEXT, 0.7)


@pytest.mark.e2e
@pytest.mark.parametrize("name", ["nope", "../chain", "a b\r\nX: y", "${x}", ""])
def test_a_model_that_is_not_served(served: Served, name: str) -> None:
    with pytest.raises(ServerError) as caught:
        served_model(served.triton.url, name)
    assert caught.value.code == "TW-C02"


def test_nobody_answers(silent_port: int) -> None:
    with pytest.raises(ServerError) as caught:
        served_model(f"http://127.0.0.1:{silent_port}", "m")
    assert caught.value.code == "TW-C01"


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        http_answer("200 OK", "<html>"),
        http_answer("200 OK", "[]"),
        pytest.param(http_answer("200 OK", "[" * 200_000), id="deep"),
        http_answer("200 OK", '{"parameters": {}}'),
        http_answer(
            "200 OK", '{"parameters": {"questions": {"string_value": "[]"}, "max_seq_len": {"string_value": "x"}}}'
        ),
        http_answer("404 Not Found", "not here"),
    ],
)
def test_something_else_answers(answer: bytes) -> None:
    with fake_server(answer) as port, pytest.raises(ServerError) as caught:
        served_model(f"http://127.0.0.1:{port}", "m")
    assert caught.value.code == "TW-C07"


@pytest.mark.parametrize(
    ("template", "context", "limit"),
    [
        ("{{ messages[0].content }}", 16384, 512),
        ("{{ messages[0].content }}<think></think>", 16384, 4096),  # a thought often takes more than 512
        ("{{ messages[0].content }}<think></think>", 2048, 2048),
        (None, None, 512),
    ],
)
def test_a_model_that_thinks_may_write_longer_answers(template: str | None, context: int | None, limit: int) -> None:
    model = ServedModel("m", ChatFormat(template) if template else None, (), context, None)
    assert model.answer_limit == limit
    assert ask_of(model, None, "x", Sampling(), rendered=True).max_tokens == limit
    assert ask_of(model, None, "x", Sampling(max_tokens=64), rendered=True).max_tokens == 64
