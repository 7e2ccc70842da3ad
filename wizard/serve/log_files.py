"""The log files of a server: one for each of its last starts, none of which another start changes.

``triton-N.log`` is that of start N; ``triton-N.1.log`` is its older half if it was long. ``triton.log`` links to the
newest.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from wizard.kernel import proctable
from wizard.kernel.files import private_file
from wizard.kernel.paths import ServerFolder
from wizard.kernel.secrets import environment_for
from wizard.serve import log_writer

STARTS = 5
"""Starts whose logs are kept."""
MOST_BYTES = 100_000_000
"""Of the log of a start."""
_NAME = re.compile(r"triton-(\d+)(?:\.1)?\.log")


def starts(server: ServerFolder) -> list[Path]:
    """The logs of the last starts, oldest first; an older half is not among them."""
    numbered = {number: path for path in server.logs.glob("triton-*.log") if (number := _number(path))}
    return [server.logs / f"triton-{number}.log" for number in sorted(numbered)]


def _number(path: Path) -> int:
    match = _NAME.fullmatch(path.name)
    return int(match[1]) if match else 0


@contextlib.contextmanager
def begun(server: ServerFolder, most: int = MOST_BYTES) -> Iterator[tuple[Path, IO[bytes]]]:
    """The log of another start, and the pipe for the output of the server; `log_writer` reads it until it is closed.

    Raises:
        OSError: The folder of the logs is not writable.
    """
    path = server.logs / f"triton-{max(map(_number, starts(server)), default=0) + 1}.log"
    with private_file(path, "ab") as log:
        fcntl.flock(log, fcntl.LOCK_EX)  # of the open file, which the writer inherits
        read, write = os.pipe()
        with os.fdopen(read, "rb") as source, os.fdopen(write, "wb") as pipe:
            _write(path, most, source, log)
            _link(server, path)
            _forget(server)
            log.close()
            source.close()
            yield path, pipe


def _write(path: Path, most: int, source: IO[bytes], log: IO[bytes]) -> None:
    environment = environment_for()
    for mark in (proctable.STEP_MARK, proctable.OWNER_MARK, proctable.KEEPER_MARK):
        environment.pop(mark, None)
    subprocess.Popen(
        [sys.executable, "-I", "-S", log_writer.__file__, str(path), str(most)],
        stdin=source,
        stdout=log,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=environment,
        cwd="/",
    )


def _link(server: ServerFolder, path: Path) -> None:
    """Make ``triton.log`` that of the newest start."""
    fresh = server.newest_log.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(path.name)
    fresh.replace(server.newest_log)


def _forget(server: ServerFolder) -> None:
    kept = set(map(_number, starts(server)[-STARTS:]))
    for path in server.logs.glob("triton-*.log"):
        if _number(path) and _number(path) not in kept:
            path.unlink(missing_ok=True)


def is_complete(path: Path) -> bool:
    """Whether no line can come any more; False for a log that is being written."""
    try:
        with path.open("rb") as log:
            fcntl.flock(log, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True
