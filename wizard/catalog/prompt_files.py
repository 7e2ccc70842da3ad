"""The user's prompts: text files in a folder ``prompts`` of their profiles."""

from __future__ import annotations

from pathlib import Path

from wizard.catalog.profiles import user_folder
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.reasons import unreadable
from wizard.kernel.text import one_line

SUFFIXES = (".md", ".txt")
LONGEST = 100_000
"""Bytes of a prompt."""


def names() -> list[str]:
    """Names of all prompts, sorted: those of the files, without their suffix."""
    return sorted({path.stem for path in _files()})


def text(name: str) -> str:
    """The prompt ``name``.

    Raises:
        UsageError: TW-D13 if it is unknown, not readable or too long.
    """
    path = next((path for path in _files() if path.stem == name), None)
    if path is None:
        folder, known = _folder(), ", ".join(names()) or tr("none yet")
        raise UsageError(
            "TW-D13",
            tr("unknown prompt: {name}", name=one_line(name)[:60]),
            tr("Available: {names}. A prompt is a file NAME.md or NAME.txt in {folder}.", names=known, folder=folder),
        )
    try:
        with path.open("rb") as file:
            data = file.read(LONGEST + 1)
        if len(data) <= LONGEST:
            return data.decode("utf-8-sig").strip()
        why = tr("it is longer than {size:,} bytes", size=LONGEST)
    except (OSError, UnicodeError) as error:
        why = unreadable(error)
    raise UsageError("TW-D13", tr("cannot read {path}: {why}", path=path, why=why), tr("Check the file."))


def _files() -> list[Path]:
    try:
        return sorted(path for path in _folder().iterdir() if path.suffix in SUFFIXES and path.is_file())
    except OSError:
        return []


def _folder() -> Path:
    return user_folder() / "prompts"
