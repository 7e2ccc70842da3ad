"""The content of the screen of a blind vote, and what its keys change. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from wizard.bench.quality.report import Quality, Vote
from wizard.bench.quality.votes import choice_of, missing, voted, with_ties
from wizard.kernel.errors import WizardError

Side: TypeAlias = Literal[-1, 0, 1]
"""The better answer: the left one (0), the right one (1), neither (-1)."""


@dataclass(frozen=True, slots=True)
class VoteView:
    """The state of the screen."""

    report: Quality | None = None
    """None before the first answers."""
    order: tuple[int, ...] = ()
    """Indices of the prompts without a vote; the first one is on the screen."""
    voted: tuple[int, ...] = ()
    """Those that were voted on since the screen was opened, in this order."""
    error: WizardError | None = None

    @property
    def count(self) -> int:
        """All prompts."""
        return len(self.report.votes) + len(self.report.unasked) if self.report else 0

    @property
    def vote(self) -> Vote | None:
        """The prompt on the screen with its answers; None while answers are missing, and after the last vote."""
        return self.report.votes[self.order[0]] if self.report and self.order else None

    @property
    def complete(self) -> bool:
        """Whether all prompts have a vote."""
        return self.report is not None and not self.report.partial


def answered(view: VoteView, report: Quality) -> VoteView:
    """``view`` with further answers; the first prompt is shown once all are there: speed would reveal the server."""
    if report.unasked:
        return replace(view, report=report)
    report = with_ties(report)
    return replace(view, report=report, order=tuple(missing(report)))


def chosen(view: VoteView, side: Side) -> VoteView:
    """After a vote for the prompt on the screen."""
    if view.report is None or view.vote is None:
        return view
    at, *order = view.order
    report = voted(view.report, at, -1 if side == -1 else choice_of(view.vote, side))
    return replace(view, report=report, order=tuple(order), voted=(*view.voted, at))


def skipped(view: VoteView) -> VoteView:
    """The prompt on the screen comes again at the end."""
    return replace(view, order=(*view.order[1:], *view.order[:1]))


def undone(view: VoteView) -> VoteView:
    """Without the last vote; its prompt is on the screen again."""
    if view.report is None or not view.voted:
        return view
    *before, at = view.voted
    return replace(view, report=voted(view.report, at, None), order=(at, *view.order), voted=tuple(before))
