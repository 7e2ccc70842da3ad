"""Waiting for processes that are no children: a process that has ended can be read (pidfd, Linux 5.3)."""

from __future__ import annotations

import os
import select
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from wizard.kernel import proctable

SECONDS = 60
"""Bounds a wait in vain."""
KILLS = 5
"""Kills of a model's process of which Triton survives one at least. Its version 2.51.0 aborts when that process held a
lock in memory that they share (``boost::interprocess::lock_exception``; seen three times)."""


@contextmanager
def opened(pids: Iterable[int]) -> Iterator[list[int]]:
    """The processes, so that no other that gets a pid later is taken for one of them."""
    with ExitStack() as stack:
        processes = [os.pidfd_open(pid) for pid in pids]
        for process in processes:
            stack.callback(os.close, process)
        yield processes


def of_step(workspace: Path, number: int) -> list[proctable.Process]:
    """The processes of the step that runs, once they are so many: one that has just begun has no environment yet."""
    while len(processes := proctable.marked(proctable.STEP_MARK, str(workspace))) < number:
        pass  # the test's own time limit ends it
    return processes


def over(processes: list[int]) -> bool:
    """Whether all of these open processes end before the time is up."""
    return all(select.select([process], [], [], SECONDS)[0] for process in processes)
