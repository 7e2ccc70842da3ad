"""A blind vote, from the chat or from a report: which one, the votes, and the result."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from wizard.bench.opened import Opened
from wizard.bench.quality.report import Quality
from wizard.bench.quality.votes import missing
from wizard.flow.voting import Voting, keep, named
from wizard.kernel.language import tr
from wizard.kernel.text import plain
from wizard.texts.benchmark.markup import shown
from wizard.tui import background
from wizard.tui.screens.modal import AskScreen
from wizard.tui.screens.report import ReportScreen
from wizard.tui.screens.vote import VoteScreen
from wizard.tui.widgets.error import errors_shown

if TYPE_CHECKING:
    from wizard.tui.app import WizardApp


async def vote(app: WizardApp, voting: Voting) -> None:
    """Vote on the answers of two servers; an unfinished vote on them can be continued."""
    with errors_shown(app):
        folder = await background.call(voting.folder)
        if earlier := await background.call(voting.unfinished):
            path, report = earlier
            question = tr(
                "You began to vote on these servers on {made}: {votes} of {count} votes.",
                made=report.made[:16].replace("T", " "),
                votes=len(report.votes) - len(missing(report)),
                count=len(report.votes) + len(report.unasked),
            )
            answers = [("continue", tr("Continue")), ("new", tr("Start a new vote"))]
            answer = await app.push_screen_wait(AskScreen(question, answers))
            if answer is None:
                return
            folder = path if answer == "continue" else folder
        result = await _vote_in(app, folder, partial(voting.answers, folder))
        if result is not None and not result.report.partial:
            screen = ReportScreen(result)
            screen.guide = app.guide
            await app.push_screen_wait(screen)


def report_screen(app: WizardApp, opened: Opened) -> ReportScreen:
    """The screen of a report, with a key for a blind vote if it compares two servers."""
    screen = ReportScreen(opened, partial(vote_on, app) if named(opened.report) else None)
    screen.guide = app.guide
    return screen


async def vote_on(app: WizardApp, opened: Opened) -> Opened | None:
    """Vote on the two servers of a report; returns the report with the further votes if it was an unfinished vote."""
    report, folder, targets = opened.report, opened.folder, named(opened.report)
    begun = isinstance(report, Quality) and report.votes and report.partial
    if isinstance(report, Quality) and begun and folder and not report.unasked:
        return await _vote_in(app, folder, partial(_all_there, report))
    addresses = [each.url for each in targets if not each.plan]
    if addresses:  # reports come from other people, too
        question = tr("The report names: {names}", names=shown(", ".join(addresses)))
        answers = [("use", tr("Use them")), ("back", tr("Do not use them"))]
        if await app.push_screen_wait(AskScreen(question, answers)) != "use":
            return None
    with errors_shown(app):
        voting = await background.call(partial(Voting.on, app.journey, app.workspace, targets))
        if begun and folder:
            return await _vote_in(app, folder, partial(voting.answers, folder))
        await vote(app, voting)
    return None


async def _all_there(report: Quality) -> AsyncGenerator[Quality, None]:
    """A report with all answers."""
    yield report


async def _vote_in(app: WizardApp, folder: Path, answers: Callable[[], AsyncGenerator[Quality, None]]) -> Opened | None:
    """The report with all votes so far; None without answers."""
    screen = VoteScreen(answers, partial(keep, app.journey, folder), clock=app.clock)
    screen.guide = app.guide
    await app.push_screen_wait(screen)
    report = screen.view.report
    if report is None or not report.votes:
        return None
    if report.partial:
        text = tr("The vote is kept in {folder}. To continue, start it again.", folder=plain(str(folder)))
        app.notify(text, markup=False)
    return Opened(report, (), folder)
