"""Copy standard input to a server's log and keep the log within a size: ``python log_writer.py LOG BYTES``.

It stands between the server and the disk, because a file that a server holds open cannot be rotated without losing
lines, and because a full disk must not reach the server: C++ streams write nothing any more after a failed write, and a
``print`` in a model raises. It uses the standard library alone, so that it needs few milliseconds and little memory.

The older half of a long log is ``LOG`` with ``.1`` before its ending. The log is locked (flock(2)) as long as lines may
come, so that a reader can tell whether it is complete.
"""

from __future__ import annotations

import fcntl
import os
import sys
from pathlib import Path

PIECE = 1 << 16


class Log:
    """The file that grows, and how much was lost because it could not.

    Attributes:
        path: Its path.
        half: Bytes after which another file is begun, at the end of a line.
    """

    def __init__(self, path: str, half: int, output: int) -> None:
        self.path, self.half, self._output = path, half, output
        self._size, self._in_line, self._lost = os.fstat(output).st_size, False, 0

    def add(self, data: bytes) -> None:
        """Append ``data``, at most `PIECE` bytes; what cannot be written is counted, and reported when it can again."""
        while len(data) > (room := max(0, self.half - self._size)):
            end = data.rfind(b"\n", 0, room) + 1
            if not end and self._in_line:
                end = room  # a line that does not end is cut
            self._write(data[:end])
            data = data[end:]
            if not self._rotated():
                self._lost += len(data)
                return
        self._write(data)

    def _write(self, data: bytes) -> None:
        if self._lost and data:
            about = f"[triton-wizard: {self._lost} bytes of this log could not be written]\n".encode()
            data = b"\n" * self._in_line + about + data
        while data:
            try:
                written = os.write(self._output, data)
            except OSError:
                self._lost += len(data)
                return
            self._size += written
            self._lost, self._in_line = 0, data[written - 1 : written] != b"\n"
            data = data[written:]

    def _rotated(self) -> bool:
        """Whether the file became the older half, and another one was begun."""
        path = Path(self.path)
        older, fresh = path.with_suffix(f".1{path.suffix}"), path.with_suffix(".new")
        try:
            new = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
            fcntl.flock(new, fcntl.LOCK_EX)
            older.unlink(missing_ok=True)
            try:
                older.hardlink_to(path)  # so that the log is never missing
            except OSError:  # a file system without links
                path.replace(older)
            fresh.replace(path)
        except OSError:
            return False
        os.dup2(new, self._output)
        os.close(new)
        self._size = 0
        return True


def main() -> None:
    """Standard output is the log, open and locked."""
    log = Log(sys.argv[1], int(sys.argv[2]) // 2, 1)
    while data := os.read(0, PIECE):
        log.add(data)


if __name__ == "__main__":
    main()
