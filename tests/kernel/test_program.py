"""Commands that can be pasted."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from wizard.kernel.paths import Workspace
from wizard.kernel.program import command, pasteable


def test_the_program_is_named_with_its_folder_where_the_shell_would_not_find_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "triton-wizard"
    program.touch(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", "/usr/bin")
    assert command("down", "demo") == f"{program} down demo"
    monkeypatch.setenv("PATH", os.pathsep.join((str(tmp_path), "/usr/bin")))
    assert command("down", "demo") == "triton-wizard down demo"


def test_the_workspace_is_named_unless_it_is_the_usual_one(tmp_path: Path) -> None:
    assert command("status", workspace=Workspace.at(None)) == command("status")
    shown = command("status", workspace=Workspace.at(tmp_path / "a b"))
    assert shown.endswith(f"triton-wizard --workspace '{tmp_path / 'a b'}' status")
    assert command("status", workspace="here").endswith("triton-wizard --workspace here status")


def test_commands_in_a_text_are_named_once(tmp_path: Path) -> None:
    text = pasteable("See `triton-wizard status`.", Workspace.at(tmp_path))
    assert text == f"See `{command('status', workspace=Workspace.at(tmp_path))}`."
    assert pasteable(text, Workspace.at(tmp_path)) == text
