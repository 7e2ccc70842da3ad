"""Open a file that a user named, if it is a regular one: a pipe or a device could block, or be changed by that."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO


class NotRegularError(OSError):
    """Something else is there; ``folder`` says whether it is a folder."""

    def __init__(self, *, folder: bool) -> None:
        super().__init__()
        self.folder = folder


def opened(path: Path) -> BinaryIO:
    """The file at ``path``, open for reading, which may return None where nothing is there yet (``/proc/kmsg``).

    Raises:
        NotRegularError: It is not a regular file.
        OSError: It cannot be opened.
    """
    _check(path.stat().st_mode)
    file = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")  # noqa: PTH123, SIM115
    try:
        _check(os.fstat(file.fileno()).st_mode)  # it may have been replaced
    except OSError:
        file.close()
        raise
    return file


def _check(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise NotRegularError(folder=stat.S_ISDIR(mode))
