"""What all kinds of `triton-wizard bench` share: their options, their questions, and how their events are shown."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from wizard.cli.command_lines import typed_command
from wizard.cli.confirm import yes
from wizard.cli.stages import workspace_of
from wizard.kernel.errors import CancelledError, UsageError, WizardError
from wizard.kernel.language import mark, tr
from wizard.kernel.units import duration

if TYPE_CHECKING:
    from wizard.bench.bench import Agree, Outlook
    from wizard.bench.comparison import Comparison
    from wizard.bench.load import Load
    from wizard.bench.order import Wanted
    from wizard.bench.report import Report
    from wizard.plan.plan import Step
    from wizard.prompts.event_printer import EventPrinter
    from wizard.serve.endpoint import Endpoint

Shown = TypeVar("Shown", bound="Report | Comparison")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What stops a benchmark; what was measured is kept."""


def wanted_of(arguments: argparse.Namespace) -> Wanted:
    """The options."""
    from wizard.bench.order import Wanted

    names = ("quick", "concurrency", "requests", "seconds", "repeats", "warmup", "dataset", "isl", "osl", "ttft")
    given = {name: getattr(arguments, name) for name in (*names, "tpot", "seed", "api")}
    return Wanted(**given, rates=arguments.request_rate)


def endpoint_of(arguments: argparse.Namespace, target: str | None) -> Endpoint:
    """The server that a name or URL stands for; None: the only one."""
    from wizard import journey

    if target and "://" in target:
        return journey.at(target, arguments.model)
    if arguments.model and "://" not in (arguments.target or ""):
        raise UsageError("TW-C67", tr("--model names a model at a URL"), tr("Pass the URL, or omit --model."))
    return journey.endpoint(workspace_of(arguments), target)


def folder_for(arguments: argparse.Namespace, name: str) -> Path:
    """The folder of the report: ``--out``, or a new one in the workspace that is called after ``name``."""
    from wizard.bench.order import folder_of

    return Path(arguments.out).expanduser().absolute() if arguments.out else folder_of(workspace_of(arguments), name)


def agree_to_install(arguments: argparse.Namespace, step: Step | None) -> None:
    """Say what ``step`` will install, and ask; nothing if it is None.

    Raises:
        CancelledError: TW-U06 without consent.
    """
    from wizard.texts.benchmark.offers import install_line

    if step is None:
        return
    print(install_line(step), file=sys.stderr)
    if not arguments.yes and not yes(tr("Install it?")):
        raise CancelledError("TW-U06", tr("the installation was not accepted"), tr("Nothing was done."))


def driven(items: AsyncGenerator[Any, None], printer: EventPrinter) -> bool:
    """Show the events of a benchmark; whether it came to its end before Ctrl-C."""
    from wizard.prompts.interrupt import until_stopped
    from wizard.run.events import Event

    async def drive() -> None:
        async with aclosing(items):
            async for item in items:
                if isinstance(item, Event):
                    printer.show(item)

    whole = until_stopped(drive(), SIGNALS)
    if not whole:
        printer.end()
    return whole


def measured(
    arguments: argparse.Namespace,
    folder: Path,
    start: Callable[[Agree, str], AsyncGenerator[Any, None]],
    show: Callable[[argparse.Namespace, Path], Shown | None],
) -> Shown | None:
    """Measure what ``start`` makes of a question and the command to keep, and ``show`` it, complete or not.

    Raises:
        CancelledError: TW-U07 if it was stopped.
    """
    from wizard.prompts.event_printer import EventPrinter

    printer = EventPrinter(sys.stderr, arguments.verbose)

    async def agree(outlook: Outlook) -> Load | None:
        printer.end()
        return choose(arguments, outlook)

    try:
        whole = driven(start(agree, arguments.again or typed_command(arguments)), printer)
    except WizardError:
        with suppress(WizardError):  # a full disk, again
            show(arguments, folder)
        raise
    report = show(arguments, folder)
    if not whole or (report and report.partial):
        raise stopped(arguments, folder)
    return report


def stopped(arguments: argparse.Namespace, folder: Path, todo: str = "") -> CancelledError:
    """The error for a benchmark that was stopped; ``todo``: if it can be continued, how."""
    from wizard.bench.folder import Folder

    todo = todo or tr("To measure again, run `{command}`.", command=typed_command(arguments))
    kept = Folder(folder).report.exists()
    text = mark("stopped; what was measured is kept in {folder}") if kept else mark("stopped; nothing was measured")
    return CancelledError("TW-U07", tr(text, folder=folder), todo)


def choose(arguments: argparse.Namespace, outlook: Outlook) -> Load | None:
    """Announce how long it takes, and offer a shorter one."""
    print(tr("The rest takes about {time}.", time=duration(outlook.seconds)), file=sys.stderr)
    if arguments.yes:
        return outlook.load
    text = tr(
        "A shorter benchmark (one run of {seconds:g} s per level) takes about {time}.",
        seconds=outlook.shorter.seconds or 0.0,
        time=duration(outlook.shorter_s),
    )
    print(text, file=sys.stderr)
    if yes(tr("Continue with the shorter one?")):
        return outlook.shorter
    return outlook.load if yes(tr("Continue with all of it?")) else None


def check_alone(arguments: argparse.Namespace) -> None:
    """Check that ``--replay`` has no other options of the measurement beside it.

    Raises:
        UsageError: TW-C67 if it has.
    """
    from wizard.bench.order import Wanted

    given = wanted_of(arguments)
    changed = [field.name for field in fields(given) if getattr(given, field.name) != getattr(Wanted(), field.name)]
    if changed:
        flags = ", ".join(f"--{'request-rate' if name == 'rates' else name}" for name in changed)
        message = tr("--replay takes its options from the report; {flags} would change them", flags=flags)
        raise UsageError("TW-C67", message, tr("Omit them, or omit --replay."))


def agree_to_names(arguments: argparse.Namespace, named: Sequence[str]) -> None:
    """Ask before files and addresses are used that a report names.

    Raises:
        CancelledError: TW-U06 without consent.
    """
    from wizard.prompts.speech import tell
    from wizard.texts.benchmark.markup import shown

    if not named or arguments.yes:
        return
    tell(tr("The report names: {names}", names=shown(", ".join(named))))
    if not yes(tr("Use them?")):
        raise CancelledError("TW-U06", tr("the benchmark was not accepted"), tr("Nothing was measured."))
