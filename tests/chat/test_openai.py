"""OpenAI-compatible servers by their URL, against a stand-in on loopback."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from contextlib import aclosing
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chat.fake_openai import (
    ASK,
    DEEP,
    DONE,
    ROLE,
    SAID,
    STOP,
    WHOLE,
    WORDS,
    FakeOpenAI,
    asked,
    event,
    only,
    read,
)
from tests.chat.test_text_filters import PLACES, cut
from wizard.chat import openai
from wizard.chat.ask import API_KEY
from wizard.chat.conversation import Sampling, TokenLogprob
from wizard.chat.openai import at
from wizard.chat.stream import answer
from wizard.kernel.errors import ServerError, UsageError


async def test_every_setting_is_sent_and_log_probabilities_are_read(fake: FakeOpenAI) -> None:
    choice = {"index": 0, "delta": {"content": "Hi"}, "finish_reason": None}
    entry = {"token": "Hi", "logprob": -0.5, "top_logprobs": [{"token": "Hi", "logprob": -0.5}]}
    first = b"data: " + json.dumps({"choices": [{**choice, "logprobs": {"content": [entry]}}]}).encode() + b"\n\n"
    fake.body = ROLE + first + STOP + DONE
    settings = {
        "top_k": 4,
        "min_p": 0.25,
        "repetition_penalty": 1.5,
        "presence_penalty": 0.5,
        "frequency_penalty": -0.5,
    }
    talk = replace(asked(), sampling=Sampling(**settings, stop=("END",), logprobs=1))  # type: ignore[arg-type]
    chunks = await read(at(fake.url), talk)
    assert [token for chunk in chunks for token in chunk.logprobs] == [TokenLogprob("Hi", -0.5, (("Hi", -0.5),))]
    assert fake.asked[0].items() >= {**settings, "stop": ["END"], "logprobs": True, "top_logprobs": 1}.items()
    await read(at(fake.url))
    assert not fake.asked[1].keys() & {*settings, "stop", "logprobs", "top_logprobs"}


async def test_an_answer_is_streamed_and_counted(fake: FakeOpenAI) -> None:
    chunks = await read(at(fake.url), asked(temperature=0.5, seed=2**64 - 1, max_tokens=7))
    assert [chunk.text for chunk in chunks] == [*WORDS, ""]
    assert all(chunk.note is None for chunk in chunks)
    stats = chunks[-1].stats
    assert stats is not None
    assert (stats.tokens, stats.finish) == (3, "stop")
    assert stats.ttft_s is not None
    (sent,) = fake.asked
    assert sent["path"] == "/v1/chat/completions"
    assert sent["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
    ]
    assert (sent["model"], sent["max_tokens"], sent["temperature"], sent["stream"]) == ("m", 7, 0.5, True)
    assert sent["stream_options"] == {"include_usage": True}
    assert 0 <= sent["seed"] < 2**63


@given(PLACES, st.sampled_from([WHOLE, WHOLE.replace(b"\n\n", b"\r\n\r\n"), b": ping\n\nevent: x\n" + WHOLE]))
def test_any_cut_of_the_bytes_gives_the_same_text(places: list[int], body: bytes) -> None:
    async def asked_of(port: int) -> str:
        return "".join([piece.text async for piece in openai.stream(ASK, f"http://127.0.0.1:{port}/v1")])

    async def main() -> str:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for part in cut(body, places):
                if part:
                    writer.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")  # type: ignore[operator]
                    await writer.drain()
            writer.write(b"0\r\n\r\n")
            writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            return await asked_of(server.sockets[0].getsockname()[1])

    assert asyncio.run(main()) == "".join(WORDS)


@pytest.mark.parametrize(
    ("body", "finish"),
    [
        (SAID + STOP, "stop"),  # no [DONE], but the reason of the end: it is whole
        (SAID + DONE, "end"),  # no reason
        (SAID + event({}, "length") + DONE, "length"),
    ],
)
async def test_ends_that_count(fake: FakeOpenAI, body: bytes, finish: str) -> None:
    fake.body = body
    chunks = await read(at(fake.url))
    assert chunks[-1].stats is not None
    assert (chunks[-1].stats.finish, chunks[-1].stats.tokens) == (finish, None)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (SAID, "TW-C03"),
        (b"", "TW-C03"),
        (SAID + event({}, "error") + DONE, "TW-C04"),
        (SAID + b"data: {broken\n\n", "TW-C14"),
        pytest.param(SAID + b"data: " + DEEP + b"\n\n", "TW-C14", id="deep"),
        (b"<html>\n", "TW-C14"),
        (b'data: {"choices": 7}\n\n', "TW-C14"),
        (b"data: []\n\n", "TW-C14"),
        (SAID + b'data: {"error": {"message": "out of memory", "code": 500}}\n\n', "TW-C04"),
    ],
)
async def test_streams_that_break(fake: FakeOpenAI, body: bytes, code: str) -> None:
    fake.body = body
    with pytest.raises(ServerError) as caught:
        await read(at(fake.url))
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("status", "body", "code", "words"),
    [
        (401, '{"error": {"message": "Incorrect API key"}}', "TW-C12", API_KEY),
        (403, "", "TW-C12", "403"),
        (404, '{"object": "error", "message": "The model `m` does not exist."}', "TW-C02", "does not exist"),
        (404, '{"detail": "Not Found"}', "TW-C02", "Not Found"),
        (500, "Internal\nServer Error", "TW-C04", "Server Error"),
        (422, '{"detail": [{"msg": "bad"}]}', "TW-C04", "bad"),
        pytest.param(400, DEEP.decode(), "TW-C04", "[[[", id="deep"),
    ],
)
async def test_refusals(fake: FakeOpenAI, status: int, body: str, code: str, words: str) -> None:
    endpoint = at(fake.url)
    fake.status, fake.body = status, body.encode()
    with pytest.raises(ServerError) as caught:
        await read(endpoint)
    assert caught.value.code == code
    assert words in str(caught.value)


async def test_a_long_history_loses_its_oldest_turns(fake: FakeOpenAI) -> None:
    fake.length = None
    fake.status = 400
    fake.body = b'{"error": {"message": "This model\'s maximum context length is 16 tokens. However, you asked"}}'
    talk = asked("one").with_message("assistant", "a").with_message("user", "two")
    with pytest.raises(UsageError) as caught:
        await read(at(fake.url), talk)
    assert caught.value.code == "TW-C05"
    assert [len(each["messages"]) for each in fake.asked] == [4, 2]


async def test_closing_hangs_up(fake: FakeOpenAI) -> None:
    fake.endless = True
    async with aclosing(answer(at(fake.url), asked())) as chunks:
        await chunks.__anext__()
    assert fake.hung_up.wait(60)


def test_the_model_is_found(fake: FakeOpenAI) -> None:
    endpoint = at(fake.url)
    assert (endpoint.model, endpoint.http, endpoint.protocol) == ("m", f"{fake.url}/v1", "openai")
    assert at(f"{fake.url}/v1/", "m") == endpoint
    with pytest.raises(ServerError) as missing:
        at(fake.url, "other")
    assert missing.value.code == "TW-C02"
    fake.models = ("a", "b")
    with pytest.raises(UsageError) as several:
        at(fake.url)
    assert several.value.code == "TW-C16"
    assert "a, b" in several.value.what
    assert at(fake.url, "b").model == "b"
    fake.models = ()
    with pytest.raises(UsageError) as none:
        at(fake.url)
    assert none.value.code == "TW-C16"


async def test_a_model_that_went_away(fake: FakeOpenAI) -> None:
    endpoint = at(fake.url)
    fake.models = ("new",)
    with pytest.raises(ServerError) as caught:
        await read(endpoint)
    assert caught.value.code == "TW-C02"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:9000",
        "ftp://x",
        "http://",
        "http://[",
        "http://a:x",
        "http://k:s@a",
        "http://é",
        "http://a/b c",
        "http://a\n",
    ],
)
def test_no_url(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        at(url)
    assert caught.value.code == "TW-C15"


async def test_a_kept_alive_refusal_ends_where_it_says() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 6\r\n\r\nno way")
        await reader.read()  # until the client hangs up
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ServerError, match="no way") as caught:
            await asyncio.wait_for(only(f"http://127.0.0.1:{port}/v1"), 60)
    assert caught.value.code == "TW-C04"


@pytest.mark.parametrize(("length", "code"), [("99999", "TW-C03"), ("x", "TW-C14"), ("-1", "TW-C14")])
async def test_a_length_that_is_wrong(length: str, code: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: " + length.encode() + b"\r\n\r\n" + WHOLE)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ServerError) as caught:
            await asyncio.wait_for(only(f"http://127.0.0.1:{port}/v1"), 60)
    assert caught.value.code == code


def test_a_list_of_models_that_no_parser_takes(fake: FakeOpenAI) -> None:
    fake.raw = DEEP
    with pytest.raises(ServerError) as caught:
        at(fake.url)
    assert caught.value.code == "TW-C14"


def test_nobody_answers(silent_port: int) -> None:
    with pytest.raises(ServerError) as caught:
        at(f"http://127.0.0.1:{silent_port}")
    assert caught.value.code == "TW-C01"


def test_something_else_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"220 mail.example.org ESMTP\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(ServerError) as caught:
            at(f"http://127.0.0.1:{listener.getsockname()[1]}")
        thread.join()
    assert caught.value.code == "TW-C14"
