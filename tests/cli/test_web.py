"""What `triton-wizard web` starts in each tab."""

from __future__ import annotations

import sys

import pytest

from wizard.cli import main
from wizard.cli.parser import parser
from wizard.cli.web import command


def test_a_tab_s_wizard_gets_the_flags_that_were_given_and_no_others() -> None:
    words = [
        "--users=8",
        "--as-published",
        "--language",
        "ko",
        "web",
        "--workspace",
        "my folder",
        "--offline",
        "--explain",
    ]
    assert command(parser().parse_args(words)) == [
        *(sys.executable, "-m", "wizard", "--workspace=my folder", "--language=ko", "--offline", "--explain"),
        *("--users=8", "--as-published"),
    ]
    assert command(parser().parse_args(["web", "--port", "9000", "--no-open"])) == [sys.executable, "-m", "wizard"]


def test_an_invalid_machine_is_reported_before_a_page_is_served(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["web", "--no-open", "--hardware", "nonsense"])
    assert ended.value.code == 2
    assert "TW-P" in capsys.readouterr().err


def test_what_is_passed_on_is_understood() -> None:
    words = ["web", "--answers=a.toml", "--profiles=p", "--hardware=cpu", "--offline", "--workshop=w", "--seat=3"]
    given = command(parser().parse_args(words))[3:]
    again = parser().parse_args(given)
    assert (again.answers, again.profiles, again.hardware, again.offline) == ("a.toml", "p", "cpu", True)
    assert (again.workshop, again.seat) == ("w", "3")
