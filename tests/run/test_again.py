"""Steps that are done again or left out: what follows what, and the command line's flags."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.values import plan_of, python_step
from wizard.cli import main
from wizard.kernel.values import to_json
from wizard.plan.artefacts import dependants
from wizard.plan.plan import Plan


def line(folder: Path) -> Plan:
    """b reads a's file, c reads b's, d reads nobody's; each has a folder of its own."""
    made = {name: folder / name / "made" for name in "abcd"}
    reads = {"b": (made["a"],), "c": (made["b"],)}
    return plan_of(
        folder / "w", *(python_step(name, "", path, reads=reads.get(name, ())) for name, path in made.items())
    )


@pytest.mark.parametrize(
    ("chosen", "affected"), [("", ""), ("a", "abc"), ("b", "bc"), ("c", "c"), ("d", "d"), ("cd", "cd"), ("ad", "abcd")]
)
def test_what_follows_is_what_uses_what_was_made(tmp_path: Path, chosen: str, affected: str) -> None:
    assert dependants(line(tmp_path).steps, set(chosen)) == set(affected)


def run(plan: Path, *flags: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(["run", str(plan), "--yes", "--json", *flags])
    assert isinstance(caught.value.code, int)
    return caught.value.code


def outcomes(journal: str) -> dict[str, str]:
    lines = [json.loads(line) for line in journal.splitlines()]
    return {text["step"]: text["outcome"] for text in lines if text.get("event") == "StepFinished"}


def test_the_flags_of_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("one", "two")
    for name in names:
        (tmp_path / name).mkdir()
    steps = [python_step(name, f"open({str(tmp_path / name / 'x')!r}, 'w')", tmp_path / name / "x") for name in names]
    saved = tmp_path / "plan.json"
    saved.write_text(to_json(plan_of(tmp_path / "w", *steps)), encoding="utf-8")
    run(saved)
    assert outcomes(capsys.readouterr().out) == {"one": "done", "two": "done"}
    run(saved, "--redo", "one", "--skip", "two")
    assert outcomes(capsys.readouterr().out) == {"one": "done", "two": "omitted"}
    assert run(saved, "--redo", "three") == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "TW-R07"
