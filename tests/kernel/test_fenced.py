"""Programs that read untrusted bytes are bounded in memory and time."""

from __future__ import annotations

from pathlib import Path

import pytest

from wizard.kernel.fenced import FencedError, run

HEAD = "import json, os, sys\n"
READ = "sys.stdin.buffer.read(1)"
"""The limits hold from the first byte on, and not before it."""
MEMORY = 1 << 29


def program(folder: Path, text: str) -> Path:
    path = folder / "program.py"
    path.write_text(HEAD + text)
    return path


def test_it_gets_the_bytes_and_the_arguments_and_prints_an_object(tmp_path: Path) -> None:
    echo = program(
        tmp_path, "print('noise')\nprint(json.dumps({'read': len(sys.stdin.buffer.read()), 'of': sys.argv[1]}))"
    )
    assert run(echo, b"x" * 10_000_000, ("a",), memory=MEMORY, seconds=10) == {"read": 10_000_000, "of": "a"}


def test_it_sees_no_secrets_and_does_not_import_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_0123456789abcdefgh")
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    (here / "colorsys.py").write_text("raise SystemExit(1)")
    look = program(tmp_path, "import colorsys\nprint(json.dumps({'token': os.environ.get('HF_TOKEN')}))")
    assert run(look, b"", (), memory=MEMORY, seconds=10) == {"token": None}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"{READ}\ntry: bytearray(1 << 30)\nexcept MemoryError: print(json.dumps({{'error': 'memory'}}))", "memory"),
        ("while True: pass", "time"),
        ("import threading\nthreading.Event().wait()", "time"),
        ("os.abort()", "crash"),
        ("os.close(0)", "crash"),
        ("print('no object')", "crash"),
    ],
)
def test_more_than_its_limits_ends_it(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(FencedError) as error:
        run(program(tmp_path, text), b"x" * 100_000, (), memory=MEMORY, seconds=1 if why == "time" else 10)
    assert error.value.why == why


def test_it_writes_no_file(tmp_path: Path) -> None:
    write = program(tmp_path, f"open({str(tmp_path / 'new')!r}, 'w').write('x')")
    with pytest.raises(FencedError):
        run(write, b"", (), memory=MEMORY, seconds=10)
    assert not (tmp_path / "new").exists() or not (tmp_path / "new").read_text()
