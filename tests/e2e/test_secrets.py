"""No secret of the environment is in anything that a whole journey prints, writes, starts or serves, and what the user
wrote is only in files that nobody else can read.
"""

from __future__ import annotations

import os
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from tests.e2e.conftest import Wizard
from wizard.kernel import proctable
from wizard.kernel.paths import Workspace
from wizard.kernel.secrets import SECRET_VARIABLES
from wizard.serve.find import endpoint

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.xdist_group("terminal"),
    pytest.mark.timeout(900),
    pytest.mark.usefixtures("other_ports"),
]

VALUES = {"HF_TOKEN": "hf_" + "SweptAway" * 4, "NVIDIA_API_KEY": "nvapi-" + "SweptAway" * 4}
"""By their shape as well as by their name; all others by their name alone."""
VALUES |= {name: f"sweptaway-{name.lower()}" for name in SECRET_VARIABLES if name not in VALUES}
MARK = b"sweptaway"
"""In lower case, a part of every value."""


HOOK = """
import os, sys

def written(event, arguments):
    if event == "subprocess.Popen":
        program, argv, _, environment = arguments
    elif event in ("os.exec", "os.posix_spawn"):
        program, argv, environment = arguments
    else:
        return
    started = os.environ if environment is None else environment
    line = repr((program, argv, {**started})).encode(errors="backslashreplace")
    log = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(log, line + b"\\n")
    os.close(log)

sys.addaudithook(written)
"""
"""Python's own report of every program that a process starts, with its arguments and its whole environment (the
table of audit events of the library reference), from the commands and from all their children that are Python."""
CANARY = "a canary of the user"


def swept(where: str, data: bytes) -> None:
    at = data.lower().find(MARK)
    assert at < 0, f"{where}: … {data[max(0, at - 60) : at + 60]!r} …"


def test_the_sweep_finds_a_secret() -> None:
    for name, value in VALUES.items():
        with pytest.raises(AssertionError, match="a test"):
            swept("a test", f"{name}={value}".encode())


@pytest.fixture
def usual_umask() -> Iterator[None]:
    """Files are readable for everybody unless somebody takes care."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("usual_umask")
def test_a_whole_journey(wizard: Wizard, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in VALUES.items():
        monkeypatch.setenv(name, value)
    log = tmp_path / "started"
    (tmp_path / "sitecustomize.py").write_text(f"LOG = {str(log)!r}\n{HOOK}")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    folder = wizard.workspace
    for arguments in (
        ("plan", "demo", "--json"),
        ("up", "demo", "--yes", "--json", "--users", "3"),  # unlike other tests, so that files and server are made anew
        ("up", "demo", "--yes", "--verbose", "--users", "3"),
        ("chat", "-m", "What is Triton?", "--json"),
        ("status", "--json"),
        ("plan", "demo", "--shell", "--full"),
        ("diagnose", str(folder / "servers" / "demo" / "logs" / "triton.log"), "--json"),
        ("logs", "demo", "--raw"),
    ):
        done = subprocess.run(wizard.argv(*arguments), stdin=subprocess.DEVNULL, capture_output=True, check=True)
        assert done.stdout or done.stderr
        swept(f"{arguments}, stdout", done.stdout)
        swept(f"{arguments}, stderr", done.stderr)

    program, *arguments = wizard.argv("chat")
    chat = pexpect.spawn(program, arguments, timeout=60)
    chat.expect("> ")
    chat.sendline(f"Who is {CANARY}?")
    chat.expect("tokens per second")
    chat.sendline("/bye")
    chat.expect(pexpect.EOF)

    assert folder.stat().st_mode & 0o077 == 0
    holding = []
    for path in (*folder.rglob("*"), *Path.home().rglob("*")):
        if path.is_file() and not path.is_symlink():
            data = path.read_bytes()
            swept(str(path), data)
            if CANARY.encode() in data:
                holding.append(path.name)
                assert path.stat().st_mode & 0o077 == 0, path
    assert holding  # the conversation is stored
    written = {path.name for path in folder.rglob("*.*") if path.is_file() and "environments" not in path.parts}
    assert {"journal.jsonl", "plan.json", "endpoint.json", "config.pbtxt", "model.py", "triton.log"} <= written

    served = endpoint(Workspace(folder), "demo")
    server = proctable.group_members(served.pid)
    assert len(server) == 2  # tritonserver and its stub
    address = proctable.marked(proctable.GATEWAY_MARK, str(folder))
    assert address
    for row, mark in [(row, proctable.SERVER_MARK) for row in server] + [
        (row, proctable.GATEWAY_MARK) for row in address
    ]:
        environ = Path(f"/proc/{row.pid}/environ").read_bytes()
        assert mark.encode() in environ
        swept(f"environment of {row.pid}", environ)
        swept(f"arguments of {row.pid}", Path(f"/proc/{row.pid}/cmdline").read_bytes())
    with urllib.request.urlopen(f"{served.http}/v2/models/demo/config", timeout=60) as answer:
        swept("the model's description", answer.read())

    started = log.read_bytes().splitlines()
    assert any(b"tritonserver" in line for line in started)
    assert any(b"wizard.gateway" in line for line in started)
    for line in started:
        swept("a program that was started", line)
