"""What a goal stands for: its load and the pace that people expect, ``profiles/goals.toml``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from wizard.catalog.profiles import find, load

DEFAULT_USERS = 4
"""Default number of concurrent users."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal.

    Attributes:
        isl: Tokens of a prompt.
        osl: Tokens of an answer.
        users: Default number of concurrent users of each copy.
        ttft_ms: Milliseconds to the first token that people accept; None: nobody waits.
        tpot_ms: The same between two tokens.
    """

    isl: int
    osl: int
    users: int = DEFAULT_USERS
    ttft_ms: float | None = None
    tpot_ms: float | None = None


@dataclass(frozen=True, slots=True)
class GoalTable:
    """``profiles/goals.toml``."""

    chat: Goal
    documents: Goal
    code: Goal
    throughput: Goal
    quality: Goal
    smallest: Goal


@cache
def goal(name: str) -> Goal:
    """The goal ``name``, which is a field of `GoalTable`.

    Raises:
        UsageError: TW-D01, TW-D02 or TW-K01 if the file is missing or damaged.
    """
    made: Goal = getattr(load(GoalTable, find("goals.toml")), name)
    return made


GOALS = ("chat", "documents", "code", "throughput", "quality", "smallest")
"""All goals, in the order in which they are offered."""
