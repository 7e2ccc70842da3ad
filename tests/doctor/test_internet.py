"""What the network returns: the real clients against a hub and a package index on the loopback interface."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.model.fake_hub import FakeHub
from wizard.doctor.facts import Response
from wizard.doctor.readers import internet as reader
from wizard.doctor.readers.internet import internet, together
from wizard.model.hub.account import Account

TOKEN = "hf_" + "a" * 34  # not a real one
READ = {"name": "ada", "auth": {"type": "access_token", "accessToken": {"displayName": "x", "role": "read"}}}
FINE = {
    "name": "ada",
    "auth": {"accessToken": {"role": "fineGrained", "fineGrained": {"canReadGatedRepos": False, "scoped": []}}},
}


class Index(BaseHTTPRequestHandler):
    """A package index with a release of pip (PEP 503), 400 s behind this machine's clock."""

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        body = (
            b'<a href="pip-99.0-py3-none-any.whl">pip-99.0-py3-none-any.whl</a>'
            if self.path.endswith("/pip/")
            else b"[]"
        )
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if self.path.endswith("/pip/") else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def date_time_string(self, timestamp: float | None = None) -> str:
        return super().date_time_string((timestamp or time.time()) - 400)


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    with FakeHub({}) as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        yield running


@pytest.fixture(autouse=True)
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The only index that pip knows."""
    with listening(Index) as url:
        for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_CONSTRAINT"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
        monkeypatch.setenv("PIP_INDEX_URL", f"{url}/simple")
        monkeypatch.setattr(reader, "LIMIT_S", 30.0)  # a busy machine starts pip slowly
        yield url


def test_all_is_well(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    hub.accounts[TOKEN] = READ
    hub.closed_to_all = {"meta-llama/Llama-3.1-8B-Instruct"}
    facts = internet()
    assert (facts.endpoint, facts.proxied) == (hub.url, False)
    assert facts.names == facts.index == facts.token == Response(True)
    assert facts.hub.ok is True
    assert abs(facts.hub.clock_ahead_s or 99) < 30
    assert facts.account == Account("ada", "read")
    assert facts.gated["meta-llama/Llama-3.1-8B-Instruct"] is False
    assert set(facts.gated.values()) == {True, False}
    assert TOKEN not in repr(facts)


def test_without_a_token_nothing_that_needs_one_is_asked(hub: FakeHub) -> None:
    facts = internet()
    assert (facts.has_token, facts.account, facts.gated) == (False, None, {})
    assert hub.paths("GET") == ["/api/models?limit=1"]


def test_a_token_that_the_hub_rejects(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    facts = internet()
    assert (facts.has_token, facts.token, facts.account) == (True, Response(False), None)
    assert TOKEN not in repr(facts)


def test_a_fine_grained_token_without_gated_repositories(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    hub.accounts[TOKEN] = FINE
    assert internet().account == Account("ada", "fineGrained", False)


@pytest.mark.parametrize("reply", [{}, {"name": 7, "auth": []}, {"auth": {"accessToken": {"role": None}}}])
def test_an_account_without_what_the_hub_should_report(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch, reply: dict[str, Any]
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    hub.accounts[TOKEN] = {"type": "user", **reply}
    account = internet().account
    assert account is not None
    assert account.role == ""


def test_another_server_in_the_hubs_place(hub: FakeHub) -> None:
    hub.trouble = "foreign"
    assert internet().hub == Response(False, "not the Hub's API (HTTP 200)", clock_ahead_s=pytest.approx(0, abs=30))


def test_a_wrong_clock(index: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", index)
    facts = internet()
    assert facts.hub.ok is True
    assert 370 < (facts.hub.clock_ahead_s or 0) < 430


def test_no_hub_and_no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # it does not listen
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        monkeypatch.setenv("HF_ENDPOINT", url)
        monkeypatch.setenv("PIP_INDEX_URL", url.replace("://", "://ada:secret@"))
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        facts = internet()
    assert facts.hub.ok is False
    assert "refused" in facts.hub.problem
    assert facts.index.ok is False
    assert facts.token.ok is None
    assert set(facts.gated.values()) == {None}
    assert "secret" not in repr(facts)
    assert TOKEN not in repr(facts)


def test_a_name_that_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.invalid")  # RFC 2606
    facts = internet()
    assert facts.names.ok is False
    assert facts.hub.ok is False


def test_a_hub_that_does_not_answer_is_unknown_after_the_limit(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.trouble = "silent"
    monkeypatch.setattr(reader, "LIMIT_S", 1.0)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    facts = internet()
    assert facts.hub.ok is not True
    assert facts.token.ok is None
    assert "1 s" in facts.token.problem


def test_a_proxy_resolves_the_names(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HF_ENDPOINT", "http://hub.invalid")
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{closed.getsockname()[1]}")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        facts = internet()
    assert facts.proxied
    assert facts.hub.ok is False


def test_an_interpreter_without_pip(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_INDEX", ("-m", "no_such_module_pip"))
    facts = internet()
    assert facts.index.ok is None
    assert "No module named" in facts.index.problem


def test_a_certificate_that_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not shutil.which("openssl"):
        pytest.skip("openssl makes the certificate")
    argv = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    files = ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem")]
    subprocess.run([*argv, *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Index)
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"https://127.0.0.1:{server.server_address[1]}")
    try:
        facts = internet()
    finally:
        server.shutdown()
        server.server_close()
    assert facts.hub.untrusted
    assert facts.hub.ok is False
    assert "certificate" in facts.hub.problem


def test_work_that_fails_or_does_not_end_keeps_nothing_else() -> None:
    never = threading.Event()

    def fails() -> int:
        raise ValueError("no")

    results = together({"good": lambda: 1, "bad": fails, "late": never.wait}, 0.5)
    never.set()
    assert results["good"] == 1
    assert isinstance(results["bad"], ValueError)
    assert "late" not in results
