"""The end of a file that grows, read in pieces: a server's log while it is written."""

from __future__ import annotations

from pathlib import Path

from wizard.kernel.process import LineSplitter
from wizard.kernel.text import plain

BEGIN = 16 * 1024
"""Bytes from the end with which it begins."""
PIECE = 64 * 1024
"""Bytes that are read at once; the rest is read the next time."""


class Tail:
    """Reads what has come since the last time; a file that is shorter now was begun anew."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._at: int | None = None
        self._lines = LineSplitter()

    def read(self) -> list[str]:
        """New lines, without escape sequences; blocks as long as reading `PIECE` takes.

        Raises:
            OSError: The file is not there or cannot be read.
        """
        with self._path.open("rb") as file:
            size = file.seek(0, 2)
            if self._at is None or size < self._at:
                self._lines = LineSplitter()
                begins = self._at is None and size > BEGIN
                self._at = size - BEGIN if begins else 0
                file.seek(self._at)
                self._at += len(file.readline()) if begins else 0  # the line in which it begins is half a line
            file.seek(self._at)
            data = file.read(PIECE)
        self._at += len(data)
        return [plain(line.text) for line in self._lines.feed(data)]
