"""A call of a tool, as a part of an answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

Outcome: TypeAlias = Literal["asking", "running", "done", "failed", "denied", "stopped"]
OPEN = ("asking", "running")
"""Outcomes of a call that has no result yet."""
STOPPED = "The user stopped this call."
"""The result of a stopped call, for the model."""


@dataclass(frozen=True, slots=True)
class Called:
    """A call that a model made before its answer, and its result.

    Attributes:
        id: Unique in the answer; the model's own, if it gave one.
        name: The tool's name as the model knows it.
        server: The MCP server; empty if no server has such a tool.
        tool: The tool's name on that server.
        arguments: A JSON object, as the model wrote it.
        outcome: What became of it.
        result: What the model got as the result, shortened if it was too long.
        round: Calls of the same round were made together.
        before: What the model wrote before this call.
    """

    id: str
    name: str
    server: str
    tool: str
    arguments: str
    outcome: Outcome = "asking"
    result: str = ""
    round: int = 0
    before: str = ""


def put(calls: tuple[Called, ...], call: Called) -> tuple[Called, ...]:
    """``calls`` with ``call``, which takes the place of an earlier state of it."""
    if any(each.id == call.id for each in calls):
        return tuple(call if each.id == call.id else each for each in calls)
    return (*calls, call)


def ended(calls: Iterable[Called]) -> tuple[Called, ...]:
    """``calls`` after the end of the answer: those without a result were stopped."""
    return tuple(replace(each, outcome="stopped", result=STOPPED) if each.outcome in OPEN else each for each in calls)
