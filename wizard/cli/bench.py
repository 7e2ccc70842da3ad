"""`triton-wizard bench`: measure a served model."""

from __future__ import annotations

import argparse
import signal
import sys
from contextlib import aclosing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from wizard.cli.bench_reports import open_report, replayed, tell_changes
from wizard.cli.command_lines import typed_command
from wizard.cli.confirm import yes
from wizard.cli.stages import print_json, workspace_of
from wizard.kernel.errors import CancelledError, UsageError, WizardError
from wizard.kernel.language import tr
from wizard.kernel.units import duration, size

if TYPE_CHECKING:
    from wizard.bench.bench import Outlook
    from wizard.bench.load import Load
    from wizard.bench.order import Wanted
    from wizard.bench.report import Report
    from wizard.serve.endpoint import Endpoint


def bench(arguments: argparse.Namespace) -> int:
    """`triton-wizard bench`."""
    from wizard import journey
    from wizard.bench.folder import Folder
    from wizard.bench.order import folder_of, load_of
    from wizard.texts.benchmark.png import renderer

    if arguments.hardware:
        raise UsageError("TW-C67", tr("a benchmark measures this machine's servers"), tr("Omit --hardware."))
    arguments.again = ""
    if arguments.png:
        renderer()  # before anything takes time
    if arguments.open:
        return open_report(arguments)
    wanted = replayed(arguments, _wanted(arguments), yes) if arguments.replay else _wanted(arguments)
    load_of(wanted, None)  # reports options that exclude each other before anything is looked for
    endpoint = _endpoint(arguments)
    workspace = workspace_of(arguments)
    if arguments.replay:
        tell_changes(arguments, endpoint, wanted)
    folder = Path(arguments.out).expanduser() if arguments.out else folder_of(workspace, endpoint.title)
    Folder(folder).check_new()  # before anything is installed, or shown as the result
    if step := journey.load_generator(workspace):
        _agree_to_install(arguments, step.estimate.download_bytes, step.estimate.disk_bytes)
    return _measure(arguments, endpoint, wanted, folder)


def _wanted(arguments: argparse.Namespace) -> Wanted:
    from wizard.bench.order import Wanted

    names = ("quick", "concurrency", "requests", "seconds", "repeats", "warmup", "dataset", "isl", "osl", "ttft")
    given = {name: getattr(arguments, name) for name in (*names, "tpot", "seed", "api")}
    return Wanted(**given, rates=arguments.request_rate)


def _endpoint(arguments: argparse.Namespace) -> Endpoint:
    from wizard import journey

    target = arguments.target
    if target and "://" in target:
        return journey.at(target, arguments.model)
    if arguments.model:
        raise UsageError("TW-C67", tr("--model names a model at a URL"), tr("Pass the URL, or omit --model."))
    return journey.endpoint(workspace_of(arguments), target)


def _agree_to_install(arguments: argparse.Namespace, download: int, disk: int) -> None:
    """Say what will be installed, and ask."""
    notice = tr(
        "The load generator AIPerf is not installed yet: {download} to download, {disk} on disk, once.",
        download=size(download),
        disk=size(disk),
    )
    print(notice, file=sys.stderr)
    if not arguments.yes and not yes(tr("Install it?")):
        raise CancelledError("TW-U06", tr("the installation was not accepted"), tr("Nothing was done."))


def _measure(arguments: argparse.Namespace, endpoint: Endpoint, wanted: Wanted, folder: Path) -> int:
    from wizard import journey
    from wizard.bench.measured import Measured
    from wizard.bench.report import Report
    from wizard.prompts.event_printer import EventPrinter
    from wizard.prompts.interrupt import until_stopped

    printer = EventPrinter(sys.stderr, arguments.verbose)

    async def agree(outlook: Outlook) -> Load | None:
        printer.end()
        return _choose(arguments, outlook)

    async def drive() -> None:
        command = arguments.again or typed_command(arguments)
        items = journey.bench(workspace_of(arguments), endpoint, wanted, folder, agree, command)
        async with aclosing(items):
            async for item in items:
                if not isinstance(item, (Measured, Report)):
                    printer.show(item)

    try:
        whole = until_stopped(drive(), (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    except WizardError:
        with suppress(WizardError):  # a full disk, again
            _show(arguments, folder)
        raise
    if not whole:
        printer.end()
    report = _show(arguments, folder)
    if not whole or (report and report.partial):
        todo = tr("To measure again, run `{command}`.", command=typed_command(arguments))
        raise CancelledError("TW-U07", tr("stopped; what was measured is kept in {folder}", folder=folder), todo)
    return 0


def _show(arguments: argparse.Namespace, folder: Path) -> Report | None:
    """Print the report, complete or not, if anything was measured."""
    from wizard import journey
    from wizard.kernel.text import table
    from wizard.prompts.speech import columns
    from wizard.texts.benchmark.terminal import text

    try:
        report, _ = journey.benchmark(folder)
    except UsageError:
        return None
    if arguments.json:
        print_json(report)
    elif report.points:
        print(f"\n{text(report, columns())}", flush=True)
    pages = journey.bench_pages(folder, pictures=arguments.png)
    files = ((tr("Report:"), str(pages[0])), (tr("All data:"), str(folder / "report.json")))
    print(f"\n{table(files)}", file=sys.stderr)
    return report


def _choose(arguments: argparse.Namespace, outlook: Outlook) -> Load | None:
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
