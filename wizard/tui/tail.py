"""The end of a growing file, read in chunks: a server's log while it is written."""

from __future__ import annotations

from pathlib import Path

from wizard.kernel.language import tr
from wizard.kernel.process import LineSplitter
from wizard.kernel.text import plain

BEGIN = 16 * 1024
"""Initial bytes from the end."""
PIECE = 64 * 1024
"""Bytes per read; the rest is read the next time."""
BEHIND = 1024 * 1024
"""Bytes that are not read yet, after which only the end is of interest."""


class Tail:
    """Reads what was added since the last time; a file that is shorter now was replaced."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._at: int | None = None
        self._lines = LineSplitter()

    def read(self) -> list[str]:
        """New lines, without escape sequences; blocks while reading `PIECE`.

        Raises:
            OSError: The file is missing or not readable.
        """
        with self._path.open("rb") as file:
            size = file.seek(0, 2)
            behind = self._at is not None and size - self._at > BEHIND
            if self._at is None or size < self._at or behind:
                self._lines = LineSplitter()
                begins = behind or (self._at is None and size > BEGIN)
                self._at = size - BEGIN if begins else 0
                file.seek(self._at)
                self._at += len(file.readline()) if begins else 0  # the first line is incomplete
            file.seek(self._at)
            data = file.read(PIECE)
        self._at += len(data)
        lines = [plain(line.text) for line in self._lines.feed(data)]
        return [tr("… The log grows too fast to be shown; the file has all of it."), *lines] if behind else lines
