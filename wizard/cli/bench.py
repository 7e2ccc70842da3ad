"""`triton-wizard bench`: measure a served model."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from wizard.cli.bench_compare import compare, is_comparison, tune
from wizard.cli.bench_reports import open_report, replayed, tell_changes
from wizard.cli.bench_runs import agree_to_install, choose, driven, stopped, wanted_of
from wizard.cli.command_lines import typed_command
from wizard.cli.stages import print_json, workspace_of
from wizard.kernel.errors import UsageError, WizardError
from wizard.kernel.language import tr

if TYPE_CHECKING:
    from wizard.bench.bench import Outlook
    from wizard.bench.load import Load
    from wizard.bench.order import Wanted
    from wizard.bench.report import Report
    from wizard.serve.endpoint import Endpoint


def bench(arguments: argparse.Namespace) -> int:
    """`triton-wizard bench`."""
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
    if arguments.tune:
        return tune(arguments)
    if arguments.compare or (arguments.replay and is_comparison(arguments.replay)):
        return compare(arguments)
    wanted = replayed(arguments) if arguments.replay else wanted_of(arguments)
    load_of(wanted, None)  # reports options that exclude each other before anything is looked for
    endpoint = _endpoint(arguments)
    workspace = workspace_of(arguments)
    if arguments.replay:
        tell_changes(arguments, endpoint, wanted)
    folder = Path(arguments.out).expanduser().absolute() if arguments.out else folder_of(workspace, endpoint.title)
    Folder(folder).check_new()  # before anything is installed, or shown as the result
    agree_to_install(arguments)
    return _measure(arguments, endpoint, wanted, folder)


def _endpoint(arguments: argparse.Namespace) -> Endpoint:
    from wizard import journey

    target = arguments.target
    if target and "://" in target:
        return journey.at(target, arguments.model)
    if arguments.model:
        raise UsageError("TW-C67", tr("--model names a model at a URL"), tr("Pass the URL, or omit --model."))
    return journey.endpoint(workspace_of(arguments), target)


def _measure(arguments: argparse.Namespace, endpoint: Endpoint, wanted: Wanted, folder: Path) -> int:
    from wizard import journey
    from wizard.prompts.event_printer import EventPrinter

    command = arguments.again or typed_command(arguments)
    printer = EventPrinter(sys.stderr, arguments.verbose)

    async def agree(outlook: Outlook) -> Load | None:
        printer.end()
        return choose(arguments, outlook)

    items = journey.bench(workspace_of(arguments), endpoint, wanted, folder, agree, command)
    try:
        whole = driven(items, printer)
    except WizardError:
        with suppress(WizardError):  # a full disk, again
            _show(arguments, folder)
        raise
    report = _show(arguments, folder)
    if not whole or (report and report.partial):
        raise stopped(arguments, folder)
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
