"""One writer per workspace: an advisory lock (flock(2)) that the kernel releases when the wizard exits."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from wizard.kernel import proctable
from wizard.kernel.errors import WorkspaceError
from wizard.kernel.files import private_folder
from wizard.kernel.language import tr
from wizard.kernel.paths import Workspace

STOPPING = "stopping"
"""Purpose of a lock that is held for seconds: to stop servers."""


@contextmanager
def writing(workspace: Workspace, purpose: str = "") -> Iterator[None]:
    """Lock the workspace for writing, without checking for free space (see `Workspace.make`).

    Args:
        workspace: The workspace.
        purpose: `STOPPING`, or empty.

    Raises:
        WorkspaceError: TW-K03 if it is not writable, TW-K04 if another wizard has locked it (the message has its pid).
    """
    try:
        private_folder(workspace.root)
        handle = workspace.lock.open("a+", encoding="utf-8")
        taken = _take(handle)
    except OSError as error:
        raise WorkspaceError(
            "TW-K03",
            tr(
                "cannot write or lock the workspace {folder}: {error}",
                folder=workspace.root,
                error=error.strerror,
            ),
            tr("Fix its permissions, or choose another folder (on a local disk) with --workspace DIR."),
        ) from error
    with handle:
        if not taken:
            holder = _holder(handle)
            raise WorkspaceError(
                "TW-K04",
                tr("another wizard (process {pid}) is using {folder}", pid=holder, folder=workspace.root)
                if holder
                else tr("another wizard is using {folder}", folder=workspace.root),
                tr(
                    "Wait until it finishes, stop it with Ctrl-C or (a build) with `triton-wizard cancel`, or choose "
                    "another folder with --workspace DIR."
                ),
            )
        with suppress(OSError):  # a full disk: stopping servers and removing files must still work
            handle.truncate(0)
            os.write(handle.fileno(), f"{os.getpid()} {proctable.start_time(os.getpid())} {purpose}\n".encode())
        try:
            yield
        finally:
            with suppress(OSError):
                handle.truncate(0)


def is_stopping(workspace: Workspace) -> bool:
    """Whether another wizard has locked the workspace to stop servers, which takes seconds."""
    try:
        words = workspace.lock.read_text(encoding="utf-8").split()
    except OSError:
        return False
    return words[2:] == [STOPPING] and proctable.lives(int(words[0]), words[1])


def _holder(handle: TextIO) -> str:
    """The pid of the process with the lock: the kernel's word (proc_locks(5)), else that in the file, which the holder
    writes a moment after it has locked it.
    """
    inode = os.fstat(handle.fileno()).st_ino
    with suppress(OSError):
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            _, kind, _, _, pid, place, *_ = line.replace("-> ", "").split()
            if kind == "FLOCK" and int(pid) > 0 and int(place.rpartition(":")[2]) == inode:
                return pid
    handle.seek(0)
    return handle.read().partition(" ")[0].strip()


def _take(handle: TextIO) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
