"""Names of files that complete a typed path."""

from __future__ import annotations

import os
import subprocess
from itertools import islice
from pathlib import Path

MOST_READ = 5_000
"""Entries of a folder that are looked at."""
GIT_S = 1.0
"""Seconds for git to say which of them it ignores."""


def completions(typed: str, folder: Path, *, most: int = 5) -> list[str]:
    """Paths below ``folder`` that begin with ``typed``; folders end with ``/``; hidden and ignored ones come last."""
    parent, _, start = typed.rpartition("/")
    try:
        where = folder / Path(f"{parent}/" if parent or typed.startswith("/") else "").expanduser()
        with os.scandir(where) as entries:
            matching = [each for each in islice(entries, MOST_READ) if each.name.lower().startswith(start.lower())]
            names = {each.name: each.is_dir() for each in matching}
    except (OSError, ValueError, RuntimeError):
        return []
    ignored = _ignored([*names], where)
    names = {name: names[name] for name in names if "\n" not in name and '"' not in name}
    order = sorted(names, key=lambda name: (name in ignored, name.startswith("."), name.lower()))
    before = typed[: len(typed) - len(start)]
    return [f"{before}{name}{'/' if names[name] else ''}" for name in order[:most]]


def _ignored(names: list[str], where: Path) -> set[str]:
    """Those of ``names`` that git ignores (git-check-ignore(1)); none without git or a repository."""
    command = ["git", "check-ignore", "-z", "--stdin"]
    given = "\0".join(names).encode(errors="surrogateescape")
    try:
        done = subprocess.run(command, input=given, cwd=where, capture_output=True, timeout=GIT_S, check=False)
    except (OSError, subprocess.SubprocessError):
        return set()
    return set(done.stdout.decode(errors="surrogateescape").split("\0"))
