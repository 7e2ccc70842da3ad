"""The chat client against a real tritonserver with real llama.cpp; the models' answers are known byte for byte."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import aclosing
from pathlib import Path

import pytest

from tests.chain_model import CYCLE, CYCLE_TOKENS
from tests.chat.conftest import REFUSAL, SHORT_CONTEXT, Served, chain_repository
from tests.chat.fake_server import fake_server, http_answer
from tests.processes import KILLS
from tests.server_environment import running_triton
from wizard.chat import triton_grpc, triton_http
from wizard.chat.ask import Ask, Piece
from wizard.chat.chunk import Chunk
from wizard.chat.conversation import Conversation, Sampling
from wizard.chat.served import ServedModel
from wizard.chat.stream import answer
from wizard.kernel.errors import ServerError, UsageError
from wizard.plan.ports import Ports
from wizard.serve import find
from wizard.serve.endpoint import Endpoint

ENDLESS = 16000
"""More tokens than any test reads; the models go on for ever."""

both_protocols = pytest.mark.parametrize("protocol", ["grpc", "http"])
e2e = pytest.mark.e2e


def asked(text: str, **sampling: int | float) -> Conversation:
    return Conversation(sampling=Sampling(**sampling)).with_message("user", text)  # type: ignore[arg-type]


async def read(endpoint: Endpoint, talk: Conversation, protocol: str, served: ServedModel | None = None) -> list[Chunk]:
    return [chunk async for chunk in answer(endpoint, talk, protocol=protocol, served=served)]


def without_template(name: str) -> ServedModel:
    """A description by which the client sends the text as it is, and asks the server nothing before."""
    return ServedModel(name, None, (), ENDLESS, 0.0)


async def pieces(served: Served, ask: Ask, protocol: str) -> list[Piece]:
    endpoint = served.endpoint()
    stream = triton_http.stream(ask, endpoint.http) if protocol == "http" else triton_grpc.stream(ask, endpoint.grpc)
    return [piece async for piece in stream]


def text_of(chunks: list[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks)


@e2e
@both_protocols
async def test_streams_piece_by_piece(served: Served, protocol: str) -> None:
    chunks = await read(served.endpoint(), asked("Hello", max_tokens=2 * CYCLE_TOKENS), protocol)
    assert text_of(chunks) == 2 * CYCLE
    assert [chunk.text for chunk in chunks[:6]] == list(CYCLE)  # whole characters, one response each
    counts = [chunk.tokens for chunk in chunks]
    assert counts == sorted(counts)
    stats = chunks[-1].stats
    assert stats is not None
    assert (stats.tokens, stats.finish) == (2 * CYCLE_TOKENS, "length")
    assert stats.ttft_s is not None
    assert 0 < stats.ttft_s <= stats.total_s
    assert {chunk.ttft_s for chunk in chunks if chunk.text} == {stats.ttft_s}
    assert stats.tokens_per_s is not None
    assert all(chunk.stats is None and chunk.note is None for chunk in chunks[:-1])


@e2e
@both_protocols
async def test_the_end_token_ends_it(served: Served, protocol: str) -> None:
    chunks = await read(served.endpoint("base"), asked("Is it?"), protocol)
    assert text_of(chunks) == "yes"
    assert chunks[-1].stats is not None
    assert (chunks[-1].stats.finish, chunks[-1].stats.tokens) == ("stop", 4)
    assert chunks[0].note is not None
    assert "no chat template" in chunks[0].note


@e2e
@both_protocols
async def test_several_turns_with_every_setting(served: Served, protocol: str) -> None:
    talk = Conversation(sampling=Sampling(temperature=0.5, top_p=0.9, max_tokens=CYCLE_TOKENS, seed=2**64 - 1))
    talk = talk.with_message("system", "Be brief.")
    for turn in range(3):
        talk = talk.with_message("user", f"question {turn}")
        text = text_of(await read(served.endpoint(), talk, protocol))
        assert text == CYCLE
        talk = talk.with_message("assistant", text)


@e2e
@both_protocols
async def test_closing_cancels_in_the_server(served: Served, protocol: str) -> None:
    before = served.triton.logged().count("cancelled after")
    async with aclosing(answer(served.endpoint(), asked("Hello", max_tokens=ENDLESS), protocol=protocol)) as chunks:
        async for chunk in chunks:
            if chunk.tokens > 20:
                break
    log = served.triton.wait_for_log(lambda text: text.count("cancelled after") > before)
    assert int(log.rpartition("cancelled after ")[2].split()[0]) < ENDLESS


@e2e
@both_protocols
async def test_cancelling_the_task_cancels_in_the_server(served: Served, protocol: str) -> None:
    before = served.triton.logged().count("cancelled after")
    begun = asyncio.Event()

    async def talk() -> None:
        async for _ in answer(served.endpoint(), asked("Hello", max_tokens=ENDLESS), protocol=protocol):
            begun.set()

    task = asyncio.create_task(talk())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    served.triton.wait_for_log(lambda text: text.count("cancelled after") > before)


@e2e
async def test_a_request_that_waits_for_its_slot_can_be_cancelled(served: Served) -> None:
    before = served.triton.logged().count("cancelled while it waited")
    gated = served.endpoint("gated")  # it has a single slot, and its gate reads a long answer to the end
    talk = asked("Hello", max_tokens=ENDLESS)
    requests = served.requests("gated")
    holder = asyncio.create_task(read(gated, talk, "grpc"))
    await asyncio.to_thread(served.wait_for_requests, "gated", requests + 1)
    waiter = asyncio.create_task(read(gated, talk, "grpc"))
    await asyncio.to_thread(served.wait_for_requests, "gated", requests + 2)
    waiter.cancel()
    await asyncio.wait([waiter])
    await asyncio.to_thread(served.triton.wait_for_log, lambda text: text.count("cancelled while it waited") > before)
    assert not holder.done()
    holder.cancel()
    await asyncio.wait([holder])


@e2e
@both_protocols
async def test_eight_people_at_once(served: Served, protocol: str) -> None:
    talks = [asked(f"person {index}", max_tokens=CYCLE_TOKENS * (index + 1)) for index in range(8)]
    answers = await asyncio.gather(*(read(served.endpoint(), talk, protocol) for talk in talks))
    assert [text_of(chunks) for chunks in answers] == [CYCLE * (index + 1) for index in range(8)]


@e2e
@both_protocols
async def test_the_gate_answers_what_the_model_does_not_know(served: Served, protocol: str) -> None:
    chunks = await read(served.endpoint("gated"), asked("Is it!"), protocol, without_template("gated"))
    assert text_of(chunks) == REFUSAL
    assert chunks[-1].stats is not None
    assert (chunks[-1].stats.finish, chunks[-1].stats.tokens) == ("gate", 0)
    sure = await read(served.endpoint("gated"), asked("Hello", max_tokens=CYCLE_TOKENS), protocol)
    assert text_of(sure) == CYCLE


@e2e
@both_protocols
async def test_the_gate_can_be_cancelled(served: Served, protocol: str) -> None:
    before = served.triton.logged().count("cancelled after")
    talk = asked("Hello\n.\n", max_tokens=4000)
    chunks = answer(served.endpoint("gated"), talk, protocol=protocol, served=without_template("gated"))
    requests = served.requests("gated")
    first = asyncio.create_task(chunks.__anext__())  # the gate reads thousands of tokens before a word is said
    await asyncio.to_thread(served.wait_for_requests, "gated", requests + 1)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    log = served.triton.wait_for_log(lambda text: text.count("cancelled after") > before)
    where = log.rpartition("cancelled after ")[2].splitlines()[0]
    assert ("confidence gate" in where) == (protocol == "grpc")


@e2e
@both_protocols
async def test_the_oldest_turns_are_dropped_and_reported(served: Served, protocol: str) -> None:
    talk = Conversation(sampling=Sampling(max_tokens=CYCLE_TOKENS)).with_message("system", "Be brief.")
    for turn in range(10):
        talk = talk.with_message("user", f"question number {turn}").with_message("assistant", "an answer of some words")
    chunks = await read(served.endpoint("short"), talk.with_message("user", "and now"), protocol)
    assert chunks[0].text == ""
    assert chunks[0].note is not None
    assert "were dropped" in chunks[0].note
    assert text_of(chunks) == CYCLE


@e2e
@both_protocols
async def test_a_message_that_never_fits(served: Served, protocol: str) -> None:
    with pytest.raises(UsageError) as caught:
        await read(served.endpoint("short"), asked("x" * 1000), protocol)
    assert caught.value.code == "TW-C05"
    assert str(SHORT_CONTEXT) in caught.value.what


@e2e
@both_protocols
@pytest.mark.parametrize(
    "text", ["${x}", "\"'`$(id)", "a\0b", "{{ 1 }}{% x %}", "é😀\u202e", "\\n\n\r\n", "]}'\x1b[31m"]
)
async def test_hostile_text_reaches_the_model_byte_for_byte(served: Served, protocol: str, text: str) -> None:
    prompt = text * 200  # every byte is one token of this model, so its complaint tells what it got
    with pytest.raises(UsageError) as caught:
        await read(served.endpoint("base"), asked(prompt), protocol)
    assert f" {len(prompt.encode()):,} tokens" in caught.value.what


@e2e
@both_protocols
async def test_no_thinking_is_what_a_model_does_that_never_thinks(served: Served, protocol: str) -> None:
    for mode, notes in (("off", 0), ("low", 1)):
        talk = Conversation(sampling=Sampling(thinking=mode, max_tokens=1)).with_message("user", "is it?")
        chunks = await read(served.endpoint(), talk, protocol)
        assert len([chunk for chunk in chunks if chunk.note]) == notes


@e2e
@both_protocols
async def test_half_a_character_from_a_terminal_does_no_harm(served: Served, protocol: str) -> None:
    chunks = await read(served.endpoint("base"), asked("\udcff?"), protocol)
    assert text_of(chunks) == "yes"


@e2e
@both_protocols
async def test_the_begin_token_is_not_doubled(served: Served, protocol: str) -> None:
    prompt = "<|im_start|>" + "x" * 300
    with pytest.raises(UsageError) as caught:
        await read(served.endpoint("begun"), asked(prompt), protocol, without_template("begun"))
    assert " 301 tokens" in caught.value.what


@e2e
@both_protocols
async def test_a_model_that_is_not_served(served: Served, protocol: str) -> None:
    with pytest.raises(ServerError) as caught:
        await read(served.endpoint("nope"), asked("x"), protocol, without_template("nope"))
    assert caught.value.code == "TW-C02"


@e2e
@both_protocols
async def test_a_refusal_of_the_server_is_reported_in_its_words(served: Served, protocol: str) -> None:
    ask = Ask("chain", "x", 10, -1.0, 0.95, None)  # the client's own check would not let this through
    with pytest.raises(UsageError) as caught:
        await pieces(served, ask, protocol)
    assert caught.value.code == "TW-C08"
    assert "temperature must be 0 or more" in caught.value.what


@e2e
@both_protocols
async def test_the_server_is_killed_in_the_middle(tmp_path: Path, protocol: str) -> None:
    with running_triton(chain_repository(tmp_path / "repository"), tmp_path) as triton:
        endpoint = Served(triton).endpoint()
        talk = asked("Hello", max_tokens=ENDLESS)
        chunks = answer(endpoint, talk, protocol=protocol)
        await chunks.__anext__()
        triton.process.kill()
        triton.process.wait()
        with pytest.raises(ServerError) as caught:
            [chunk async for chunk in chunks]
        assert caught.value.code == "TW-C03"
        for chat in (without_template("chain"), None):
            with pytest.raises(ServerError) as caught:
                await read(endpoint, talk, protocol, chat)
            assert caught.value.code == "TW-C01"


@e2e
@both_protocols
@pytest.mark.parametrize("when", ["before", "during"])
async def test_the_models_process_is_killed_and_triton_lives_on(tmp_path: Path, protocol: str, when: str) -> None:
    for number in range(KILLS):
        folder = tmp_path / str(number)
        folder.mkdir()
        with running_triton(chain_repository(folder / "repository"), folder) as triton:
            endpoint = Served(triton).endpoint()
            process = find.model_process(endpoint)
            assert process is not None
            chunks = answer(endpoint, asked("Hello", max_tokens=ENDLESS), protocol=protocol)
            if when == "during":
                await chunks.__anext__()
            os.kill(process.pid, signal.SIGKILL)
            with pytest.raises(ServerError) as caught:
                [chunk async for chunk in chunks]
            if caught.value.code in ("TW-C01", "TW-C03"):  # nobody answers (any more), see `KILLS`
                assert triton.process.wait(60) != 0
                continue
            assert caught.value.code == "TW-C11"
            assert "triton-wizard up chain" in caught.value.todo
            assert triton.status("/v2/models/chain/ready") == 200  # that is why nobody may believe it
            assert find.model_process(endpoint) is None
            others = await read(Served(triton).endpoint("short"), asked("Hello", max_tokens=CYCLE_TOKENS), protocol)
            assert text_of(others) == CYCLE
            return
    pytest.fail("Triton ended with its model's process each time")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"220 mail.example.org ESMTP\r\n\r\n", "TW-C07"),
        (http_answer("200 OK", "<html>"), "TW-C07"),
        (http_answer("200 OK", "{}"), "TW-C07"),
        pytest.param(http_answer("200 OK", "[" * 200_000), "TW-C07", id="deep"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n", "TW-C07"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nabc", "TW-C03"),
        (b"HTTP/1.1 200", "TW-C03"),
        (b"", "TW-C03"),
    ],
)
async def test_something_else_answers(body: bytes, code: str) -> None:
    with fake_server(body) as port:
        endpoint = Endpoint("t", "m", "127.0.0.1", Ports(port, port, port), 1, "0", "log")
        with pytest.raises(ServerError) as caught:
            await read(endpoint, asked("x"), "http", without_template("m"))
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("talk", "protocol", "code"),
    [
        (asked("x", max_tokens=0), "grpc", "TW-C08"),
        (asked("x"), "carrier pigeon", "TW-C09"),
        (asked(" \n"), "grpc", "TW-C10"),
        (Conversation(), "http", "TW-C10"),
    ],
)
async def test_what_cannot_be_asked(talk: Conversation, protocol: str, code: str) -> None:
    nowhere = Endpoint("t", "m", "127.0.0.1", Ports(9, 9, 9), 1, "0", "log")
    with pytest.raises(UsageError) as caught:
        await read(nowhere, talk, protocol)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("prompt", "begin", "left"),
    [
        ("<s>[INST] Hi [/INST]", "<s>", "[INST] Hi [/INST]"),
        ("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n", "<|im_start|>", None),
        ("Hi", "", None),
        ("Hi <s>", "<s>", None),
    ],
)
def test_a_begin_token_that_tokenizers_add_is_not_sent_twice(prompt: str, begin: str, left: str | None) -> None:
    from wizard.chat.client import _without_begin

    assert _without_begin(prompt, begin, None) == (prompt if left is None else left)
