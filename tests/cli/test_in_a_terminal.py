"""What commands say where somebody looks on."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pexpect

from tests.prompts.terminal import environment
from wizard.kernel.text import width


def spawned(tmp_path: Path, *words: str, columns: int = 80) -> pexpect.spawn[str]:
    arguments = ["-m", "wizard", "--workspace", str(tmp_path), "--offline", *words]
    size = (24, columns)
    return pexpect.spawn(sys.executable, arguments, env=environment(), encoding="utf-8", timeout=60, dimensions=size)


def test_what_was_typed_before_the_plan_was_shown_accepts_nothing(tmp_path: Path) -> None:
    with spawned(tmp_path, "up", "demo") as child:
        child.send("\r")
        child.expect_exact("[Y/n]")
        child.send("n\r")
        child.expect_exact("TW-U06")
        child.expect(pexpect.EOF)
        child.close()
        assert child.exitstatus == 130


def test_an_error_is_in_lines_that_fit_and_its_command_is_whole(tmp_path: Path) -> None:
    with spawned(tmp_path, "up", "nosuch", columns=40) as child:
        child.expect(pexpect.EOF)
        lines = str(child.before).splitlines()
    assert lines[0] == "TW-M01: 'nosuch' is not a recipe, a path"
    assert all(width(line) <= 40 or "`" in line for line in lines)
    assert any(re.search(r"`[^`]+ recipes`", line) for line in lines)
