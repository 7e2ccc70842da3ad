"""The kernel's table of processes, read from ``/proc`` (Linux; proc(5)).

Processes that the wizard starts have a marker variable in their environment. A killed wizard leaves no list of its
children, but the markers remain, so the next wizard finds them without a race.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

STEP_MARK = "TRITON_WIZARD_STEP"
"""Identifies the workspace in the environment of every child of a running step."""
OWNER_MARK = "TRITON_WIZARD_OWNER"
"""Identifies the wizard that started it, in the environment of the same child: its pid and start time."""
SERVER_MARK = "TRITON_WIZARD_SERVER"
"""Identifies the server's folder in the environment of a server and all its children."""
KEEPER_MARK = "TRITON_WIZARD_KEEPER"
"""Identifies the server's folder in the environment of the process that keeps it running."""
GATEWAY_MARK = "TRITON_WIZARD_GATEWAY"
"""Identifies the workspace in the environment of the process with its OpenAI-compatible address."""


@dataclass(frozen=True, slots=True)
class Process:
    """One row of the table."""

    pid: int
    group: int
    state: str
    started: str
    """Start time in clock ticks after boot, as the kernel prints it; together with the pid it identifies a process
    uniquely.
    """


def read(pid: int) -> Process | None:
    """The row of ``pid``, or None if the process does not exist or is a zombie.

    A process whose first thread has ended is shown as a zombie too, but while another of its threads is alive it still
    holds all its resources: memory, files, GPUs.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat[stat.rindex(")") + 2 :].split()  # the name in parentheses may contain anything
    state, group, threads, started = fields[0], int(fields[2]), int(fields[17]), fields[19]
    return None if state == "X" or (state == "Z" and threads <= 1) else Process(pid, group, state, started)


def alive(process: Process) -> bool:
    """Whether ``process`` is still alive."""
    return lives(process.pid, process.started)


def lives(pid: int, started: str) -> bool:
    """Whether the process ``pid`` with this start time is alive; the pid alone may have been reused."""
    now = read(pid)
    return now is not None and now.started == started


def start_time(pid: int) -> str:
    """When ``pid`` was started, to be noted with it; empty if it does not exist."""
    row = read(pid)
    return row.started if row else ""


def command(pid: int) -> tuple[str, ...]:
    """The program of ``pid`` and its arguments; empty if they are not readable."""
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return ()
    return tuple(os.fsdecode(word) for word in raw.rstrip(b"\0").split(b"\0")) if raw else ()


def memory(pid: int) -> int | None:
    """Bytes of memory that ``pid`` uses; None if not readable (proc_pid_smaps(5)).

    A page that several processes share counts proportionally (PSS). Read-only shared mappings do not count: they are
    files, such as a model's weights, whose pages the kernel caches for all processes and can drop.
    """
    try:
        lines = Path(f"/proc/{pid}/smaps").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    kilobytes, counts = 0, True
    for line in lines:
        first, second, *_ = (*line.split(maxsplit=2), "", "")
        if not first.endswith(":"):  # a mapping begins: its addresses and permissions
            counts = not second.startswith("r--s")
        elif first == "Pss:" and counts:
            kilobytes += int(second)
    return kilobytes * 1024


def processes() -> list[Process]:
    """All living processes that are visible."""
    rows = (read(int(entry.name)) for entry in os.scandir("/proc") if entry.name.isdigit())
    return [row for row in rows if row is not None]


def environment(pid: int) -> dict[str, str]:
    """The environment that ``pid`` was started with; empty if it is not readable."""
    try:
        raw = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return {}
    pairs = (item.partition(b"=") for item in raw.split(b"\0") if b"=" in item)
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}


def marked(mark: str, value: str) -> list[Process]:
    """Living processes other than this one whose environment contains ``mark=value``."""
    me = os.getpid()
    return [row for row in processes() if row.pid != me and environment(row.pid).get(mark) == value]


def step_marks(workspace: Path) -> dict[str, str]:
    """The variables that mark a child of this process, which works for ``workspace``."""
    me = read(os.getpid())
    return {STEP_MARK: str(workspace), OWNER_MARK: f"{me.pid} {me.started}" if me else ""}


def orphans(workspace: Path) -> list[Process]:
    """Living children of wizards that worked for ``workspace`` and have ended."""
    children = marked(STEP_MARK, str(workspace))
    wizards = {f"{row.pid} {row.started}" for row in processes()}
    return [row for row in children if environment(row.pid).get(OWNER_MARK) not in wizards]


def group_members(group: int) -> list[Process]:
    """Living processes of a process group."""
    return [row for row in processes() if row.group == group]
