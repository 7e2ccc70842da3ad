"""The fake journey's program in a real pseudo-terminal, as a user sees it."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeAlias

import pexpect

CHECKOUT = Path(__file__).resolve().parents[2]
MODEL, ADVICE, PLAN = "Which model?", "run on this machine?", "This is what will run."
"""What the questions that everybody meets are known by."""
ENTER, CTRL_C, CTRL_D, UP, DOWN = "\r", "\x03", "\x04", "\x1b[A", "\x1b[B"


def environment(**more: str) -> dict[str, str]:
    """Variables for a child."""
    return {**os.environ, "PYTHONPATH": str(CHECKOUT), "PYTHONUTF8": "1", "TERM": "xterm-256color", **more}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tests.prompts.fake_journey", *arguments]


class Terminal:
    """A child in a pseudo-terminal; ended with the ``with`` block, whatever happens."""

    def __init__(
        self, *arguments: str, size: tuple[int, int] = (24, 80), argv: Sequence[str] = (), **variables: str
    ) -> None:
        """``argv``: a program in place of the fake journey's."""
        program, *rest = argv or command(*arguments)
        self.child = pexpect.spawn(
            program, rest, env=environment(**variables), dimensions=size, encoding="utf-8", timeout=60
        )
        self.child.delaybeforesend = None

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.child.close(force=True)

    def sees(self, text: str) -> None:
        self.child.expect_exact(text)

    def types(self, text: str) -> None:
        self.child.send(text)

    def pastes(self, text: str) -> None:
        """As a terminal pastes where the program has asked for marks around it; what is shown meanwhile is read."""
        data = f"\x1b[200~{text.replace(chr(10), chr(13))}\x1b[201~"
        for start in range(0, len(data), 1000):
            self.child.send(data[start : start + 1000])
            with contextlib.suppress(pexpect.TIMEOUT):
                while self.child.read_nonblocking(1 << 16, timeout=0):
                    pass

    def accepts(self, *questions: str) -> None:
        """Press Enter at each of ``questions``."""
        for question in questions:
            self.sees(question)
            self.types(ENTER)

    def says_bye(self, words: str = "/bye\r") -> str:
        """End the chat with ``words``, and do not measure the server; what was printed between."""
        self.types(words)
        self.sees("The chat has ended. What now?")
        printed = self.child.before or ""
        self.types(ENTER)
        return printed

    def leaves(self, key: str = CTRL_C, status: int = 130) -> None:
        """Leave with ``key``, which ends the child with ``status``.

        A Ctrl-C that comes in the instant between a question and Python's wait for the answer is seen by Python with
        the next key only: it is pressed again then.
        """
        self.types(key)
        assert self.ends(again=key if key == CTRL_C else "") == status

    def ends(self, again: str = "") -> int:
        """The exit status; what was printed until then is in ``rest``. If it does not end, ``again`` is typed."""
        if not again or self.child.expect([pexpect.EOF, pexpect.TIMEOUT], timeout=20):
            self.types(again)
            self.child.expect(pexpect.EOF)
        self.rest = self.child.before or ""
        self.child.wait()
        assert self.child.exitstatus is not None, f"killed by signal {self.child.signalstatus}"
        return self.child.exitstatus


Flow: TypeAlias = Callable[..., Terminal]
"""Begins the questions with these answers given."""
