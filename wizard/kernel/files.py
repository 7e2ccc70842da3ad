"""Create folders and files: for this user only, and in one piece."""

from __future__ import annotations

import os
from io import BufferedWriter
from pathlib import Path
from typing import Literal


def private_folder(folder: Path) -> None:
    """Create ``folder``, and what is missing above it, so that only this user can enter it (XDG Base Directory
    Specification 0.8: missing folders get mode 0700). One that exists keeps its mode.

    Raises:
        OSError: It cannot be created.
    """
    for missing in reversed([path for path in (folder, *folder.parents) if not path.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(exist_ok=True)  # raises where a file is in the way


def private_file(path: Path, mode: Literal["ab", "wb"]) -> BufferedWriter:
    """Open a file for writing, so that only this user can read one that is created; one that exists keeps its mode.

    Raises:
        OSError: It cannot be opened.
    """
    return open(path, mode, opener=lambda name, flags: os.open(name, flags, 0o600))


def write_whole(path: Path, text: str | bytes, *, private: bool = False) -> None:
    """Replace the file ``path``: a reader sees all of it, or what was there before. A failure leaves nothing else.

    Args:
        path: The file; its folder exists.
        text: Its contents; text becomes UTF-8.
        private: Only this user can read it.

    Raises:
        OSError: It cannot be written.
        UnicodeError: ``text`` has a lone surrogate.
    """
    data = text.encode() if isinstance(text, str) else text
    temporary = unfinished(path)
    try:
        with private_file(temporary, "wb") if private else temporary.open("wb") as file:
            file.write(data)
        temporary.replace(path)
    except OSError:
        if not temporary.is_dir():
            temporary.unlink(missing_ok=True)
        raise


def unfinished(path: Path) -> Path:
    """Where this process writes what will be ``path``."""
    return path.with_name(f".{path.name}.{os.getpid()}")
