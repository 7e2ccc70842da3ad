"""Files of lines that are only appended to, by writers that may be killed at any moment."""

from __future__ import annotations

import os
from pathlib import Path


def append(path: Path, line: str) -> None:
    """Append ``line`` and its newline to the file, made if need be, and bring both to the disk.

    Half a line that a killed writer left stays as it is; ``line`` begins after it.

    Raises:
        OSError: The file cannot be written.
    """
    with path.open("a+b") as file:
        size = file.tell()
        if size and os.pread(file.fileno(), 1, size - 1) != b"\n":
            file.write(b"\n")
        file.write(f"{line}\n".encode())
        file.flush()
        os.fsync(file.fileno())
