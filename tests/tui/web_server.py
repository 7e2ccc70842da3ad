"""A served wizard as a process, for the tests of the browser interface."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
FAKE_WIZARD = (sys.executable, "-m", "tests.tui.in_terminal")
"""A wizard whose step waits for ever; see there."""


@dataclass(frozen=True)
class Served:
    """The program that serves the page."""

    process: subprocess.Popen[str]
    address: str
    """With the token."""

    @property
    def base(self) -> str:
        return self.address.partition("/?")[0]

    def ends(self, number: int = signal.SIGINT) -> str:
        """End it; what it said since."""
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=60)
        return errors


@contextmanager
def served(*argv: str, **variables: str) -> Iterator[Served]:
    """Start ``argv``, which serves the page; it is ended with the ``with`` block, whatever happens."""
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), **variables},
        start_new_session=True,
    )
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", line)
        assert address, line + process.stderr.read()
        assert "works once" in process.stderr.readline()
        yield Served(process, address.group())
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=60)


def fake(workspace: Path) -> tuple[str, ...]:
    """The page with the wizard whose step waits."""
    return (sys.executable, "-m", "tests.tui.in_browser", "0", *FAKE_WIZARD, str(workspace))
