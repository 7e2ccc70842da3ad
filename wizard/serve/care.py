"""A server that is kept running (`up --keep`): the process that restarts it, started, found again and ended here.

The process is `wizard.serve.keeper`. It watches a server that it did not start, so killing it harms no server, and
notes what it has restarted.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from signal import SIGKILL, SIGTERM
from typing import Literal, TypeAlias, get_args

from wizard.kernel import proctable
from wizard.kernel.errors import ServerError
from wizard.kernel.files import private_file, write_whole
from wizard.kernel.language import join, tr
from wizard.kernel.paths import ServerFolder
from wizard.kernel.process import stop_group
from wizard.kernel.secrets import environment_for
from wizard.kernel.values import to_json

END = ((SIGTERM, 2.0), (SIGKILL, 5.0))
"""It has nothing to finish."""
LOOK_S = 0.05
State: TypeAlias = Literal["watching", "restarting", "given up"]


@dataclass(frozen=True, slots=True)
class Care:
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


def note(server: ServerFolder) -> Care | None:
    """What the last process noted, running or not; None if there was none, or it was ended."""
    try:
        data = json.loads(server.care.read_bytes())
        care = Care(**data)
        numbers, texts = (care.pid, care.restarts), (care.started, care.reason, care.log)
        fits = {*map(type, numbers)} == {int} and {*map(type, texts)} == {str} and care.state in get_args(State)
        return replace(care, at=float(care.at)) if fits else None
    except (OSError, ValueError, TypeError, RecursionError):
        return None  # a damaged file counts as missing; the process, if any, is found by its mark


def running(server: ServerFolder) -> Care | None:
    """What keeps the server running now."""
    care = note(server)
    return care if care and proctable.lives(care.pid, care.started) else None


def shown(server: ServerFolder) -> Care | None:
    """What keeps the server running, or has given up."""
    care = note(server)
    return care if care and care.state == "given up" else running(server)


def write(server: ServerFolder, care: Care) -> None:
    """Write the note atomically.

    Raises:
        OSError: The folder is not writable, or gone.
    """
    write_whole(server.care, f"{to_json(care, indent=2)}\n", private=True)


def start(server: ServerFolder) -> Care:
    """Keep the server running from now on, unless that is so; the server is running.

    Raises:
        ServerError: TW-S30 if the process cannot be started.
    """
    if care := running(server):
        return care
    environment = environment_for() | {proctable.KEEPER_MARK: str(server.root)}
    for mark in (proctable.STEP_MARK, proctable.OWNER_MARK):
        environment.pop(mark, None)
    try:
        with private_file(server.keeper_log, "ab") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "wizard.serve.keeper", str(server.root)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=environment,
                cwd="/",  # so that no file of the current folder is imported
            )
        care = Care(process.pid, proctable.start_time(process.pid))
        write(server, care)
    except OSError as error:
        raise ServerError(
            "TW-S30",
            tr("cannot keep {name} running: {why}", name=server.name, why=str(error.strerror)),
            tr("The server itself is running. Free some disk space or memory, then run `up --keep` again."),
        ) from error
    return care


async def end(server: ServerFolder, *, again: bool | None = False) -> bool:
    """Restart the server no more; whether it was kept. The server itself goes on.

    Args:
        server: The server.
        again: Whether the next start keeps it running, which the note is left for; None: if this one did.

    Raises:
        OSError: The note cannot be written.
    """
    rows = proctable.marked(proctable.KEEPER_MARK, str(server.root))
    for group in {row.group for row in rows}:
        await stop_group(group, END)
    if again is False:
        server.care.unlink(missing_ok=True)
    elif again and note(server) is None:
        write(server, Care(0, ""))
    return bool(rows)


def words(care: Care | None) -> str:
    """What keeps the server running, in words; empty if nothing does."""
    if care is None:
        return ""
    if care.state == "given up":
        return tr("not restarted any more: {reason}", reason=care.reason)
    times = tr("restarted {count} times", count=care.restarts) if care.restarts != 1 else tr("restarted once")
    last = tr("last: {reason}", reason=care.reason) if care.reason else ""
    return tr("kept running, {times}", times=join("; ", times, last))


class News:
    """What happens to a kept server while a chat is open, each event once."""

    def __init__(self, look: Callable[[], Care | None]) -> None:
        """Begin now.

        Args:
            look: Reads what keeps the server running; fast.
        """
        self._look, self._seen = look, look()

    def read(self, name: str) -> str:
        """A line about the server ``name``; empty if nothing happened since the last time."""
        before, now = self._seen, self._look()
        self._seen = now
        if now is None or not now.reason or (before and (before.at, before.state) == (now.at, now.state)):
            return ""
        if now.state == "restarting":
            return tr("{name} is being restarted: {reason}.", name=name, reason=now.reason)
        if now.state == "given up":
            return tr("{name} is not restarted any more: {reason}.", name=name, reason=now.reason)
        return tr("{name} was restarted: {reason}.", name=name, reason=now.reason)

    def await_begin(self, seconds: float) -> bool:
        """Wait up to ``seconds`` for a restart that has begun since the last news; not if the server is not kept."""
        before = self._seen
        return before is not None and self._await(
            lambda now: now.state != "watching" or now.restarts > before.restarts, seconds
        )

    def await_end(self, seconds: float) -> bool:
        """Wait up to ``seconds`` for the end of a restart that has begun; whether the server runs again."""
        return self._await(lambda now: now.state == "watching", seconds)

    def _await(self, fits: Callable[[Care], bool], seconds: float) -> bool:
        until = time.monotonic() + seconds
        while (now := self._look()) and not fits(now):
            if now.state == "given up" or time.monotonic() > until:
                return False
            time.sleep(LOOK_S)
        return now is not None
