"""Waiting for processes that are no children: a process that has ended can be read (pidfd, Linux 5.3), and so can the
changes of what it writes (inotify(7)).
"""

from __future__ import annotations

import ctypes
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


@contextmanager
def changes(folder: Path) -> Iterator[int]:
    """What can be read once a file has been put into ``folder`` or removed from it."""
    moved_to, delete = 0x80, 0x200  # sys/inotify.h
    libc = ctypes.CDLL(None)
    descriptor = libc.inotify_init1(os.O_CLOEXEC)
    try:
        assert libc.inotify_add_watch(descriptor, os.fsencode(folder), moved_to | delete) >= 0
        yield descriptor
    finally:
        os.close(descriptor)


def over(processes: list[int]) -> bool:
    """Whether all of these open processes end before the time is up."""
    return all(select.select([process], [], [], SECONDS)[0] for process in processes)
