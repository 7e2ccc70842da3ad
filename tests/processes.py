"""Waiting for processes that are no children: a process that has ended can be read (pidfd, Linux 5.3)."""

from __future__ import annotations

import os
import select
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

SECONDS = 60
"""Bounds a wait in vain."""


@contextmanager
def opened(pids: Iterable[int]) -> Iterator[list[int]]:
    """The processes, so that no other that gets a pid later is taken for one of them."""
    with ExitStack() as stack:
        processes = [os.pidfd_open(pid) for pid in pids]
        for process in processes:
            stack.callback(os.close, process)
        yield processes


def over(processes: list[int]) -> bool:
    """Whether all of these open processes end before the time is up."""
    return all(select.select([process], [], [], SECONDS)[0] for process in processes)
