"""The available serving stacks: a stack is a file in ``profiles/stacks``, its facts with their sources.

`names` is called for each ``--help``, so it loads neither TOML's parser nor the values of `wizard.catalog.stack_facts`.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from wizard.catalog import profiles

if TYPE_CHECKING:
    from wizard.catalog.gpu_facts import OnGpu
    from wizard.catalog.stack_facts import StackFacts

_RANK = re.compile(r"^rank *= *(\d+)", re.MULTILINE)


def files() -> dict[str, Path]:
    """Stack name → the file with its facts."""
    return profiles.files("stacks")


@cache
def names() -> tuple[str, ...]:
    """All stacks, ordered by rank; those whose file has no separate line for it come first."""

    def rank(path: Path) -> int:
        try:
            match = _RANK.search(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):  # `facts` reports the error
            match = None
        return int(match[1]) if match else 0

    known = files()
    return tuple(sorted(known, key=lambda name: rank(known[name])))


@cache
def facts(name: str) -> StackFacts:
    """The facts about the stack ``name``, cached per process: the advice calls this thousands of times.

    Raises:
        UsageError: TW-D01 if the stack is unknown, TW-D02 or TW-K01 if its file is damaged.
    """
    from wizard.catalog.stack_facts import StackFacts

    return profiles.load(StackFacts, files().get(name) or profiles.find(f"stacks/{name}.toml"))


@cache
def on_gpu(name: str) -> OnGpu:
    """The facts about the stack ``name`` on GPUs.

    Raises:
        ValueError: It does not serve on GPUs: `gpu_stacks` are those that do.
        UsageError: See `facts`.
    """
    gpu_facts = facts(name).gpu
    if gpu_facts is None:
        raise ValueError(f"{name} does not serve on GPUs")
    return gpu_facts


def gpu_stacks() -> tuple[str, ...]:
    """The stacks that serve on GPUs, in order.

    Raises:
        UsageError: See `facts`.
    """
    return tuple(name for name in names() if facts(name).gpu)


def cpu_stacks() -> tuple[str, ...]:
    """The stacks that serve on the CPU, in order.

    Raises:
        UsageError: See `facts`.
    """
    return tuple(name for name in names() if facts(name).cpu)


def native_stacks() -> tuple[str, ...]:
    """The stacks that a user's Python can serve, in order.

    Raises:
        UsageError: See `facts`.
    """
    return tuple(name for name in names() if (native := facts(name).native) and native.packages)


def title(name: str) -> str | None:
    """The stack's name as its vendor writes it; None if the stack is unknown."""
    return facts(name).title if name in names() else None


def forget() -> None:
    """Clear the caches, because the profile folders have changed."""
    for each in (names, facts, on_gpu):
        each.cache_clear()
