"""`triton-wizard doctor` as a user runs it: in a process of its own, with the network of a loopback hub."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_cli import wizard
from tests.model.fake_hub import FakeHub
from wizard import journey
from wizard.doctor.examine import CHECKS
from wizard.doctor.finding import failed, passed, warned

TOKEN = "hf_" + "b" * 34  # not a real one
PASSED = passed("driver.works", version="580.95.05", cuda="13.0")
WARNED = warned("disk.low", free_bytes=9 << 30, path="/data")
FAILED = failed("hub.fails", why="refused", address="http://127.0.0.1:9", known="hf-cannot-reach-hub")


def test_the_quick_part_of_this_machine() -> None:
    done = wizard("doctor", "--quick", "--json")
    findings = json.loads(done.stdout)
    assert [each["check"] for each in findings] == [check.name for check in CHECKS if check.quick]
    assert done.returncode == (1 if any(each["status"] == "fail" for each in findings) else 0)
    assert done.stderr == ""


def test_all_of_it_without_the_network_and_in_a_pipe() -> None:
    done = wizard("doctor", "--offline")
    assert "Storage\n" in done.stdout
    assert "not checked: offline mode is on (--offline)" in " ".join(done.stdout.split())
    assert "\x1b" not in done.stdout
    assert wizard("doctor", "--json", HF_HUB_OFFLINE="1").stdout.count("(HF_HUB_OFFLINE)") == 8


def test_a_token_is_never_printed() -> None:
    with FakeHub({}) as hub:
        hub.accounts[TOKEN] = {"name": "ada", "auth": {"accessToken": {"role": "write"}}}
        done = wizard("doctor", "--json", HF_ENDPOINT=hub.url, HF_TOKEN=TOKEN)
        sent = repr(hub.requests)
    codes = {each["code"] for each in json.loads(done.stdout)}
    assert {"token.valid", "token-scope.write", "gated.all", "hub.responds"} <= codes
    assert f"Bearer {TOKEN}" in sent, "the hub did not get it"
    assert TOKEN not in done.stdout + done.stderr


def test_another_machine_cannot_be_checked() -> None:
    done = wizard("doctor", "--hardware", "1xL4")
    assert done.returncode == 2
    assert "TW-U10" in done.stderr


@pytest.mark.parametrize(("findings", "status"), [((PASSED,), 0), ((PASSED, WARNED), 0), ((PASSED, FAILED, WARNED), 1)])
def test_the_exit_status(
    findings: tuple[object, ...],
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from wizard.cli import main

    monkeypatch.setattr(journey, "doctor", lambda *_, **__: findings)
    with pytest.raises(SystemExit) as ended:
        main(["doctor"])
    assert ended.value.code == status
    assert capsys.readouterr().out.startswith("GPUs\n  ✓ NVIDIA driver")


def test_ctrl_c_ends_it_while_the_hub_is_silent(tmp_path: Path) -> None:
    with FakeHub({}, "silent") as hub:
        process = subprocess.Popen(
            [sys.executable, "-m", "wizard", "doctor"],
            env={**os.environ, "HF_ENDPOINT": hub.url, "PIP_NO_INDEX": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            while not hub.requests:  # it waits for the hub now
                assert process.poll() is None
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=5)
        finally:
            process.kill()
    assert (process.returncode, out) == (130, "")
    assert "stopped" in err
