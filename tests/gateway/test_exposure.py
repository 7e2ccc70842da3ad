"""Beyond this machine only with a key; on it, nothing for web pages that were not named."""

from __future__ import annotations

import http.client
import json
import shutil
import ssl
import subprocess
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.responses import PlainTextResponse

from tests.chat.conftest import Served
from tests.gateway.conftest import SECONDS, added
from tests.gateway.test_owned import gateways, workspace
from wizard.chat import openai
from wizard.gateway.guard import guarded
from wizard.kernel.errors import ServerError, UsageError
from wizard.kernel.paths import GatewayFolder, Workspace
from wizard.serve import exposure, gateway
from wizard.serve.exposure import Exposure

__all__ = ["workspace"]
ORIGIN = "https://chat.example.org"
KEY = "a-key-of-the-tests"


def answered(exposed: Exposure, key: str = "", path: str = "/v1/models", method: str = "GET", **headers: str) -> Any:
    """Status, headers and body of a request."""
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    async def ask() -> None:
        fields = {"host": "127.0.0.1:9000", **headers}
        raw = [(name.replace("_", "-").lower().encode(), value.encode()) for name, value in fields.items()]
        scope = {"type": "http", "method": method, "path": path, "headers": raw, "query_string": b"", "root_path": ""}
        await guarded(PlainTextResponse("served"), exposed, key)(scope, receive, send)

    anyio.run(ask)
    return sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"authorization": f"Bearer {KEY}"}, 200),
        ({"authorization": f"bearer  {KEY} "}, 200),
        ({"x_api_key": KEY}, 200),
        ({"authorization": f"Basic {KEY}"}, 401),
        ({"authorization": f"Bearer {KEY}x"}, 401),
        ({"authorization": "Bearer"}, 401),
        ({"authorization": "Bearer é"}, 401),
        ({"authorization": f"Bearer {KEY}", "host": "any.example"}, 200),
    ],
)
@pytest.mark.parametrize("path", ["/v1/models", "/metrics", "/v1/messages"])
def test_only_with_the_key(headers: dict[str, str], status: int, path: str) -> None:
    got, sent, body = answered(Exposure("0.0.0.0"), KEY, path, **headers)
    assert got == status
    if status == 401:
        error = json.loads(body)["error"]
        assert error["wizard_code"] == "TW-G11"
        assert error["type"] == ("authentication_error" if "messages" in path else "invalid_request_error")
        assert sent[b"www-authenticate"] == b"Bearer"
    assert answered(Exposure("0.0.0.0"), KEY, "/health")[0] == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": ORIGIN}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": f"{ORIGIN}.evil.example"}, 403),
        ({"origin": ORIGIN, "host": "evil.example"}, 403),
    ],
)
def test_a_web_page_that_was_named(headers: dict[str, str], status: int) -> None:
    named = Exposure(cors_origins=(ORIGIN,))
    got, sent, _ = answered(named, **headers)
    assert got == status
    assert sent.get(b"access-control-allow-origin") == (ORIGIN.encode() if headers["origin"] == ORIGIN else None)
    assert answered(Exposure(), origin=ORIGIN)[0] == 403


def test_a_page_may_ask_first_without_the_key() -> None:
    first = {
        "origin": ORIGIN,
        "access_control_request_method": "POST",
        "access_control_request_headers": "authorization",
    }
    status, sent, _ = answered(Exposure("0.0.0.0", cors_origins=(ORIGIN,)), KEY, method="OPTIONS", **first)
    assert (status, sent[b"access-control-allow-headers"]) == (200, b"authorization")
    assert answered(Exposure("0.0.0.0"), KEY, method="OPTIONS", **first)[0] == 401


def test_a_key_is_made_once_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    folder = GatewayFolder(tmp_path / "gateway")
    key, made = exposure.key(folder)
    assert (made, len(key) >= 40, folder.key.stat().st_mode & 0o777) == (True, True, 0o600)
    folder.key.chmod(0o644)
    assert exposure.key(folder) == (key, False)
    assert folder.key.stat().st_mode & 0o777 == 0o600
    folder.key.unlink()
    assert exposure.key(folder)[0] != key


@pytest.mark.parametrize(
    "text", ["", "short", "a" * 20 + "\nb" * 20, "with a space in the middle", "é" * 20, "a" * 2000]
)
def test_a_key_that_cannot_be_sent(tmp_path: Path, text: str) -> None:
    folder = GatewayFolder(tmp_path)
    folder.key.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        exposure.key(folder)
    assert caught.value.code == "TW-S16"
    assert not text or text not in str(caught.value)


@pytest.mark.parametrize("host", ["example.org", "", "203.0.113.9", "127.0.0.1:9000", "::ffff:203.0.113.9"])
def test_a_host_that_is_none_of_this_machine(host: str) -> None:
    with pytest.raises(UsageError, match="TW-S13"):
        exposure.check(Exposure(host))


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_host_of_this_machine(host: str) -> None:
    exposure.check(Exposure(host))
    assert Exposure(host).beyond == (host == "0.0.0.0")
    assert Exposure(host).url(9000) == "http://127.0.0.1:9000/v1"


def test_the_address_of_a_host_with_version_6() -> None:
    assert Exposure("::", "cert").url(1) == "https://[::1]:1/v1"
    assert (Exposure("::1").beyond, Exposure("::").beyond) == (False, True)


@pytest.mark.parametrize(
    "origin",
    [
        "*",
        "null",
        "chat.example.org",
        "https://a.example/",
        "https://*.example",
        "https://u@a.example",
        "ftp://a.b",
        "https://a.example:99999",
        "https://",
        "https://a.example\n",
    ],
)
def test_an_origin_that_is_none(origin: str) -> None:
    with pytest.raises(UsageError, match="TW-S15"):
        exposure.check(Exposure(cors_origins=(origin,)))
    exposure.check(Exposure(cors_origins=(ORIGIN, "http://localhost:3000")))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A certificate for another name, and its key."""
    if not shutil.which("openssl"):
        pytest.skip("openssl makes the certificate")
    folder = tmp_path_factory.mktemp("certificate")
    files = str(folder / "cert.pem"), str(folder / "key.pem")
    argv = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=gpu.example"]
    subprocess.run([*argv, "-out", files[0], "-keyout", files[1]], check=True, capture_output=True)
    return files


def test_a_certificate_that_cannot_be_used(certificate: tuple[str, str], tmp_path: Path) -> None:
    file, key = certificate
    locked = str(tmp_path / "locked.pem")
    argv = ["openssl", "rsa", "-aes256", "-passout", "pass:secret", "-in", key, "-out", locked]
    subprocess.run(argv, check=True, capture_output=True)
    for pair in ((file, None), (None, key), (file, file), (file, locked), (file, str(tmp_path / "none"))):
        with pytest.raises(UsageError, match="TW-S14"):
            exposure.check(Exposure("127.0.0.1", *pair))
    with pytest.raises(UsageError, match=r"/none: No such file"):
        exposure.check(Exposure("127.0.0.1", file, str(tmp_path / "none")))
    exposure.check(Exposure("127.0.0.1", file, key))


@pytest.mark.e2e
@pytest.mark.xdist_group("gateway")
def test_beyond_this_machine_it_is_encrypted_and_wants_the_key(
    workspace: Workspace, served: Served, certificate: tuple[str, str]
) -> None:
    endpoint = gateway.ensure(workspace, added(workspace, served, "chain"), Exposure("0.0.0.0", *certificate))
    assert endpoint.openai_key == str(workspace.gateway.key)
    host, port = (endpoint.openai or "").removeprefix("https://").removesuffix("/v1").split(":")
    trusted = ssl.create_default_context(cafile=certificate[0])
    trusted.check_hostname = False
    key = workspace.gateway.key.read_text().strip()
    for given, status in ((key, 200), ("another", 401)):
        connection = http.client.HTTPSConnection(host, int(port), timeout=SECONDS, context=trusted)
        connection.request("GET", "/v1/models", headers={"Authorization": f"Bearer {given}"})
        assert connection.getresponse().status == status
        connection.close()
    with pytest.raises(ServerError, match=r"TW-C01: the certificate of .* is not trusted") as caught:
        openai.served_model(endpoint.openai or "", "chain")
    assert "SSL_CERT_FILE" in caught.value.todo
    rows = gateways(workspace)
    assert len(rows) == 2
    files = [Path(f"/proc/{row.pid}/{name}") for row in rows for name in ("cmdline", "environ")]
    for file in (*files, workspace.gateway.log):
        assert key not in file.read_text()
