"""All seats of a workshop, from the files in its shared folder.

Anyone may have written there: of what is not a seat's file only the name is reported.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.reasons import unreadable
from wizard.kernel.regular_files import opened
from wizard.kernel.values import from_data
from wizard.workshop.attending import FILE
from wizard.workshop.progress import STAGES, Progress, State, is_name

MOST_SEATS = 2000
LARGEST = 4096
"""Bytes of a seat's file, at most; the wizard writes about 150."""
_CODE = re.compile(r"(TW-[A-Z]\d{2,3})?")
_STEP = re.compile(r"[a-z0-9-]{0,40}")


@dataclass(frozen=True, slots=True)
class Seat:
    """A seat's progress, and the seconds since it was written; ``same_name`` if another seat has its name."""

    progress: Progress
    seconds: float
    same_name: bool = False


@dataclass(frozen=True, slots=True)
class Room:
    """The seats by name, and the names of other files in the folder; the workshop file is not among them."""

    seats: tuple[Seat, ...]
    unreadable: tuple[str, ...]


def look(folder: Path) -> Room:
    """Read the files of all seats.

    Raises:
        UsageError: TW-B12 if the folder cannot be read.
    """
    now, progresses, strange = time.time(), [], []
    try:
        paths = sorted(path for path in folder.iterdir() if not path.name.startswith(".") and path.name != FILE)
    except OSError as error:
        message = tr("cannot read the workshop's folder {folder}: {why}", folder=folder, why=unreadable(error))
        raise UsageError("TW-B12", message, tr("Pass the folder that the seats joined.")) from error
    for path in paths[:MOST_SEATS]:
        progress = _progress(path)
        if progress:
            progresses.append(progress)
        else:
            strange.append(path.name)
    strange += [path.name for path in paths[MOST_SEATS:]]
    count = Counter(progress.seat.casefold() for progress in progresses)
    seats = [Seat(each, max(now - each.time, 0.0), count[each.seat.casefold()] > 1) for each in progresses]
    return Room(tuple(sorted(seats, key=lambda seat: _order(seat.progress.seat))), tuple(strange))


def _progress(path: Path) -> Progress | None:
    """The progress in a file; None if a wizard did not write it."""
    try:
        with opened(path) as file:
            text = file.read(LARGEST + 1)
        if path.suffix != ".json" or path.is_symlink() or len(text) > LARGEST:
            return None
        progress = from_data(Progress, json.loads(text), where=path.name)
    except (OSError, ValueError, RecursionError, UsageError):
        return None
    known = progress.stage in STAGES and progress.state in get_args(State)
    safe = is_name(progress.seat) and _CODE.fullmatch(progress.code) and _STEP.fullmatch(progress.step)
    return progress if known and safe and 0 <= progress.time < 1e11 else None


def _order(name: str) -> list[tuple[int, str]]:
    """Numbers in names by value: seat-2 before seat-10."""
    return [(int(part), "") if part.isdecimal() else (-1, part.casefold()) for part in re.split(r"(\d+)", name)]
