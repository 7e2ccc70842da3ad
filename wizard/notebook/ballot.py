"""A blind vote in a notebook: pairs of answers of two servers, one at a time, without names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, cast

from wizard.bench.folder import Folder
from wizard.bench.quality.report import Quality
from wizard.bench.quality.votes import choice_of, missing, shown, voted, with_ties
from wizard.journey import quality_report
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.text import plain
from wizard.notebook.html import ballot_html
from wizard.notebook.values import report_html, report_text


class Ballot:
    """The pairs of answers in ``folder``, from the first one without a vote. Each vote is on disk at once.

    A pair of equal answers is a tie.

    Raises:
        UsageError: TW-N22 if there are no answers in ``folder``.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Folder(Path(folder))
        report = quality_report(self._folder.root)
        if report is None or not report.votes:
            message = tr("there are no answers to vote on in {folder}", folder=folder)
            raise UsageError("TW-N22", message, tr("Collect them: `journey.vote(other)`."))
        self._keep(with_ties(report))

    @property
    def prompt(self) -> str:
        """What both were asked; empty if all pairs have a vote."""
        left = missing(self.report)
        return self.report.votes[left[0]].prompt if left else ""

    @property
    def answers(self) -> tuple[str, str]:
        """Answer 1 and answer 2 to the prompt."""
        left = missing(self.report)
        return shown(self.report.votes[left[0]]) if left else ("", "")

    def choose(self, answer: int) -> Ballot:
        """Vote for answer 1 or 2; 0: neither is better. Shows the next pair, or the result.

        Raises:
            UsageError: TW-N21 if there is no such answer, or all pairs have a vote.
        """
        left = missing(self.report)
        if not left:
            raise UsageError("TW-N21", tr("all pairs have a vote"), tr("Read the result: `report`."))
        if answer not in (0, 1, 2):
            message = tr("there is no answer {answer}", answer=repr(answer))
            raise UsageError("TW-N21", message, tr("Choose 1 or 2, or 0 if neither is better."))
        side = cast("Literal[0, 1]", answer - 1)
        self._keep(voted(self.report, left[0], choice_of(self.report.votes[left[0]], side) if answer else -1))
        return self

    def _keep(self, report: Quality) -> None:
        self._folder.keep(report)
        self.report = report
        """The votes so far, with the names."""

    @property
    def title(self) -> str:
        """Which pair is shown."""
        total = len(self.report.votes)
        return tr("Prompt {number} of {count}:", number=total - len(missing(self.report)) + 1, count=total)

    def __repr__(self) -> str:
        if not self.prompt:
            return report_text(self.report)
        first, second = self.answers
        parts = (f"{self.title} {self.prompt}", tr("Answer 1"), first, tr("Answer 2"), second)
        return plain("\n\n".join(part or tr("(empty)") for part in parts))

    def _repr_html_(self) -> str:
        return ballot_html(self.title, self.prompt, self.answers) if self.prompt else report_html(self.report)
