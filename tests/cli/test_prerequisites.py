"""`triton-wizard prerequisites`: shown for any machine, run only on this one and only at the user's word."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.test_cli import wizard
from tests.values import CPU_HOST
from wizard.cli.prerequisites import _bring, _text
from wizard.kernel.errors import HostError, UsageError
from wizard.kernel.values import to_json
from wizard.plan.prerequisites import Prerequisite
from wizard.probe.host import Problem

HERE = replace(CPU_HOST, source="this machine")
LACKING = Prerequisite(
    "toolkit", "NVIDIA Container Toolkit", False, "docker knows none", "It lends GPUs.", ("false",), "a"
)


def test_a_machine_that_has_everything() -> None:
    done = wizard("prerequisites", "--hardware", "1xL4", "--json")
    assert done.returncode == 0
    prerequisites = json.loads(done.stdout)
    assert [item["name"] for item in prerequisites] == ["driver", "engine", "toolkit"]
    assert all(item["met"] for item in prerequisites)


def test_without_a_gpu_it_does_not_suggest_a_driver() -> None:
    done = wizard("prerequisites", "--hardware", "cpu")
    assert done.returncode == 0
    assert done.stdout.count("not needed") == 2  # docker is there all the same
    assert "$ " not in done.stdout
    assert done.stdout.endswith("up demo\n")


def test_what_is_missing_with_its_commands(tmp_path: Path) -> None:
    problem = Problem("TW-P01", "no driver library", "Install it.")
    without_driver = replace(CPU_HOST, system=replace(CPU_HOST.system, name="Ubuntu 24.04"), gpu_problem=problem)
    (tmp_path / "host.json").write_text(to_json(without_driver))
    done = wizard("prerequisites", "--hardware", str(tmp_path / "host.json"))
    assert done.returncode == 3
    assert "NVIDIA driver: not available (" in done.stdout
    assert "$ sudo apt-get install -y nvidia-container-toolkit" in done.stdout
    assert "prerequisites --run" not in done.stdout, "it would install them on this machine"
    assert "triton-wizard prerequisites --run toolkit" in _text(LACKING, here=True)


def test_another_machine_is_not_changed() -> None:
    done = wizard("prerequisites", "--hardware", "cpu", "--run", "toolkit", "--yes")
    assert done.returncode == 2
    assert "TW-U40" in done.stderr


def test_nothing_runs_without_the_users_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", (tmp_path / "empty").open("w+"))
    with pytest.raises(UsageError) as caught:
        _bring(HERE, replace(LACKING, commands=(f"touch {tmp_path}/made",)), yes=False)
    assert caught.value.code == "TW-U38"
    assert not (tmp_path / "made").exists()


def test_commands_run_one_by_one_up_to_the_first_that_fails(tmp_path: Path) -> None:
    lines = (f"echo a | cat > {tmp_path}/first", "exit 7", f"touch {tmp_path}/third")
    with pytest.raises(HostError) as caught:
        _bring(HERE, replace(LACKING, commands=lines), yes=True)
    assert caught.value.code == "TW-U39"
    assert "exit 7" in caught.value.what
    assert [file.name for file in tmp_path.iterdir()] == ["first"]


def test_what_ends_the_session_is_left_to_the_user(capfd: pytest.CaptureFixture[str]) -> None:
    _bring(HERE, replace(LACKING, commands=("echo done", "newgrp docker", "sudo reboot")), yes=True)
    printed = capfd.readouterr()
    assert printed.out == "done\n"
    assert "Run this yourself: sudo reboot" in printed.err


def test_what_is_there_is_not_brought_again(capsys: pytest.CaptureFixture[str]) -> None:
    _bring(HERE, replace(LACKING, met=True, found="docker gives GPUs"), yes=True)
    assert "docker gives GPUs" in capsys.readouterr().err


def test_what_is_not_needed_is_not_brought(capsys: pytest.CaptureFixture[str]) -> None:
    _bring(HERE, replace(LACKING, needed=False), yes=True)
    assert "not needed" in capsys.readouterr().err


def test_a_distribution_without_known_commands() -> None:
    with pytest.raises(HostError) as caught:
        _bring(HERE, replace(LACKING, commands=()), yes=True)
    assert caught.value.code == "TW-U41"


@pytest.mark.parametrize(("answer", "made"), [("y\n", True), ("maybe\ny\n", True), ("\n", False), ("no\n", False)])
def test_the_question_is_asked_in_the_terminal(tmp_path: Path, answer: str, made: bool) -> None:
    """In a real terminal, answered as a user would."""
    import os
    import subprocess
    import sys

    code = (
        "from wizard.cli.prerequisites import _bring\n"
        "from tests.cli.test_prerequisites import HERE, LACKING\n"
        "from dataclasses import replace\n"
        "from wizard.kernel.errors import WizardError\n"
        f"try: _bring(HERE, replace(LACKING, commands=('touch {tmp_path}/made',)), yes=False)\n"
        "except WizardError as error: print(error.code)\n"
    )
    master, slave = os.openpty()
    os.write(master, answer.encode())
    done = subprocess.run(
        [sys.executable, "-c", code], stdin=slave, capture_output=True, text=True, timeout=60, check=False
    )
    os.close(slave)
    os.close(master)
    assert (tmp_path / "made").exists() is made, done.stderr
    assert ("TW-U42" in done.stdout) is not made
