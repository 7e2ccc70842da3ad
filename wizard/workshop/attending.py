"""The workshop that this seat attends: the facilitator's file, and what is the seat's own in it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from wizard.catalog.workshops import Workshop, workshop
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.paths import default_workspace
from wizard.plan.workshop import with_seat
from wizard.workshop.progress import SEAT, WORKSHOP, is_folder

FILE = "workshop.toml"
"""The workshop file in a shared folder."""


@dataclass(frozen=True, slots=True)
class Attended:
    """A workshop with the seat's port among its pins, and the seat's number."""

    workshop: Workshop
    seat: int

    @property
    def workspace(self) -> Path | None:
        """The seat's own workspace, if all seats share a user account; else None."""
        base = default_workspace()
        return base.with_name(f"{base.name}-seat-{self.seat}") if self.workshop.shared_workspace else None


def attended(named: str | None = None, seat: str | None = None) -> Attended | None:
    """The workshop ``named``, by default that of the environment; None without one, or if its folder has no file.

    Args:
        named: A workshop file, the name of an included one, or the folder that all seats share.
        seat: The seat's number; by default that of the environment, else 0.

    Raises:
        UsageError: TW-U53 if the seat is not a number, TW-U51 if it has no port, and errors in the file.
    """
    named = named or os.environ.get(WORKSHOP)
    if not named:
        return None
    number = _number(os.environ.get(SEAT, "0") if seat is None else seat)
    folder = Path(named).expanduser()
    if is_folder(named) and folder.is_dir():
        if not (folder / FILE).is_file():
            return None
        named = str(folder / FILE)
    return Attended(with_seat(workshop(named), number), number)


def _number(text: str) -> int:
    if not text.isdecimal():
        raise UsageError(
            "TW-U53", tr("invalid seat number: {text!r}", text=text[:40]), tr("Pass 0, 1, 2, … to --seat.")
        )
    return int(text)
