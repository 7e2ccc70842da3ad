"""`triton-wizard bench --quality --vote A B`: which answer is better, without knowing whose it is."""

from __future__ import annotations

import argparse
import shlex
import sys
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from wizard.cli.bench_runs import SIGNALS, folder_for, stopped
from wizard.cli.command_lines import typed_command
from wizard.cli.quality_output import show
from wizard.cli.stages import workspace_of
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wizard.bench.quality.report import Quality
    from wizard.serve.endpoint import Endpoint


def vote(arguments: argparse.Namespace, endpoints: Sequence[Endpoint]) -> int:
    """Get the answers of both, ask for the votes, and show the result.

    Raises:
        UsageError: TW-C97 if there is nothing to choose from, or nobody to choose.
        CancelledError: TW-U07 if it was stopped; votes are kept.
    """
    from wizard.kernel.text import is_terminal

    if endpoints[0].answers_as(endpoints[1]):
        raise UsageError("TW-C97", tr("both are the same server"), tr("Name two servers; see `triton-wizard status`."))
    if not is_terminal():
        message = tr("votes need a terminal to ask in")
        raise UsageError("TW-C97", message, tr("Run the command in a terminal."))
    folder = folder_for(arguments, "votes")
    again = tr("To continue, run `{command}`.", command=_resuming(arguments, folder))
    if not _collect(arguments, endpoints, folder):
        raise stopped(arguments, folder, again)
    whole = _ask(folder)
    show(arguments, folder)
    if not whole:
        raise stopped(arguments, folder, again)
    return 0


def _resuming(arguments: argparse.Namespace, folder: Path) -> str:
    command = typed_command(arguments)
    return command if arguments.out else f"{command} --out {shlex.quote(str(folder))}"


def _collect(arguments: argparse.Namespace, endpoints: Sequence[Endpoint], folder: Path) -> bool:
    """Get the answers; False if it was stopped."""
    from wizard import journey
    from wizard.bench.quality.order import prompts_of
    from wizard.prompts.interrupt import until_stopped

    prompts = prompts_of(arguments.dataset)
    reports = journey.ballots(
        workspace_of(arguments), endpoints, prompts, folder, typed_command(arguments), arguments.seed
    )

    async def drive() -> None:
        async with aclosing(reports):
            async for report in reports:
                done = len(report.votes)
                text = tr("Answers: {done} of {count}", done=done, count=done + len(report.unasked))
                print(f"\r{text}", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)

    return until_stopped(drive(), SIGNALS)


def _ask(folder: Path) -> bool:
    """Ask for the missing votes; each is on disk at once. False if the user stops."""
    from wizard import journey
    from wizard.bench.folder import Folder
    from wizard.bench.quality.votes import choice_of, missing, voted, with_ties

    report = journey.quality_report(folder)
    if report is None:
        return False
    place, report = Folder(folder), with_ties(report)
    for at in missing(report):
        side = _choice(report, at)
        if side is None:
            return False
        report = voted(report, at, -1 if side == -1 else choice_of(report.votes[at], side))
        place.keep(report)
    place.keep(replace(report, partial=""))
    return True


def _choice(report: Quality, at: int) -> Literal[-1, 0, 1] | None:
    """The better side of a prompt's answers; -1: a tie; None: stop."""
    from wizard.bench.quality.votes import missing, shown
    from wizard.kernel.text import plain
    from wizard.prompts.ask import Ask
    from wizard.prompts.speech import folded, say

    left, right = shown(report.votes[at])
    total = len(report.votes)
    say(f"\n{tr('Prompt {number} of {count}:', number=total - len(missing(report)) + 1, count=total)}")
    for title, text in (("", report.votes[at].prompt), (tr("Answer 1"), left), (tr("Answer 2"), right)):
        print("\n".join(filter(None, (f"\n--- {title} ---" if title else "", folded(plain(text)) or tr("(empty)")))))
    options: list[tuple[str, Literal[-1, 0, 1] | None]] = [
        (tr("Answer 1"), 0),
        (tr("Answer 2"), 1),
        (tr("No difference"), -1),
        (tr("Stop here and keep the votes"), None),
    ]
    try:
        return Ask().choose(f"\n{tr('Which answer is better?')}", options)
    except (KeyboardInterrupt, EOFError):
        return None
