"""`triton-wizard bench --open` and `--replay`: a report that was written before."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from wizard.cli.bench_runs import agree_to_names, check_alone
from wizard.cli.stages import print_json, workspace_of
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr

if TYPE_CHECKING:
    from wizard.bench.opened import AnyReport, Opened
    from wizard.bench.order import Wanted
    from wizard.serve.endpoint import Endpoint


def open_report(arguments: argparse.Namespace) -> int:
    """Show a report of any kind: full screen, as text, or as JSON.

    Raises:
        UsageError: TW-C67 if the options do not fit; as `wizard.journey.open_report`.
    """
    from wizard import journey
    from wizard.bench.comparison import Comparison

    if arguments.replay:
        raise UsageError("TW-C67", tr("--open measures nothing, --replay does"), tr("Pass one of them."))
    opened = journey.open_report(Path(arguments.open).expanduser())
    if isinstance(opened.report, Comparison) and arguments.cost_per_gpu_hour:
        opened = replace(opened, report=replace(opened.report, per_gpu_hour=arguments.cost_per_gpu_hour))
    if arguments.png:
        for page in _pages(opened):
            print(page, file=sys.stderr)
    if arguments.json:
        print_json(opened.report)
    elif _full_screen(arguments):
        from wizard.tui.start import run_tui

        return run_tui(workspace_of(arguments), report=opened)
    else:
        print(_text(opened.report, listed=arguments.plain), flush=True)
    return 0


def _pages(opened: Opened) -> tuple[Path, ...]:
    """Write the pages and charts beside the report.

    Raises:
        UsageError: TW-C67 if another report may be there.
    """
    from wizard import journey
    from wizard.bench.comparison import Comparison
    from wizard.bench.folder import REPORT
    from wizard.bench.quality.report import Quality

    if opened.folder is None:
        message = tr("--png writes the charts of {name} in the same folder", name=REPORT)
        raise UsageError("TW-C67", message, tr("Rename the file, or pass its folder."))
    if isinstance(opened.report, Comparison):
        return journey.comparison_pages(opened.folder, opened.report, pictures=True)
    if isinstance(opened.report, Quality):
        return journey.quality_pages(opened.folder, pictures=True)
    return journey.bench_pages(opened.folder, pictures=True)


def _text(report: AnyReport, *, listed: bool) -> str:
    from wizard.kernel.text import is_terminal
    from wizard.prompts.speech import columns
    from wizard.texts.benchmark.views import text

    return text(report, columns(), bars=is_terminal(sys.stdout), listed=listed)


def _full_screen(arguments: argparse.Namespace) -> bool:
    from wizard.kernel.text import is_terminal

    able = is_terminal(sys.stdin) and is_terminal(sys.stdout) and os.environ.get("TERM", "dumb") != "dumb"
    return able and not (arguments.plain or arguments.png)


def replayed(arguments: argparse.Namespace) -> Wanted:
    """The options of the report of ``--replay``; its server becomes the target, unless another one is named.

    A file and an address that the report names are used only with consent: reports come from other people, too.

    Raises:
        UsageError: TW-C67 if options were given, too, or it is a report on quality.
        CancelledError: TW-U06 without consent.
    """
    from wizard import journey
    from wizard.bench.opened import wanted_again

    check_alone(arguments)
    path = Path(arguments.replay).expanduser()
    if journey.quality_report(path):
        message = tr("--replay measures speed again, and this is a report on quality")
        raise UsageError("TW-C67", message, tr("Run its own command again: `triton-wizard bench --open` shows it."))
    arguments.report, _ = journey.benchmark(path)
    wanted, target = wanted_again(arguments.report), arguments.report.target
    named = [wanted.dataset] if wanted.dataset != "generated" else []
    if not arguments.target:
        elsewhere = not target.plan
        arguments.target = target.url if elsewhere else target.name
        arguments.model = target.model if elsewhere else None
        arguments.again = arguments.report.command  # it needs no file
        named += [target.url] if elsewhere else []
    agree_to_names(arguments, named)
    return wanted


def tell_changes(arguments: argparse.Namespace, endpoint: Endpoint, wanted: Wanted) -> None:
    """Tell what is not as it was when the report was made."""
    from wizard import journey
    from wizard.prompts.speech import tell
    from wizard.texts.benchmark.differences import differences
    from wizard.texts.benchmark.markup import shown

    changed = differences(arguments.report, journey.bench_order(workspace_of(arguments), endpoint, wanted))
    tell(tr("Different from the report:") if changed else tr("Server, machine, programs and prompts are the same."))
    for line in changed:
        tell(f"  {shown(line)}")
