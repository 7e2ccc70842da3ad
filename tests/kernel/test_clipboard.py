"""What is copied in tmux; with tmux itself in tests/e2e/test_tmux.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from wizard.kernel import clipboard


@pytest.mark.parametrize(
    ("program", "taken"),
    [
        ('#!/bin/sh\necho "$@" > args\ncat > text\n', True),
        ("#!/bin/sh\necho 'load-buffer: unknown flag -w' >&2\nexit 1\n", False),
        ("", False),
    ],
    ids=["taken", "before 3.2", "no tmux"],
)
def test_tmux_gets_the_text_and_may_refuse_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, taken: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin" if program else str(tmp_path))
    if program:
        (tmp_path / "tmux").write_text(program)
        (tmp_path / "tmux").chmod(0o755)
    assert clipboard.tmux_takes("가\udcff $(id)\n") is taken
    if taken:
        assert Path("args").read_text() == "load-buffer -w -\n"
        assert Path("text").read_bytes() == "가? $(id)\n".encode()


def test_only_tmux_itself_says_that_it_is_there() -> None:
    assert clipboard.in_tmux({"TMUX": "/tmp/tmux-1000/default,3,0"})
    assert not clipboard.in_tmux({"TERM": "tmux-256color"})  # over SSH: the tmux there is not to be reached from here


@pytest.mark.parametrize(
    "environ",
    [
        {"TERM": "linux"},
        {"TERM": "dumb"},
        {},
        {"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"},
        {"TERM": "screen.xterm-256color", "STY": "22354.pts-3"},
    ],
)
def test_a_terminal_that_takes_nothing_for_the_clipboard_is_known(environ: dict[str, str]) -> None:
    assert clipboard.missing(environ)
    assert not clipboard.missing({"TERM": "xterm-256color"})
    assert not clipboard.missing(environ | {"TMUX": "/tmp/tmux-1000/default,3,0"})
