"""The last request as a command or a program gives the same answer as the chat did."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.chain_model import CYCLE, CYCLE_TOKENS
from tests.chat.conftest import Served
from tests.chat.fake_openai import KEY, FakeOpenAI, serving
from wizard.chat import openai
from wizard.chat.ask import API_KEY
from wizard.chat.client import described
from wizard.chat.conversation import Conversation, Sampling
from wizard.chat.elsewhere import elsewhere
from wizard.chat.snippet import KINDS, Kind, Request, snippet
from wizard.chat.stream import answer, request
from wizard.serve.endpoint import Endpoint

ODD = """It's "quoted" $HOME `ls` \\ %s {x}
END_OF_REQUEST
\u202eright to left \x1b[31mred\x07 한국어"""
TALK = (
    Conversation(sampling=Sampling(temperature=0, max_tokens=CYCLE_TOKENS, seed=5, top_k=7, stop=("never",)))
    .with_message("system", "Be brief.")
    .with_message("user", ODD)
)


def run(kind: Kind, text: str) -> str:
    command = ["sh", "-c", text] if kind == "curl" else [sys.executable, "-c", text]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


async def sent(endpoint: Endpoint, talk: Conversation = TALK) -> Request:
    """What the chat says that it sent."""
    (sent_request,) = [chunk.request async for chunk in answer(endpoint, talk) if chunk.request]
    return sent_request


@pytest.mark.e2e
async def test_a_snippet_asks_triton_what_the_chat_asked(served: Served) -> None:
    endpoint = served.endpoint()
    sent_request = await sent(endpoint)
    assert sent_request == request(endpoint, TALK, described(endpoint))
    assert sent_request.body["text_input"].endswith("<|im_start|>assistant\n")
    assert (sent_request.body["top_k"], sent_request.body["stop_words"], sent_request.body["random_seed"]) == (
        7,
        ["never"],
        5,
    )
    texts = [json.loads(line[5:])["text_output"] for line in run("curl", snippet(sent_request)).splitlines() if line]
    assert "".join(texts) == CYCLE
    for kind in ("python", "urllib"):
        assert run(kind, snippet(sent_request, kind)) == f"{CYCLE}\n"


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_in_a_snippet_can_move_the_cursor(kind: Kind) -> None:
    sent_request = Request("http://h:1/v2/models/m/generate_stream", {"text_input": ODD}, "m")
    assert all(character == "\n" or character.isprintable() for character in snippet(sent_request, kind))


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAI]:
    monkeypatch.setenv(API_KEY, KEY)
    with serving(FakeOpenAI(key=KEY)) as server:
        yield server


@pytest.mark.parametrize("kind", KINDS)
async def test_a_snippet_asks_an_openai_server_what_the_chat_asked(fake: FakeOpenAI, kind: Kind) -> None:
    if kind == "python" and importlib.util.find_spec("openai") is None:
        pytest.skip("openai is not part of the test environment")
    text = snippet(await sent(openai.at(fake.url)), kind)
    assert KEY not in text
    assert "Hi 😀é." in run(kind, text) or kind == "curl"
    first, second = fake.asked
    assert second == first
    assert (first["stop"], first["top_k"], first["seed"]) == (["never"], 7, 5)


def test_openais_own_client_gets_foreign_parameters_beside_the_others() -> None:
    sent_request = Request("http://h/v1/chat/completions", {"model": "m", "messages": [], "top_k": 3, "seed": 1}, "m")
    text = snippet(sent_request, "python")
    assert "extra_body={'top_k': 3}" in text
    compile(text, "snippet", "exec")


@pytest.mark.e2e
async def test_elsewhere_has_the_request_and_every_address(served: Served) -> None:
    endpoint = served.endpoint()
    text = elsewhere(endpoint, "triton-wizard chat demo", await sent(endpoint))
    for wanted in ("curl", "triton-wizard chat", endpoint.http, endpoint.grpc, "/metrics", endpoint.log):
        assert wanted in text
