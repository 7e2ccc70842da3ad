"""Small shell scripts that stand in for programs, and a look at who still runs."""

from __future__ import annotations

import os
from pathlib import Path


def script(path: Path, body: str) -> Path:
    """An executable ``/bin/sh`` script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def hanging(path: Path, before: str = "") -> Path:
    """A script that does ``before`` and then hangs for ever, with a child that does too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    never = path.with_suffix(".fifo")
    os.mkfifo(never)  # opening it waits for a writer, who never comes
    return script(path, f"{before}\n(read x <'{never}') &\nread x <'{never}'")


def running(token: str) -> list[str]:
    """Command lines of living processes that hold ``token`` (a zombie's is empty)."""
    lines: list[str] = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if token in line:
            lines.append(line)
    return lines


def wait_for(token: str) -> None:
    """Wait until `running` finds something: a process that has just been started has no command line yet."""
    while not running(token):  # the test's own time limit ends it
        pass


def wait_until_gone(token: str) -> None:
    """Wait until `running` finds nothing: the kernel takes a moment to carry out a kill."""
    while running(token):  # the test's own time limit ends it
        pass
