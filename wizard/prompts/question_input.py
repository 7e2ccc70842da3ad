"""Read questions that are typed or pasted in a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

from wizard.kernel.text import is_terminal, make_printable

PROMPT, MORE = "> ", ". "
END_OF_LINES = "."

Read: TypeAlias = Callable[[str, str], str]
"""Returns the next line after showing a prompt and an editable text; raises EOFError at the end."""


def read_question(read: Read, draft: str = "") -> str | None:
    r"""Read a question: a line, lines joined by a ``\` at their ends, or lines after ``/multi`` up to one with ``.``.

    Args:
        read: The source of lines.
        draft: A text to edit.

    Returns:
        The question, an empty text if it was cancelled, or None at the end.
    """
    try:
        line = read(PROMPT, draft)
    except EOFError:
        return None
    lines: list[str] = []
    with suppress(EOFError, KeyboardInterrupt):
        if line.strip() == "/multi":
            while (line := read(MORE, "")) != END_OF_LINES:
                lines.append(line)
            return "\n".join(lines)
        while line.endswith("\\"):
            lines.append(line[:-1])
            line = read(MORE, "")
        return "\n".join([*lines, line])
    return ""


def tolerate_odd_encodings() -> None:
    """Replace characters that a standard stream's encoding lacks, instead of failing."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if stream is not None:
            make_printable(stream)


def forget_typed() -> None:
    """Discard keys that were typed before the question appeared: they do not answer it."""
    import termios

    if is_terminal(sys.stdin):
        termios.tcflush(sys.stdin, termios.TCIFLUSH)


@contextmanager
def unechoed() -> Iterator[None]:
    """Turn the terminal's echo off between two questions, because the next question shows the typed keys itself."""
    import termios

    if not is_terminal(sys.stdin):
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    silent = list(before)
    silent[3] &= ~termios.ECHO  # the local modes (termios(3))
    termios.tcsetattr(sys.stdin, termios.TCSANOW, silent)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSANOW, before)


def line_reader(*, visible: bool) -> Read:
    """Returns a line reader for the terminal; the prompt goes to standard error if standard output is for data.

    Pasted text arrives as a single text with all its lines if the terminal marks it (bracketed paste), which GNU
    readline supports from 8.1 on. If Python has another line editor, prompt_toolkit's is used.
    """
    if not visible:
        return _from_stdin
    editor = _editor()
    if editor is None and os.environ.get("TERM", "dumb") != "dumb" and is_terminal(sys.stdin):
        return _prompt_toolkit()

    def read(prompt: str, draft: str) -> str:
        if editor and draft:
            editor.set_startup_hook(lambda: editor.insert_text(draft))
        try:
            return input(prompt)
        finally:
            if editor and draft:
                editor.set_startup_hook(None)

    return read


def _editor() -> Any:
    """GNU readline, if Python has it; importing it enables editing in `input`."""
    try:
        import readline
    except ImportError:
        return None
    if "libedit" in (readline.__doc__ or ""):
        return None
    if os.environ.get("TERM", "dumb") != "dumb":
        readline.parse_and_bind("set enable-bracketed-paste on")  # the default only from 8.1 on
    return readline


def _prompt_toolkit() -> Read:
    from prompt_toolkit import PromptSession

    session: PromptSession[str] = PromptSession()

    def read(prompt: str, draft: str) -> str:
        return session.prompt(prompt, default=draft)

    return read


def _from_stdin(prompt: str, draft: str) -> str:
    del draft
    sys.stderr.write(prompt)
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")
