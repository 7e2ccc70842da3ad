"""The blind vote on the answers of two servers: where it is kept, its answers, its votes; for every interface."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wizard.kernel.errors import WizardError
from wizard.kernel.program import command

if TYPE_CHECKING:
    from wizard.bench.opened import AnyReport
    from wizard.bench.quality.report import Quality
    from wizard.bench.report import Target
    from wizard.flow.port import JourneyPort
    from wizard.kernel.paths import Workspace
    from wizard.serve.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class Voting:
    """A blind vote on the answers of ``first`` and ``second``."""

    journey: JourneyPort
    workspace: Workspace
    first: Endpoint
    second: Endpoint

    @classmethod
    def on(cls, journey: JourneyPort, workspace: Workspace, targets: Sequence[Target]) -> Voting:
        """A vote on the servers of a report (blocking).

        Raises:
            UsageError, ServerError: One of them does not run, see `wizard.journey.endpoint` and `wizard.journey.at`.
        """
        first, second = (
            journey.endpoint(workspace, each.name) if each.plan else journey.at(each.url, each.model)
            for each in targets
        )
        return cls(journey, workspace, first, second)

    def unfinished(self) -> tuple[Path, Quality] | None:
        """The folder and the report of the latest vote on these servers that is not complete (blocking)."""
        from wizard.bench.folder import REPORT
        from wizard.bench.quality.order import subject_of, told_apart
        from wizard.bench.quality.votes import same_vote

        targets = told_apart([subject_of(self.workspace, each, None) for each in (self.first, self.second)])
        reports: list[tuple[Path, Quality]] = []
        for path in self.workspace.bench.glob(f"*/{REPORT}"):
            with suppress(WizardError):
                report = self.journey.quality_report(path)
                reports += [(path.parent, report)] if report and report.partial and same_vote(report, targets) else []
        return max(reports, key=lambda each: each[1].made, default=None)

    def folder(self) -> Path:
        """A new folder for the vote."""
        from wizard.bench.order import folder_of

        return folder_of(self.workspace, "votes")

    def answers(self, folder: Path) -> AsyncGenerator[Quality, None]:
        """Get the answers that are missing, see `wizard.journey.ballots`."""
        from wizard.bench.quality.order import prompts_of

        names = [each.name if each.url is None else each.url for each in (self.first, self.second)]
        again = command("bench", "--quality", "--vote", *names, "--out", str(folder), workspace=self.workspace)
        servers = (self.first, self.second)
        return self.journey.ballots(self.workspace, servers, prompts_of(), folder, again, 0)


def named(report: AnyReport) -> tuple[Target, ...]:
    """The two servers that a report compares; empty if it does not compare two."""
    from wizard.bench.comparison import Comparison
    from wizard.bench.quality.report import Quality

    targets: tuple[Target, ...] = ()
    if isinstance(report, Quality):
        targets = tuple(subject.target for subject in report.subjects)
    elif isinstance(report, Comparison) and report.order != "search":
        targets = tuple(each.target for each in report.reports)
    return targets if len(targets) == 2 else ()


def keep(journey: JourneyPort, folder: Path, report: Quality) -> None:
    """Write a vote, and its pages once it is complete (blocking).

    Raises:
        WorkspaceError: TW-C68 if they cannot be written.
    """
    from wizard.bench.folder import Folder

    Folder(folder).keep(report)
    if not report.partial:
        journey.quality_pages(folder)
