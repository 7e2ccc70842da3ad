"""Shows what `triton-wizard bench --quality` does and finds."""

from __future__ import annotations

import argparse
import sys
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from wizard.cli.bench_runs import driven, stopped
from wizard.cli.stages import print_json
from wizard.kernel.errors import WizardError
from wizard.kernel.language import tr

if TYPE_CHECKING:
    from wizard.bench.quality.evaluate import QualityItem
    from wizard.bench.quality.report import Quality


def run(arguments: argparse.Namespace, items: AsyncGenerator[QualityItem, None], folder: Path) -> int:
    """Show the events of ``items``, then the report in ``folder``, complete or not.

    Raises:
        CancelledError: TW-U07 if it was stopped.
    """
    from wizard.prompts.event_printer import EventPrinter

    try:
        whole = driven(items, EventPrinter(sys.stderr, arguments.verbose))
    except WizardError as error:
        if error.code != "TW-C69":  # the folder has another report
            with suppress(WizardError):  # a full disk, again
                show(arguments, folder)
        raise
    show(arguments, folder)
    if not whole:
        raise stopped(arguments, folder)
    return 0


def show(arguments: argparse.Namespace, folder: Path) -> Quality | None:
    """Print the report, complete or not, if there is one, and write its pages."""
    from wizard import journey
    from wizard.kernel.text import table
    from wizard.prompts.speech import columns
    from wizard.texts.benchmark.quality import text

    report = journey.quality_report(folder)
    if report is None:
        return None
    if arguments.json:
        print_json(report)
    else:
        print(f"\n{text(report, columns(), listed=arguments.plain)}", flush=True)
    pages = journey.quality_pages(folder)
    files = ((tr("Report:"), str(pages[0])), (tr("All data:"), str(folder / "report.json")))
    print(f"\n{table(files)}", file=sys.stderr)
    return report
