"""`triton-wizard diagnose`: a file, a pipe, what is not readable, and what is printed of a log."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

LOG = (
    "I1120 starting\n"
    "error: creating server: Internal - failed to load all models\n"
    "\x1b[31mE1120 unable to find backend library for backend 'vllm', try specifying runtime\x1b[0m\n"
)


def diagnose(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "wizard", "diagnose", *arguments]
    return subprocess.run(command, input=given, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("pipe", [False, True])
def test_the_best_explanation_first_as_json(tmp_path: Path, pipe: bool) -> None:
    log = tmp_path / "triton.log"
    log.write_text(LOG, encoding="utf-8")
    done = diagnose("-", "--json", given=LOG) if pipe else diagnose(str(log), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    findings = json.loads(done.stdout)
    assert [finding["id"] for finding in findings] == ["backend-not-in-image", "no-models-loaded"]
    assert list(findings[0])[:6] == ["id", "kind", "line_number", "line", "cause", "fix"]
    assert (findings[0]["kind"], findings[0]["line_number"]) == ("root", 3)
    assert findings[0]["line"].startswith("E1120 unable to find backend library")


def test_one_headline_and_no_escape_in_words() -> None:
    done = diagnose("-", given=LOG)
    lines = done.stdout.splitlines()
    assert lines[0] == "This image has no such backend (backend-not-in-image)"
    assert lines[-1] == "  line 2: Server stopped because models failed (no-models-loaded)"
    assert "\x1b" not in done.stdout
    assert "-vllm-python-py3" in " ".join(done.stdout.split())


def test_a_log_without_a_known_failure() -> None:
    done = diagnose("-", given="all is well\n")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "The log shows no known cause of failure.\n"
    assert diagnose("-", "--json", given="").stdout == "[]\n"


@pytest.mark.parametrize("name", ["nowhere.log", "."])
def test_a_log_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    done = diagnose(str(tmp_path / name), "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["code"] == "TW-S17"
