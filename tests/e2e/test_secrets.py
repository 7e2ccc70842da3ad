"""No secret of the environment is in anything that a whole journey prints, writes, starts or serves."""

from __future__ import annotations

import subprocess
import urllib.request
from pathlib import Path

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


def swept(where: str, data: bytes) -> None:
    at = data.lower().find(MARK)
    assert at < 0, f"{where}: … {data[max(0, at - 60) : at + 60]!r} …"


def test_the_sweep_finds_a_secret() -> None:
    for name, value in VALUES.items():
        with pytest.raises(AssertionError, match="a test"):
            swept("a test", f"{name}={value}".encode())


def test_a_whole_journey(wizard: Wizard, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in VALUES.items():
        monkeypatch.setenv(name, value)
    folder = wizard.workspace
    for arguments in (
        ("plan", "demo", "--json"),
        ("up", "demo", "--yes", "--json", "--users", "3"),  # unlike other tests, so that files and server are made anew
        ("up", "demo", "--yes", "--verbose", "--users", "3"),
        ("chat", "-m", "What is Triton?", "--json"),
        ("status", "--json"),
        ("logs", "demo", "--raw"),
    ):
        done = subprocess.run(wizard.argv(*arguments), stdin=subprocess.DEVNULL, capture_output=True, check=True)
        assert done.stdout or done.stderr
        swept(f"{arguments}, stdout", done.stdout)
        swept(f"{arguments}, stderr", done.stderr)

    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            swept(str(path), path.read_bytes())
    written = {path.name for path in folder.rglob("*.*") if path.is_file() and "environments" not in path.parts}
    assert {"journal.jsonl", "plan.json", "endpoint.json", "config.pbtxt", "model.py", "triton.log"} <= written

    served = endpoint(Workspace(folder), "demo")
    started = proctable.group_members(served.pid)
    assert len(started) == 2  # tritonserver and its stub
    for row in started:
        environ = Path(f"/proc/{row.pid}/environ").read_bytes()
        assert proctable.SERVER_MARK.encode() in environ
        swept(f"environment of {row.pid}", environ)
        swept(f"arguments of {row.pid}", Path(f"/proc/{row.pid}/cmdline").read_bytes())
    with urllib.request.urlopen(f"{served.http}/v2/models/demo/config", timeout=60) as answer:
        swept("the model's description", answer.read())
