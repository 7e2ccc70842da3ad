"""`triton-wizard workshop`: join a workshop's shared folder, leave it, and show the progress of all seats."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from wizard.cli.number_types import whole
from wizard.cli.stages import print_json
from wizard.kernel.errors import UsageError
from wizard.kernel.language import ntr, tr
from wizard.kernel.text import is_terminal, plain, table
from wizard.kernel.units import duration
from wizard.workshop.progress import WORKSHOP, is_folder

if TYPE_CHECKING:
    from wizard.workshop.room import Room, Seat

EXAMPLES = "workshop status /share/class --watch\nworkshop join /share/class --name anna\nworkshop leave"
CLEAR = "\x1b[H\x1b[2J"
"""Moves the cursor home and erases the display (ECMA-48: CUP, ED)."""


def add_workshop(parser: argparse.ArgumentParser) -> None:
    """The flags of ``workshop``."""
    about = tr(
        "status: show the progress of all seats; join: report this seat's progress in FOLDER; leave: report no more"
    )
    parser.add_argument("action", choices=("status", "join", "leave"), metavar="status|join|leave", help=about)
    parser.add_argument("folder", nargs="?", metavar="FOLDER", help=tr("the folder that all seats share"))
    parser.add_argument("--name", metavar="NAME", help=tr("this seat's name (default: its number, else a random one)"))
    parser.add_argument(
        "--watch",
        metavar="S",
        nargs="?",
        type=whole,
        const=5,
        help=tr("show it again every S seconds (5) until Ctrl-C"),
    )


def workshop(arguments: argparse.Namespace) -> int:
    """`triton-wizard workshop`."""
    from wizard import journey

    if arguments.action == "leave":
        left = journey.leave()
        print(
            tr("This seat no longer reports its progress.") if left else tr("This seat did not report its progress."),
            file=sys.stderr,
        )
        if is_folder(os.environ.get(WORKSHOP, "")):
            print(tr("Unset {variable}, too: with it, the seat reports again.", variable=WORKSHOP), file=sys.stderr)
        return 0
    if not arguments.folder:
        message = tr("`workshop {action}` needs the folder that all seats share", action=arguments.action)
        raise UsageError("TW-B15", message, tr("Use `workshop {action} FOLDER`.", action=arguments.action))
    folder = Path(arguments.folder).expanduser()
    if arguments.action == "join":
        place = journey.join(folder, arguments.name)
        print(
            tr("Seat {seat} reports its stage, time and error codes in {path}.", seat=place.seat, path=place.path),
            file=sys.stderr,
        )
        return 0
    return _status(arguments, folder)


def _status(arguments: argparse.Namespace, folder: Path) -> int:
    from wizard import journey

    while True:
        room = journey.room(folder)
        if arguments.json:
            print_json(room)
        else:
            print(f"{CLEAR if arguments.watch and is_terminal(sys.stdout) else ''}{text(room)}", flush=True)
        if not arguments.watch:
            return 0
        time.sleep(arguments.watch)


def text(room: Room) -> str:
    """The seats as a table, those with an error first in the summary."""
    rows = [(tr("Seat"), tr("Stage"), tr("State"), tr("Code"), tr("Since"))]
    rows += [_row(seat) for seat in room.seats]
    states = Counter(seat.progress.state for seat in room.seats)
    counts = ", ".join(f"{number} {_state(state)}" for state, number in sorted(states.items()))
    lines = [
        table(rows) if room.seats else tr("No seat has joined yet."),
        ntr("{count} seat", "{count} seats", len(room.seats), count=len(room.seats))
        + (f": {counts}" if counts else ""),
    ]
    if room.unreadable:
        shown = ", ".join(plain(name)[:60] for name in room.unreadable[:5])
        lines.append(tr("Not a seat's file ({count}): {names}", count=len(room.unreadable), names=shown))
    return "\n".join(lines)


def _row(seat: Seat) -> tuple[str, str, str, str, str]:
    progress = seat.progress
    name = f"{progress.seat} {tr('(name used twice)')}" if seat.same_name else progress.seat
    stage = f"{progress.stage}: {progress.step}" if progress.step else progress.stage
    return name, stage, _state(progress.state), progress.code, duration(seat.seconds)


def _state(state: str) -> str:
    words = {"running": tr("running"), "done": tr("done"), "failed": tr("failed"), "stopped": tr("stopped")}
    return words[state]
