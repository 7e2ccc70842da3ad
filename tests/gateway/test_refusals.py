"""Requests that are refused, or that would hurt: each gets a typed error, and the next one is answered."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import socket
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.chain_model import CHAT as FORMAT
from tests.gateway.conftest import SECONDS, Address
from tests.gateway.test_answers import ASKED, create
from tests.ports import reserved
from wizard.chat.ask import (
    PromptTooLong,
    bad_template,
    engine_restarting,
    model_ended,
    no_model,
    server_error,
    unreachable,
)
from wizard.chat.client import Client
from wizard.chat.served import ServedModel
from wizard.gateway import app, bodies, guard, requests, server
from wizard.gateway.faults import fault
from wizard.gateway.servers import Servers
from wizard.kernel import proctable
from wizard.kernel.paths import Workspace
from wizard.plan.ports import Ports
from wizard.serve import find
from wizard.serve.endpoint import Endpoint

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("gateway")]
CHAT = "/v1/chat/completions"
FUNCTION = {"type": "function", "function": {"name": "weather"}}
CHOICE = {"type": "function", "function": {"name": "another"}}
NO_OBJECT = {"id": "1", "function": {"name": "f", "arguments": "[1]"}}
LARGE = {"type": "json_schema", "json_schema": {"schema": {"enum": ["x" * 100_000]}}}


def send(address: Address, body: bytes, path: str = CHAT, **headers: str) -> tuple[int, bytes]:
    """Status and answer."""
    connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=SECONDS)
    connection.request("POST", path, body, {"Content-Type": "application/json", **headers})
    answer = connection.getresponse()
    status, data = answer.status, answer.read()
    connection.close()
    return status, data


def post(address: Address, body: bytes, path: str = CHAT, **headers: str) -> tuple[int, dict[str, Any]]:
    """Status and error of a request that is refused."""
    status, data = send(address, body, path, **headers)
    error = json.loads(data)["error"]
    from openai.types.shared import ErrorObject

    ErrorObject.model_validate(error, strict=True)
    assert error["type"] == ("server_error" if status >= 500 else "invalid_request_error")
    return status, error


@pytest.mark.parametrize(
    ("changes", "status", "code", "param"),
    [
        ({"n": 0}, 400, "TW-G03", "n"),
        ({"n": 129}, 400, "TW-G03", "n"),
        ({"n": True}, 400, "TW-G03", "n"),
        ({"tools": [FUNCTION]}, 400, "TW-G04", "tools"),  # its template has none
        ({"tools": [FUNCTION], "tool_choice": "required"}, 400, "TW-G04", "tools"),
        ({"tools": [FUNCTION] * 129}, 400, "TW-G03", "tools"),
        ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, 400, "TW-G03", "tools"),
        ({"tools": [{"type": "retrieval"}]}, 400, "TW-G03", "tools"),
        ({"tools": [FUNCTION], "tool_choice": CHOICE}, 400, "TW-G03", "tool_choice"),
        ({"tool_choice": "required"}, 400, "TW-G03", "tool_choice"),
        ({"tool_choice": "sometimes"}, 400, "TW-G03", "tool_choice"),
        ({"tools": [FUNCTION], "response_format": {"type": "json_object"}}, 400, "TW-G04", "response_format"),
        ({"functions": [{"name": "f"}]}, 400, "TW-G04", "functions"),
        ({"response_format": {"type": "xml"}}, 400, "TW-G03", "response_format"),
        ({"response_format": {"type": "json_schema"}}, 400, "TW-G03", "response_format"),
        ({"response_format": {"type": "json_schema", "json_schema": {}}}, 400, "TW-G03", "response_format"),
        ({"response_format": LARGE}, 400, "TW-G03", "response_format"),
        ({"messages": [{"role": "assistant", "tool_calls": [{"id": "1", "function": {}}]}]}, 400, "TW-G03", "messages"),
        ({"messages": [{"role": "assistant", "tool_calls": [NO_OBJECT]}]}, 400, "TW-G03", "messages"),
        ({"messages": [{"role": "narrator", "content": "x"}]}, 400, "TW-G04", "messages"),
        ({"modalities": ["audio"]}, 400, "TW-G04", "modalities"),
        ({"reasoning_effort": "low"}, 400, "TW-G04", "reasoning_effort"),  # its template has no modes
        ({"chat_template_kwargs": {"messages": []}}, 400, "TW-G03", "chat_template_kwargs"),
        ({"logit_bias": {"1": 1}}, 400, "TW-G04", "logit_bias"),
        ({"max_tokens": 3, "max_completion_tokens": 4}, 400, "TW-G03", "max_tokens"),
        ({"max_tokens": 0}, 400, "TW-G03", "max_tokens"),
        ({"max_tokens": "many"}, 400, "TW-G03", "max_tokens"),
        ({"max_tokens": 10**30}, 400, "TW-G03", "max_tokens"),
        ({"temperature": 3}, 400, "TW-G03", "temperature"),
        ({"top_p": 0}, 400, "TW-G03", "top_p"),
        ({"top_logprobs": 2}, 400, "TW-G03", "top_logprobs"),
        ({"logprobs": True, "top_logprobs": 21}, 400, "TW-G03", "top_logprobs"),
        ({"stream_options": {"include_usage": True}}, 400, "TW-G03", "stream_options"),
        ({"stop": ["x"] * 10_000}, 400, "TW-G03", "stop"),
        ({"stop": ["x" * 2000]}, 400, "TW-G03", "stop"),
        ({"stop": "x" * 2000}, 400, "TW-G03", "stop"),
        ({"messages": []}, 400, "TW-G03", "messages"),
        ({"messages": "hello"}, 400, "TW-G03", "messages"),
        ({"messages": [{"role": "tool", "content": "x"}]}, 400, "TW-G04", "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, 400, "TW-G04", "messages"),
        ({"model": "another"}, 404, "TW-G05", "model"),
        ({"model": "x\ny" * 1000}, 404, "TW-G05", "model"),
    ],
)
def test_a_parameter_that_cannot_be_used(
    chain: Address, changes: dict[str, Any], status: int, code: str, param: str
) -> None:
    body = json.dumps({"model": "chain", "messages": ASKED, **changes}).encode()
    got, error = post(chain, body)
    assert (got, error["wizard_code"], error["param"]) == (status, code, param)
    assert len(error["message"]) < 400  # what the client sent is not sent back


@pytest.mark.parametrize(
    ("changes", "param"),
    [
        ({"prompt": ["a", ""]}, "prompt"),
        ({"prompt": []}, "prompt"),
        ({"prompt": ["a"] * 65, "n": 2}, "prompt"),
        ({"prompt": [1, 2]}, "prompt"),
        ({"prompt": ""}, "prompt"),
        ({"echo": True}, "echo"),
        ({"best_of": 2}, "best_of"),
        ({"suffix": "x"}, "suffix"),
    ],
)
def test_a_completion_that_cannot_be_made(chain: Address, changes: dict[str, Any], param: str) -> None:
    status, error = post(chain, json.dumps({"model": "chain", "prompt": "a", **changes}).encode(), "/v1/completions")
    assert (status, error["param"]) == (400, param)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff\xfe", b'{"model": "\xff"}', b'{"model": "\\ud800"}', b"[" * 100_000],
)
def test_a_body_that_is_no_json(chain: Address, body: bytes) -> None:
    status, error = post(chain, body)
    assert (status, error["wizard_code"]) == (400, "TW-G02")


@pytest.mark.parametrize("number", [b"1e999", b"NaN", b"-Infinity"])
def test_a_number_that_is_none(chain: Address, number: bytes) -> None:
    body = b'{"model": "chain", "messages": [{"role": "user"}], "temperature": ' + number + b"}"
    status, error = post(chain, body)
    assert (status, error["param"]) == (400, "temperature")


def test_a_body_that_is_too_large(chain: Address) -> None:
    """Said at once, by its announced size, or when it has become too large; nothing of it is kept."""
    connection = http.client.HTTPConnection("127.0.0.1", chain.port, timeout=SECONDS)
    connection.putrequest("POST", CHAT)
    connection.putheader("Content-Length", str(100_000_000))
    connection.endheaders()
    announced = connection.getresponse()
    assert (announced.status, json.load(announced)["error"]["code"]) == (413, "TW-G01")
    connection.close()
    connection = http.client.HTTPConnection("127.0.0.1", chain.port, timeout=SECONDS)
    chunks = (b"x" * 2**20 for _ in range(app.LARGEST_BODY // 2**20 + 1))
    connection.request("POST", CHAT, chunks, encode_chunked=True, headers={"Transfer-Encoding": "chunked"})
    assert connection.getresponse().status == 413
    connection.close()
    assert create(chain).choices


def test_a_prompt_that_is_too_long(chain: Address) -> None:
    from openai import BadRequestError

    with pytest.raises(BadRequestError) as caught:
        create(chain, messages=[{"role": "user", "content": "long " * 10_000}], stream=True)
    assert caught.value.code == "context_length_exceeded"


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:8000"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "[::1"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
    ],
)
def test_a_web_page_of_a_stranger(chain: Address, headers: dict[str, str]) -> None:
    body = json.dumps({"model": "chain", "messages": ASKED}).encode()
    status, error = post(chain, body, **headers)
    assert (status, error["wizard_code"]) == (403, "TW-G06")


def test_no_page_is_allowed_to_read_an_answer(chain: Address) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", chain.port, timeout=SECONDS)
    connection.request("GET", "/v1/models", headers={"Origin": "http://localhost:3000"})
    answer = connection.getresponse()
    assert (answer.status, answer.headers["Access-Control-Allow-Origin"]) == (200, None)
    connection.close()


def test_another_path_or_method(chain: Address) -> None:
    status, error = post(chain, b"{}", "/v1/embeddings")
    assert (status, error["wizard_code"], error["code"]) == (404, "TW-G12", "model_not_found")
    status, error = post(chain, b"{}", "/v1/models")
    assert (status, error["message"]) == (405, "/v1/models does not accept POST")


def test_a_key_with_a_line_break(chain: Address) -> None:
    with socket.create_connection(("127.0.0.1", chain.port), SECONDS) as connection:
        connection.sendall(b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer a\nb\r\n\r\n")
        reply = http.client.HTTPResponse(connection)
        reply.begin()
        assert (reply.status, json.load(reply)["error"]["wizard_code"]) == (400, "TW-G02")


BEGIN = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = BEGIN + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("begin", "rest"),
    [
        (BEGIN, b"X: " + b"x" * 1000 + b"\r\n"),
        (BEGIN + b"X: ", b"x" * 1000),
        (BEGIN[:4] + b"/", b"x" * 1000),
        (CHUNKED + b"1;", b"x" * 1000),
        (CHUNKED + b"1\r\nx\r\n0\r\n", b"X: " + b"x" * 1000 + b"\r\n"),
        (CHUNKED + b"0\r\nX: ", b"x" * 1000),
    ],
    ids=["headers", "header", "path", "chunk extension", "trailers", "trailer"],
)
def test_headers_without_end(chain: Address, begin: bytes, rest: bytes) -> None:
    """Refused before much of them is kept, wherever in a request they are."""
    before = peak(chain)
    with socket.create_connection(("127.0.0.1", chain.port), SECONDS) as connection:
        connection.sendall(begin)
        with suppress(OSError):  # closed by the gateway; what it has answered may be lost with the rest
            for _ in range(200):
                connection.sendall(rest * 500)
            pytest.fail("100 MB of headers were taken")
    assert peak(chain) - before < 20e6
    assert create(chain).choices


def test_headers_that_are_too_large(chain: Address) -> None:
    with socket.create_connection(("127.0.0.1", chain.port), SECONDS) as connection:
        connection.sendall(BEGIN + b"X: " + b"x" * server.HEADERS)
        reply = http.client.HTTPResponse(connection)
        reply.begin()
        error = json.load(reply)["error"]
    assert (reply.status, error["wizard_code"], error["message"]) == (
        400,
        "TW-G02",
        "the headers have more than 65,536 bytes",
    )


def test_a_client_that_never_sends_its_headers(chain: Address) -> None:
    """Closed by the gateway; those beside it are answered meanwhile."""
    with socket.create_connection(("127.0.0.1", chain.port), SECONDS) as slow:
        slow.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n")
        assert create(chain).choices
        assert slow.recv(1) == b""


async def test_a_client_that_never_takes_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "STALLED_S", 0.01)

    async def send(_: object) -> None:
        await asyncio.Event().wait()

    async def write() -> None:
        await app._Patience(send).send({"type": "http.response.body"})

    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(asyncio.create_task(write()), SECONDS)


def test_what_many_programs_send_is_understood() -> None:
    """Roles and parts of messages as OpenAI's newer models have them; unknown parameters are no error."""
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    messages = [{"role": "developer", "content": "d"}, {"role": "user", "content": parts, "name": "me"}]
    body = {"model": "m", "messages": messages, "store": False, "max_completion_tokens": 5, "seed": -1, "stop": ""}
    wanted = bodies.chat(json.dumps(body).encode())
    assert [(each["role"], each["content"]) for each in wanted.turns] == [("system", "d"), ("user", "ab")]
    assert (wanted.max_tokens, wanted.sampling.seed, wanted.sampling.stop) == (5, 2**64 - 1, ())


@pytest.mark.parametrize(
    ("error", "status", "code", "known"),
    [
        (PromptTooLong("9 tokens"), 400, "TW-C05", "context_length_exceeded"),
        (no_model("m", "gone"), 404, "TW-C02", "model_not_found"),
        (unreachable("127.0.0.1:1", "refused"), 503, "TW-C01", "TW-C01"),
        (model_ended("m"), 503, "TW-C11", "TW-C11"),
        (engine_restarting("m"), 503, "TW-C33", "TW-C33"),
        (server_error("odd", "m"), 500, "TW-C04", "TW-C04"),
        (bad_template("no system role"), 400, "TW-C06", "TW-C06"),
        (RuntimeError("secret"), 500, "TW-G09", "TW-G09"),
    ],
)
def test_what_goes_wrong_behind_it(error: Exception, status: int, code: str, known: str) -> None:
    failed = fault(error)
    body = failed.body()["error"]
    assert (failed.status, body["wizard_code"], body["code"]) == (status, code, known)
    assert "secret" not in body["message"]


async def test_too_much_or_too_slow_a_body(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """TW-G08, without a server: by the application itself."""
    gateway = app.Gateway(Servers(Workspace(tmp_path)))
    never = asyncio.Event()

    async def slow() -> dict[str, Any]:
        await never.wait()
        return {}

    async def large() -> dict[str, Any]:
        return {"type": "http.request", "body": b"x" * 100, "more_body": False}

    for receive, name, value, status in ((slow, "BODY_S", 0.01, 408), (large, "ALL_BODIES", 50, 503)):
        sent: list[Any] = []

        async def send(message: Any, sent: list[Any] = sent) -> None:
            sent.append(message)

        with monkeypatch.context() as changed:
            changed.setattr(app, name, value)
            await app.application(gateway)(scope(CHAT), receive, send)
        assert sent[0]["status"] == status
        assert json.loads(sent[1]["body"])["error"]["code"] == "TW-G08"


def scope(path: str) -> dict[str, Any]:
    headers = [(b"host", b"127.0.0.1")]
    return {"type": "http", "method": "POST", "path": path, "headers": headers, "query_string": b"", "root_path": ""}


async def test_a_model_that_is_gone_is_not_healthy(tmp_path: Path) -> None:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    server, row = Workspace(tmp_path).server("s"), proctable.read(os.getpid())
    server.root.mkdir(parents=True)
    with reserved() as port:
        ports = Ports(port, port, port)
        find.write(server, Endpoint("s", "m", "127.0.0.1", ports, os.getpid(), row.started if row else "", "log"))
        gateway = app.Gateway(Servers(Workspace(tmp_path)))
        await app.application(gateway)({**scope("/health"), "method": "GET"}, receive, send)
    assert (sent[0]["status"], json.loads(sent[1]["body"])["error"]["code"]) == (503, "TW-G10")


def test_another_path_is_said_to_be_none(chain: Address) -> None:
    status, error = post(chain, b"{}", "/v1/responses")
    assert (status, error["code"]) == (404, "TW-G07")
    assert error["message"] == "no such address: /v1/responses; there are /v1/chat/completions, /v1/completions, " + (
        "/v1/messages, /v1/models, /health and /metrics"
    )
    assert post(chain, b"{}", "/v2/health/ready" * 100)[1]["message"].startswith("no such address: /v2/")


def peak(address: Address) -> int:
    """Bytes of memory that the process that serves has had at most (proc_pid_status(5), VmHWM)."""
    children = Path(f"/proc/{address.process.pid}/task/{address.process.pid}/children").read_text()
    (line,) = (row for row in Path(f"/proc/{int(children)}/status").read_text().splitlines() if row.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def test_no_body_takes_much_memory(chain: Address) -> None:
    """Each just as large as allowed, and wrong in millions of places; 10,000 stop words; 100 MB in chunks."""
    size = app.LARGEST_BODY - 200
    start, end = b'{"model":"chain","messages":[', b"0]}"
    values = [start + b"0," * (size // 2) + end, start + b"{}," * (size // 3) + end]
    few = [start + b"{}," * (app.MOST_VALUES - 10) + end, b'{"model":"chain","prompt":[' + b"0," * 900_000 + end]
    stops = json.dumps({"model": "chain", "messages": ASKED, "stop": [f"stop {i}" for i in range(10_000)]}).encode()
    before = peak(chain)
    for body in values:
        assert post(chain, body)[0] == 413
    for path, body in ((CHAT, few[0]), ("/v1/messages", few[0]), ("/v1/completions", few[1]), (CHAT, stops)):
        status, data = send(chain, body, path)
        assert (status, b"TW-G03" in data or b"TW-G04" in data) == (400, True)
    with socket.create_connection(("127.0.0.1", chain.port), SECONDS) as connection:
        connection.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" % CHAT.encode())
        with suppress(ConnectionError):  # closed before all of it is sent
            for _ in range(100):
                connection.sendall(b"100000\r\n" + b"x" * 2**20 + b"\r\n")
    assert peak(chain) - before < 400 * 2**20
    assert create(chain).choices


async def test_too_many_requests_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The one too many gets an error of its API, and a later one an answer."""
    monkeypatch.setattr(guard, "REQUESTS", 1)
    address, sent, waiting = app.application(app.Gateway(Servers(Workspace(tmp_path)))), list[Any](), asyncio.Event()

    async def slow() -> dict[str, Any]:
        await waiting.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    first = asyncio.create_task(address(scope(CHAT), slow, send))  # type: ignore[arg-type]
    await asyncio.sleep(0)  # it begins
    await address(scope("/v1/messages"), slow, send)
    assert (sent[0]["status"], json.loads(sent[1]["body"])["error"]["type"]) == (503, "overloaded_error")
    waiting.set()
    await first
    sent.clear()
    await address({**scope("/health"), "method": "GET"}, slow, send)
    assert json.loads(sent[1]["body"])["error"]["code"] == "TW-G10"


def test_a_prompt_that_cannot_fit_is_not_sent_to_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "LONGEST_TOKEN", 2)
    endpoint = Endpoint("s", "m", "127.0.0.1", Ports(1, 1, 1), 1, "", "log")
    client = Client(endpoint, ServedModel("m", FORMAT, (), 100, None), None, None)
    wanted = bodies.chat(json.dumps({"model": "m", "messages": [{"role": "user", "content": "a" * 201}]}).encode())
    with pytest.raises(PromptTooLong, match="a request can have 100 tokens"):
        requests.asks(wanted, client)


def test_idle_connections_keep_no_one_out(chain: Address) -> None:
    """More of them than there may be connections; each new one takes the place of an idle one."""
    with ExitStack() as stack:
        for _ in range(700):
            stack.enter_context(socket.create_connection(("127.0.0.1", chain.port), SECONDS))
        assert create(chain).choices
