"""`triton-wizard bench`: measure a served model."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from wizard.cli.bench_compare import compare, is_comparison, tune
from wizard.cli.bench_quality import check_absent, quality
from wizard.cli.bench_reports import open_report, replayed, tell_changes
from wizard.cli.bench_runs import agree_to_install, endpoint_of, folder_for, measured, wanted_of
from wizard.cli.stages import print_json, workspace_of
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr

if TYPE_CHECKING:
    from wizard.bench.report import Report


def bench(arguments: argparse.Namespace) -> int:
    """`triton-wizard bench`."""
    from wizard import journey
    from wizard.bench.folder import Folder
    from wizard.bench.order import load_of
    from wizard.texts.benchmark.png import renderer

    if arguments.hardware:
        raise UsageError("TW-C67", tr("a benchmark measures this machine's servers"), tr("Omit --hardware."))
    arguments.again = ""
    if arguments.png:
        renderer()  # before anything takes time
    if arguments.open:
        return open_report(arguments)
    if arguments.quality:
        return quality(arguments)
    check_absent(arguments)
    if arguments.tune:
        return tune(arguments)
    if arguments.compare or (arguments.replay and is_comparison(arguments.replay)):
        return compare(arguments)
    wanted = replayed(arguments) if arguments.replay else wanted_of(arguments)
    load_of(wanted, None)  # reports options that exclude each other before anything is looked for
    endpoint = endpoint_of(arguments, arguments.target)
    if arguments.replay:
        tell_changes(arguments, endpoint, wanted)
    folder = folder_for(arguments, endpoint.title)
    Folder(folder).check_new()  # before anything is installed, or shown as the result
    agree_to_install(arguments, journey.load_generator(workspace_of(arguments)))
    measured(arguments, folder, partial(journey.bench, workspace_of(arguments), endpoint, wanted, folder), _show)
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
