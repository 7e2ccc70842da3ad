"""What is mistyped is told in two lines, with what is nearest to it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_cli import wizard
from wizard.cli.parser import parser
from wizard.kernel.errors import UsageError


@pytest.mark.parametrize(
    ("words", "problem", "todo"),
    [
        ("statu", "unknown command: statu", "Did you mean status? Run `triton-wizard --help`"),
        ("\x1b[31mx", "unknown command: x", "Run `triton-wizard --help`"),
        (
            "speed demo --speculative x",
            "unrecognized arguments: --speculative x",
            "Omit --speculative: `triton-wizard speed`",
        ),
        ("up --usrs 4", "unrecognized arguments: --usrs", "Did you mean --users? Run `triton-wizard up --help`"),
        ("up demo --usrs=4", "unrecognized arguments: --usrs=4", "Did you mean --users?"),
        ("--workspce here status", "unrecognized arguments: --workspce", "Did you mean --workspace?"),
        ("up demo twice", "unrecognized arguments: twice", "Run `triton-wizard up --help`"),
        ("run", "the following arguments are required: PLAN", "Run `triton-wizard run --help`"),
        ("logs -n 0", "argument -n/--lines: must be an integer", "Run `triton-wizard logs --help`"),
    ],
)
def test_it_is_named_with_what_was_meant(words: str, problem: str, todo: str) -> None:
    with pytest.raises(UsageError) as raised:
        parser().parse_args(words.split())
    assert raised.value.code == "TW-U09"
    assert raised.value.what.startswith(problem)
    assert raised.value.todo.startswith(todo)


def test_a_flag_may_be_shortened_and_given_in_one_word() -> None:
    assert parser().parse_args(["--worksp=here", "status"]).workspace == "here"


def test_it_is_an_error_as_every_other() -> None:
    done = wizard("status", "--jsn")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 2
    done = wizard("status", "--jsn", "--json")
    assert (done.returncode, done.stderr) == (2, "")
    assert json.loads(done.stdout)["error"]["code"] == "TW-U09"


@pytest.mark.parametrize("more", [("--hardware", "1xL4"), ("--save", "host.json")])
def test_only_this_machine_can_be_watched(more: tuple[str, ...]) -> None:
    done = wizard("probe", "--watch", *more)
    assert done.returncode == 2
    assert "TW-U10" in done.stderr


def test_the_model_to_plan_for_may_be_in_an_answers_file(tmp_path: Path) -> None:
    file = tmp_path / "answers.toml"
    file.write_text('model = "demo"\nname = "mine"\n')
    done = wizard("plan", "--answers", str(file), "--offline")
    assert "serve triton-wizard-demo as 'mine'" in done.stdout
