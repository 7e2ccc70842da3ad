"""Query other programs: all at once, each with a time limit, and none outlives its query."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from wizard.kernel.language import tr
from wizard.kernel.secrets import environment_for

SECONDS = 3.0
"""Time limit of a program; a healthy one responds in well under half a second."""

_READ_S = 0.2
"""Time for reading existing output; a busy machine needs more than an instant for it."""

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Answer:
    """A program's output. ``status`` is None if it could not be started or did not respond in time; ``err`` has the
    reason.
    """

    status: int | None
    out: str
    err: str


class Asked:
    """A started program whose output was not read yet."""

    def __init__(self, argv: Sequence[str], seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._until = time.monotonic() + seconds
        self._failure = ""
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                env=environment_for(),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                cwd="/",  # so that no file of the current folder is imported by a Python
            )
        except OSError as error:
            self._failure = tr("cannot start {program}: {error}", program=argv[0], error=error.strerror or error)

    def answer(self) -> Answer:
        """Wait for the output, at most until the time limit that began with the program's start.

        After that limit (a driver library may have taken that long) existing output is still read.
        """
        if self._process is None:
            return Answer(None, "", self._failure)
        try:
            out, err = self._process.communicate(timeout=max(_READ_S, self._until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.stop()
            return Answer(None, "", tr("no response within {seconds:g} s", seconds=self._seconds))
        return Answer(self._process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))

    def stop(self) -> None:
        """Kill the program and its children, if it is still running."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        # Not communicate(): a grandchild in its own session may keep the pipes open forever.
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


@contextlib.contextmanager
def asking(questions: Mapping[K, Sequence[str]], seconds: float = SECONDS) -> Iterator[dict[K, Asked]]:
    """Start all ``questions`` (key → program and arguments) at once; at the end running ones are killed."""
    processes = {key: Asked(argv, seconds) for key, argv in questions.items()}
    try:
        yield processes
    finally:
        for each in processes.values():
            each.stop()
