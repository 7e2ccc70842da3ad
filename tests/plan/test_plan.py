"""What a plan shows as shell lines does the same when it is pasted into a shell."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from wizard.plan.plan import Command, Start, Wait, Write
from wizard.plan.ports import Ports


def sh(line: str, cwd: Path) -> str:
    return subprocess.run(["sh", "-c", line], cwd=cwd, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("word", ["plain", "two words", "$HOME `id` $(id)", "it's", '"quoted"', "a;b|c&d", "ü\n2"])
def test_a_command_passes_every_word_as_it_is(word: str, tmp_path: Path) -> None:
    command = Command(("printf", "%s|%s", word, "end"), env=(("VARIABLE", word),), cwd=str(tmp_path))
    assert sh(command.shell(), tmp_path) == f"{word}|end"


@pytest.mark.parametrize("text", ["one\n", "END\nafter\n", "$HOME `id` \\ 'x'\n", "ü\n\n  indented\n"])
def test_a_written_file_is_the_same_when_pasted(text: str, tmp_path: Path) -> None:
    target = tmp_path / "a folder" / "file"
    sh(Write(str(target), text).shell(), tmp_path)
    assert target.read_text(encoding="utf-8") == text


def test_a_server_is_shown_with_its_ports() -> None:
    start = Start(("tritonserver", "--x"), (("A", "1 2"),), Ports(1, 2, 3), "demo")
    assert start.shell() == (
        "A='1 2' tritonserver --x --http-address=127.0.0.1 --http-port=1 --grpc-address=127.0.0.1 --grpc-port=2 "
        "--metrics-address=127.0.0.1 --metrics-port=3 &"
    )
    assert "http://127.0.0.1:1/v2/models/demo/ready" in Wait("demo", Ports(1, 2, 3), 5).shell()
