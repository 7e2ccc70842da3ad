"""Blind votes: the answers of two servers to the same prompts, shown without names and in random order."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from wizard.bench.bench import STOPPED
from wizard.bench.folder import Folder
from wizard.bench.quality.report import Quality, Vote
from wizard.bench.report import Target
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr

PROMPTS = 20
Choice: TypeAlias = Literal[-1, 0, 1]
Answers: TypeAlias = Callable[[str], Awaitable[tuple[str, str]]]
"""Asks both servers; see `Vote.answers`."""


def begun(order: Quality, prompts: Sequence[str], seed: int) -> Quality:
    """The vote on the servers of ``order``: ``prompts`` in an order that the seed gives."""
    shuffled = list(prompts)
    random.Random(seed).shuffle(shuffled)  # noqa: S311
    return replace(order, seed=seed, unasked=tuple(shuffled), partial=STOPPED)


def continued(earlier: Quality, order: Quality) -> Quality:
    """The votes of ``earlier``, to go on with.

    Raises:
        UsageError: TW-C97 if it is not a vote on the same servers.
    """
    if not same_vote(earlier, [subject.target for subject in order.subjects]):
        names = ", ".join(each.target.name for each in earlier.subjects)
        message = tr("the folder has a report of something else: {names}", names=names or tr("no servers"))
        raise UsageError("TW-C97", message, tr("Choose another folder with --out DIR."))
    return earlier


def same_vote(earlier: Quality, targets: Sequence[Target]) -> bool:
    """Whether ``earlier`` is a vote on the servers ``targets``, of which those of the workspace may have moved."""
    mine, theirs = (
        [(each.name, "" if each.plan else each.url) for each in servers]
        for servers in (targets, [subject.target for subject in earlier.subjects])
    )
    return mine == theirs and bool(earlier.votes)


async def collected(report: Quality, folder: Folder, ask: Answers) -> AsyncGenerator[Quality, None]:
    """Get the answers that are missing, all before the first vote, so that nobody sees who is slower.

    Yields the report after each prompt; it is on disk, marked as partial.

    Raises:
        ServerError: As ``ask``.
        WorkspaceError: TW-C68 if the report cannot be written.
    """
    sides = random.Random(report.seed + 1)  # noqa: S311
    lefts = [sides.randrange(2) for _ in range(len(report.votes) + len(report.unasked))]
    while report.unasked:
        prompt, *rest = report.unasked
        vote = Vote(prompt, await ask(prompt), 1 if lefts[len(report.votes)] else 0)
        report = replace(report, votes=(*report.votes, vote), unasked=tuple(rest), partial=STOPPED)
        folder.keep(report)
        yield report


def missing(report: Quality) -> list[int]:
    """Indices of the prompts without a vote."""
    return [at for at, vote in enumerate(report.votes) if vote.choice is None]


def voted(report: Quality, at: int, choice: Choice | None) -> Quality:
    """The report with a vote for the prompt ``at``, or without one; complete when it was the last one."""
    votes = list(report.votes)
    votes[at] = replace(votes[at], choice=choice)
    done = all(vote.choice is not None for vote in votes) and not report.unasked
    return replace(report, votes=tuple(votes), partial="" if done else STOPPED)


def with_ties(report: Quality) -> Quality:
    """The report in which prompts with the same answers have no winner: there is nothing to choose."""
    for at in missing(report):
        if same(report.votes[at]):
            report = voted(report, at, -1)
    return report


def shown(vote: Vote) -> tuple[str, str]:
    """The answers as they are shown: left and right."""
    return vote.answers if vote.left == 0 else (vote.answers[1], vote.answers[0])


def choice_of(vote: Vote, side: Literal[0, 1]) -> Choice:
    """The server whose answer is on the left (0) or on the right (1)."""
    return vote.left if side == 0 else (0 if vote.left else 1)


def same(vote: Vote) -> bool:
    """Whether both gave the same answer."""
    return vote.answers[0].strip() == vote.answers[1].strip()
