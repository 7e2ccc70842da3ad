"""A picture arrives whole in a terminal that takes little at a time, whatever mode others have left it in."""

from __future__ import annotations

import os
import pty
import sys
import threading
import tty
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pexpect
import pytest

from wizard import journey
from wizard.kernel.paths import Workspace
from wizard.tui.terminal_driver import Display

PACKAGE = Path(__file__).resolve().parents[2]
SECONDS = 60
PICTURE = "".join(f"{number:06} 한 ▌ é\n" for number in range(20_000))
"""Some 400 kB: far more than a terminal holds."""


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """Our side of a terminal that hands on what it gets as it is, and the program's."""
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    yield ours, theirs
    for number in (ours, theirs):
        with suppress(OSError):  # a test may have closed it
            os.close(number)


@pytest.mark.parametrize("blocking", [True, False])
def test_all_of_a_picture_arrives_in_either_mode(terminal: tuple[int, int], blocking: bool) -> None:
    ours, theirs = terminal
    os.set_blocking(theirs, blocking)
    writer = threading.Thread(target=Display(theirs).write, args=(PICTURE,), daemon=True)
    writer.start()
    wanted, arrived = PICTURE.encode(), bytearray()
    while len(arrived) < len(wanted):
        arrived += os.read(ours, 512)
    writer.join()
    assert bytes(arrived) == wanted


def test_a_terminal_that_is_gone_does_not_end_the_thread_that_writes(terminal: tuple[int, int]) -> None:
    ours, theirs = terminal
    os.close(ours)
    assert Display(theirs).write(PICTURE) == len(PICTURE)


def test_half_a_character_that_no_terminal_can_show_does_no_harm(terminal: tuple[int, int]) -> None:
    ours, theirs = terminal
    Display(theirs).write("a\ud800b")
    assert os.read(ours, 10) == b"a?b"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_the_wizard_works_in_a_terminal_that_another_program_left_in_non_blocking_mode(
    tmp_path: Path, unbuffered: str
) -> None:
    env = os.environ | {"PYTHONPATH": str(PACKAGE), "PYTHONUNBUFFERED": unbuffered}
    wizard = pexpect.spawn(
        sys.executable,
        ["-m", "tests.tui.in_terminal", str(tmp_path)],
        env=env,
        dimensions=(100, 300),
        timeout=SECONDS,
        maxread=512,
        preexec_fn=lambda: os.set_blocking(2, False),
    )
    try:
        for accept in ("Choose a model", "Use this setup", "Run it"):
            wizard.expect(accept)
            wizard.send("\r")
        wizard.expect("it waits")
    finally:
        journey.cancel(Workspace(tmp_path))
        wizard.close(force=True)
