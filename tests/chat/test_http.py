"""HTTP as servers and companies' networks really speak it, byte for byte, to the clients of the chat."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing

import pytest

from tests.chat.fake_http import CHUNKED, chunk, serving_bytes, whole
from tests.chat.fake_openai import ASK, KEY, WHOLE, WORDS, FakeOpenAI, event, read
from wizard.chat import openai, triton_http
from wizard.chat.ask import API_KEY, Ask
from wizard.chat.openai import at
from wizard.chat.served import served_model
from wizard.kernel import http
from wizard.kernel.errors import ServerError
from wizard.plan.ports import Ports
from wizard.serve import health
from wizard.serve.endpoint import Endpoint

MODELS = json.dumps({"data": [{"id": "m"}]}).encode()
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
ELSEWHERE = "http://gpu.example.org:9000"
"""An address that only a proxy knows."""


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


async def text_of(url: str) -> str:
    return "".join([piece.text async for piece in openai.stream(ASK, f"{url}/v1")])


@pytest.mark.parametrize("extension", [";x=1", ';name="a;b"', ";a;b=c"])
async def test_chunks_may_have_extensions(extension: str) -> None:
    """Section 7.1.1: a recipient ignores those that it does not know."""
    body = chunk(WHOLE[:40], extension) + chunk(WHOLE[40:]) + f"0{extension}\r\nTrailer: x\r\n\r\n".encode()
    with serving_bytes(lambda _: CHUNKED + body) as fake:
        assert await text_of(fake.url) == "".join(WORDS)


@pytest.mark.parametrize(
    "interim", [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"]
)
async def test_interim_responses_come_before_the_answer(interim: bytes) -> None:
    """Section 15.2 of RFC 9110: any number of 1xx responses may come first."""
    with serving_bytes(lambda _: interim + interim + CHUNKED + chunk(WHOLE) + b"0\r\n\r\n") as fake:
        assert await text_of(fake.url) == "".join(WORDS)
    with serving_bytes(lambda _: interim + whole(MODELS)) as fake:
        assert (await asyncio.to_thread(at, fake.url)).model == "m"


@pytest.mark.parametrize("status", ["307 Temporary Redirect", "308 Permanent Redirect"])
async def test_a_redirect_is_followed_with_the_question(status: str) -> None:
    def answer(line: str) -> bytes:
        if " /v1/" in line:
            return whole(b"", status, f"Location: {line.split()[1].replace('/v1', '/moved')}")
        return whole(MODELS if "GET" in line else WHOLE)

    with serving_bytes(answer) as fake:
        assert (await asyncio.to_thread(at, fake.url)).model == "m"
        assert await text_of(fake.url) == "".join(WORDS)
    assert fake.lines[-1] == "POST /moved/chat/completions HTTP/1.1"
    assert json.loads(fake.bodies[-1])["model"] == "m"


async def test_redirects_that_never_end_are_an_error() -> None:
    with serving_bytes(lambda line: whole(b"", "307 Temporary Redirect", f"Location: {line.split()[1]}")) as fake:
        for asking in (lambda: at(fake.url), lambda: asyncio.run(text_of(fake.url))):
            with pytest.raises(ServerError) as caught:
                await asyncio.to_thread(asking)
            assert caught.value.code == "TW-C14"


async def test_a_redirect_to_another_server_does_not_get_the_key(
    fake: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(API_KEY, KEY)

    def answer(line: str) -> bytes:
        return whole(b"{}", "307 Temporary Redirect", f"Location: {fake.url}/v1/models")

    fake.key = KEY
    with serving_bytes(answer) as first, pytest.raises(ServerError) as caught:
        await asyncio.to_thread(at, first.url)
    assert caught.value.code == "TW-C12"
    assert fake.keys == [None, None]


async def test_a_proxy_is_asked_for_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving_bytes(lambda line: whole(MODELS if "GET" in line else WHOLE)) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        assert (await asyncio.to_thread(at, ELSEWHERE)).model == "m"
        assert await text_of(ELSEWHERE) == "".join(WORDS)
    assert proxy.lines == [
        f"GET {ELSEWHERE}/v1/models HTTP/1.1",
        f"POST {ELSEWHERE}/v1/chat/completions HTTP/1.1",
    ]


@pytest.mark.parametrize("exempt", ["gpu.example.org", "*", "example.org"])
async def test_no_proxy_is_obeyed(exempt: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving_bytes(lambda _: whole(MODELS)) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", exempt)
        with pytest.raises(ServerError) as caught:
            await asyncio.to_thread(at, "http://gpu.example.org:1")
    assert caught.value.code == "TW-C01"
    assert proxy.lines == []


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "nonsense://x"])
async def test_a_proxy_that_cannot_be_used(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", proxy)
    for asking in (lambda: at(ELSEWHERE), lambda: asyncio.run(text_of(ELSEWHERE))):
        with pytest.raises(ServerError, match="cannot use the proxy from the environment") as caught:
            await asyncio.to_thread(asking)
        assert caught.value.code == "TW-C01"


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.8.9.1", True), ("::1", True), ("0.0.0.0", True), ("localhost", True), ("10.0.0.2", False), ("gpu", False)],
)
def test_what_this_machine_is_called(host: str, expected: bool) -> None:
    assert http.local(host) == expected


@pytest.mark.parametrize("proxy", ["http://127.0.0.1:1", "socks5://127.0.0.1:1", "nonsense://x"])
async def test_a_server_on_this_machine_is_asked_without_a_proxy(
    proxy: str, fake: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in PROXIES[:3]:
        monkeypatch.setenv(name, proxy)
    for host in ("127.0.0.1", "localhost"):
        url = fake.url.replace("127.0.0.1", host)
        assert "".join(chunk.text for chunk in await read(at(url))) == "".join(WORDS)
    port = int(fake.url.rsplit(":", 1)[1])
    endpoint = Endpoint("t", "m", "127.0.0.1", Ports(port, port, port), 1, "0", "log")
    assert health.status(endpoint, "/v2/health/ready") == 200


async def test_cancelling_hangs_up_at_once() -> None:
    started = asyncio.Event()
    with serving_bytes(lambda _: CHUNKED, endless=chunk(event({"content": "x"}))) as fake:

        async def talk() -> None:
            async with aclosing(openai.stream(ASK, f"{fake.url}/v1")) as pieces:
                async for _ in pieces:
                    started.set()

        task = asyncio.create_task(talk())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(fake.hung_up.wait, 60)


async def test_cancelling_before_the_answer_hangs_up_at_once() -> None:
    """A server that reads a long prompt says nothing for a while."""
    with serving_bytes(lambda _: b"HTTP/1.1 100 Continue\r\n\r\n", endless=b"HTTP/1.1 100 Continue\r\n\r\n") as fake:
        sent = asyncio.Event()
        ask = Ask("m", "x", 10, None, 0.95, None)
        pieces = triton_http.stream(ask, fake.url, sent.set)
        task = asyncio.create_task(pieces.__anext__())
        await sent.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(fake.hung_up.wait, 60)


async def test_the_clock_starts_when_the_question_goes_out() -> None:
    """Not when a redirect was asked for: the last start counts."""
    seen: list[int] = []

    def answer(line: str) -> bytes:
        return whole(WHOLE) if "/moved" in line else whole(b"", "307 Temporary Redirect", "Location: /moved")

    with serving_bytes(answer) as fake:
        pieces = [piece async for piece in openai.stream(ASK, f"{fake.url}/v1", lambda: seen.append(len(fake.heads)))]
    assert "".join(piece.text for piece in pieces) == "".join(WORDS)
    assert len(seen) == 2
    assert seen[-1] == 1  # the redirect has been answered, the question has not arrived yet


def test_a_models_description_may_be_elsewhere_too() -> None:
    config = {
        "name": "m",
        "input": [{"name": "text_input", "data_type": "TYPE_STRING", "dims": [1]}],
        "output": [{"name": name} for name in ("text_output", "completion_tokens", "finish_reason")],
    }

    def answer(line: str) -> bytes:
        if "/gateway" in line:
            return whole(json.dumps(config).encode())
        return whole(b"", "302 Found", "Location: /gateway/config")

    with serving_bytes(answer) as fake:
        assert served_model(fake.url, "m").name == "m"
