"""A server that is kept running (`up --keep`): the process that restarts it, started, found again and ended here.

The process is `wizard.serve.keeper`. It watches a server that it did not start, so killing it harms no server, and
notes what it has restarted.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from signal import SIGKILL, SIGTERM
from typing import Literal, TypeAlias, get_args

from wizard.kernel import proctable
from wizard.kernel.errors import ServerError
from wizard.kernel.language import join, tr
from wizard.kernel.paths import ServerFolder
from wizard.kernel.process import stop_group
from wizard.kernel.secrets import environment_for
from wizard.kernel.values import to_json

END = ((SIGTERM, 2.0), (SIGKILL, 5.0))
"""It has nothing to finish."""
State: TypeAlias = Literal["watching", "restarting", "given up"]


@dataclass(frozen=True, slots=True)
class Kept:
    """What keeps a server running.

    Attributes:
        pid: The process.
        started: Its start time as the kernel counts it.
        restarts: How often it has restarted the server.
        reason: Why it restarted the server last, or is doing so; empty if it never did.
        at: When that was, in seconds since 1970; 0 if never.
        state: What it does now; once it has given up, the process has ended.
        log: The log of the start that failed last.
    """

    pid: int
    started: str
    restarts: int = 0
    reason: str = ""
    at: float = 0.0
    state: State = "watching"
    log: str = ""


def note(server: ServerFolder) -> Kept | None:
    """What the last process noted, running or not; None if there was none, or it was ended."""
    try:
        data = json.loads(server.kept.read_bytes())
        kept = Kept(**data)
        numbers, texts = (kept.pid, kept.restarts), (kept.started, kept.reason, kept.log)
        fits = {*map(type, numbers)} == {int} and {*map(type, texts)} == {str} and kept.state in get_args(State)
        return replace(kept, at=float(kept.at)) if fits else None
    except (OSError, ValueError, TypeError, RecursionError):
        return None  # a damaged file counts as missing; the process, if any, is found by its mark


def running(server: ServerFolder) -> Kept | None:
    """What keeps the server running now."""
    kept = note(server)
    row = proctable.read(kept.pid) if kept else None
    return kept if kept and row and row.started == kept.started else None


def shown(server: ServerFolder) -> Kept | None:
    """What keeps the server running, or has given up."""
    kept = note(server)
    return kept if kept and kept.state == "given up" else running(server)


def write(server: ServerFolder, kept: Kept) -> None:
    """Write the note atomically.

    Raises:
        OSError: The folder is not writable, or gone.
    """
    temporary = server.kept.with_suffix(".new")
    temporary.write_text(to_json(kept, indent=2) + "\n", encoding="utf-8")
    temporary.replace(server.kept)


def start(server: ServerFolder) -> Kept:
    """Keep the server running from now on, unless that is so; the server is running.

    Raises:
        ServerError: TW-S30 if the process cannot be started.
    """
    if kept := running(server):
        return kept
    environment = environment_for() | {proctable.KEEPER_MARK: str(server.root)}
    for mark in (proctable.STEP_MARK, proctable.OWNER_MARK):
        environment.pop(mark, None)
    try:
        with server.keeper_log.open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "wizard.serve.keeper", str(server.root)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=environment,
            )
        row = proctable.read(process.pid)
        kept = Kept(process.pid, row.started if row else "")
        write(server, kept)
    except OSError as error:
        raise ServerError(
            "TW-S30",
            tr("cannot keep {name} running: {why}", name=server.name, why=str(error.strerror)),
            tr("The server itself is running. Free some disk space or memory, then run `up --keep` again."),
        ) from error
    return kept


async def end(server: ServerFolder) -> bool:
    """Restart the server no more; whether it was kept. The server itself goes on."""
    rows = proctable.marked(proctable.KEEPER_MARK, str(server.root))
    for group in {row.group for row in rows}:
        await stop_group(group, END)
    server.kept.unlink(missing_ok=True)
    return bool(rows)


def words(kept: Kept | None) -> str:
    """What keeps the server running, in words; empty if nothing does."""
    if kept is None:
        return ""
    times = tr("restarted {count} times", count=kept.restarts) if kept.restarts != 1 else tr("restarted once")
    last = tr("last: {reason}", reason=kept.reason) if kept.reason else ""
    return tr("kept running, {times}", times=join("; ", times, last))


def news(name: str, kept: Kept) -> str:
    """What an open chat shows when ``kept`` has changed: one line; empty if nothing happened to the server ``name``."""
    when = time.strftime("%H:%M:%S", time.localtime(kept.at))
    if kept.state == "restarting":
        return tr("{name} is being restarted: {reason}.", name=name, reason=kept.reason)
    if kept.state == "given up":
        return tr("{name} is not restarted any more: {reason}.", name=name, reason=kept.reason)
    return tr("{name} was restarted at {when}: {reason}.", name=name, when=when, reason=kept.reason) * bool(kept.at)
