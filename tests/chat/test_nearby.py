"""Servers of other programs on this machine, against stand-ins made from their documented replies."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.chat.fake_http import serving_bytes, whole
from tests.chat.fake_local_servers import (
    FakeLlamaServer,
    FakeLMStudio,
    FakeOllama,
    FakeTriton,
    FakeVllm,
    local_server,
    silent_port,
)
from tests.chat.fake_openai import read
from wizard.catalog.local_servers import LocalServer, LocalServers, local_servers
from wizard.catalog.profiles import find, load
from wizard.chat import nearby, openai
from wizard.chat.client import described
from wizard.kernel.errors import ServerError, UsageError

SLACK_S = 1.0
"""Of a busy machine, besides the time that a look may take."""
KINDS = [
    (FakeOllama(("llama3.1:8b", "qwen3:4b")), "Ollama"),
    (FakeLlamaServer(("ggml-org/gemma-3-1b-it-GGUF",)), "llama-server"),
    (FakeLMStudio(("text-embedding-nomic-embed-text-v1.5", "qwen/qwen3-4b")), "LM Studio"),
    (FakeVllm(("facebook/opt-125m",)), "vLLM"),
    (FakeTriton(("chat", "resnet")), "Triton"),
]


@pytest.fixture
def look(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[nearby.Nearby]]:
    """Look at these ports instead of the usual ones."""

    def at(*ports: int) -> list[nearby.Nearby]:
        rows = tuple(row for row in local_servers().servers)
        table = LocalServers(
            (LocalServer("", ports, (), "this test"), *(LocalServer(r.name, (), r.owners, r.source) for r in rows))
        )
        monkeypatch.setattr(nearby, "local_servers", lambda: table)
        return nearby.nearby()

    return at


def test_every_usual_port_has_a_source() -> None:
    table = local_servers()
    assert table.ports == (11434, 8080, 9931, 8000, 1234, 9000)
    assert all(server.source and server.owners for server in table.servers)


def test_the_table_is_read_as_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert local_servers() == load(LocalServers, find("local_servers.toml"))
    monkeypatch.setenv("TRITON_WIZARD_PROFILES", str(tmp_path))
    (tmp_path / "local_servers.toml").write_text('[[servers]]\nname = "a"\nports = 1\nowners = []\nsource = "b"\n')
    with pytest.raises(UsageError) as caught:
        local_servers()
    assert caught.value.code == "TW-K01"


def test_each_program_is_named_and_asked_for_its_models_only(look: Callable[..., list[nearby.Nearby]]) -> None:
    with ExitStack() as stack:
        fakes = [stack.enter_context(local_server(fake)) for fake, _ in KINDS]
        servers = look(*(fake.port for fake in fakes))
    assert [server.kind for server in servers] == [kind for _, kind in KINDS]
    assert [[each.model for each in server.endpoints] for server in servers] == [
        ["llama3.1:8b", "qwen3:4b"],
        ["ggml-org/gemma-3-1b-it-GGUF"],
        ["qwen/qwen3-4b", "text-embedding-nomic-embed-text-v1.5"],
        ["facebook/opt-125m"],
        ["chat"],
    ]
    assert [server.address for server in servers] == [f"127.0.0.1:{fake.port}" for fake in fakes]
    assert [fake.asked for fake in fakes[:4]] == [[("GET", "/v1/models")]] * 4


def test_a_model_of_an_unknown_owner_is_on_a_server_without_a_name(look: Callable[..., list[nearby.Nearby]]) -> None:
    with local_server(FakeOllama(("hf.co/bartowski/x",))) as fake:
        assert [server.kind for server in look(fake.port)] == [""]


def test_known_servers_are_not_looked_at(
    look: Callable[..., list[nearby.Nearby]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with local_server(FakeVllm(("m",))) as fake:
        (server,) = look(fake.port)
        assert nearby.nearby(server.endpoints) == []
        assert len(fake.asked) == 1


@pytest.mark.parametrize(
    "answer",
    [
        whole(b"<!doctype html><title>My site</title>", "200 OK", "Content-Type: text/html"),
        whole(b"{}"),
        whole(b'{"data": null}'),
        whole(b'{"data": [1]}'),
        whole(b'{"data": [{"id": "x"}]}', "401 Unauthorized"),
        whole(b"[" * 200_000),
        whole(b"\xff\xfe"),
        b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n" + b"x" * (2**20 + 1),
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\x00\x01\x02",
    ],
    ids=["html", "object", "null", "numbers", "key", "deep", "binary", "redirect", "endless", "ssh", "zeros"],
)
def test_whatever_else_answers_is_no_server(look: Callable[..., list[nearby.Nearby]], answer: bytes) -> None:
    with serving_bytes(lambda _: answer) as fake:
        assert look(fake.port) == []
        assert fake.lines[0] == "GET /v1/models HTTP/1.1"


def test_a_port_that_hangs_trickles_or_is_dead_delays_nothing(look: Callable[..., list[nearby.Nearby]]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        dead = closed.getsockname()[1]
    with local_server(FakeVllm(("m",))) as fake, silent_port() as hangs, silent_port(b"x") as trickles:
        look(fake.port)  # what is loaded once
        before = time.monotonic()
        servers = look(dead, hangs, trickles, fake.port)
        took = time.monotonic() - before
    assert [server.kind for server in servers] == ["vLLM"]
    assert nearby.LOOK_S <= took < nearby.LOOK_S + SLACK_S


async def test_tokens_are_counted_or_else_the_pieces_of_the_stream() -> None:
    with local_server(FakeOllama(("a",))) as counts, local_server(FakeLMStudio(("b",))) as does_not:
        stats = [(await read(openai.at(fake.url)))[-1].stats for fake in (counts, does_not)]
    assert [(each.tokens, each.pieces) for each in stats if each] == [(7, None), (None, 4)]
    last = stats[1]
    assert last is not None
    assert last.tokens_per_s is None
    assert last.pieces_per_s is not None


def test_the_context_comes_from_the_list_of_models() -> None:
    lengths = []
    for fake in (FakeLlamaServer(), FakeVllm(), FakeOllama(), FakeLMStudio()):
        with local_server(fake):
            lengths.append(described(nearby.at(fake.url)).max_seq_len)
    assert lengths == [16384, 8192, None, None]


def test_a_triton_is_found_by_its_url_and_asked_by_http() -> None:
    with local_server(FakeTriton(("chat", "resnet"))) as fake:
        (endpoint,) = nearby.endpoints(fake.url)
        assert (endpoint.model, endpoint.protocol, endpoint.http) == ("chat", "triton", fake.url)
        assert described(nearby.at(fake.url, "chat")).name == "chat"
        with pytest.raises(ServerError, match="no model named 'resnet'"):
            nearby.at(fake.url, "resnet")


def test_a_url_with_several_models_wants_a_name() -> None:
    with local_server(FakeOllama(("a", "b"))) as fake:
        assert [each.model for each in nearby.endpoints(fake.url)] == ["a", "b"]
        with pytest.raises(UsageError) as raised:
            nearby.at(fake.url)
        assert raised.value.code == "TW-C16"


def test_neither_openai_nor_triton_is_an_error() -> None:
    with serving_bytes(lambda _: whole(b"<html>")) as fake, pytest.raises(ServerError) as raised:
        nearby.at(fake.url)
    assert raised.value.code == "TW-C14"
