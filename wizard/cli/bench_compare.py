"""`triton-wizard bench --compare`: several servers, or reports that were made before."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wizard.cli.bench_runs import (
    agree_to_install,
    agree_to_names,
    check_alone,
    folder_for,
    measured,
    stopped,
    wanted_of,
)
from wizard.cli.command_lines import command_line, typed_command
from wizard.cli.stages import print_json, workspace_of
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from wizard.bench.bench import Agree
    from wizard.bench.comparison import Comparison
    from wizard.bench.order import Wanted


def is_comparison(path: str) -> bool:
    """Whether the report is one of a comparison."""
    from wizard import journey

    return journey.compared(Path(path).expanduser()) is not None


def compare(arguments: argparse.Namespace) -> int:
    """`triton-wizard bench --compare A B`, and ``--replay`` of a comparison."""
    from wizard import journey
    from wizard.bench.folder import Folder
    from wizard.bench.order import load_of

    if arguments.target or arguments.model:
        message = tr("--compare takes all servers itself")
        raise UsageError(
            "TW-C67", message, tr("Pass: --compare A B. A URL with several models: --compare URL#MODEL B.")
        )
    wanted = _again(arguments) if arguments.replay else wanted_of(arguments)
    load_of(wanted, None)  # reports options that exclude each other before anything is looked for
    names = tuple(arguments.compare)
    saved = [path for name in names if (path := _report(name))]
    folder = folder_for(arguments, "compare")
    Folder(folder).check_new()
    if not saved:
        agree_to_install(arguments, journey.load_generator(workspace_of(arguments)))
        return _measure(arguments, names, wanted, folder)
    if len(saved) < len(names):
        other = next(name for name in names if not _report(name))
        message = tr("{other} is a server, {report} is a report", other=other, report=saved[0])
        raise UsageError("TW-C83", message, tr("Compare servers with servers, or reports with reports."))
    return _of_reports(arguments, saved, folder)


def _report(name: str) -> Path | None:
    """The report that is named; None if it is a server."""
    from wizard.bench.folder import REPORT

    path = Path(name).expanduser()
    return path if "://" not in name and (path.is_file() or (path / REPORT).is_file()) else None


def _again(arguments: argparse.Namespace) -> Wanted:
    """The options and servers of the comparison of ``--replay``.

    Raises:
        UsageError: TW-C67 if options or servers were given, too, or it was made from reports.
    """
    from wizard import journey
    from wizard.bench.opened import wanted_again

    check_alone(arguments)
    if arguments.compare:
        raise UsageError("TW-C67", tr("--replay takes its servers from the comparison"), tr("Omit --compare."))
    comparison = journey.compared(Path(arguments.replay).expanduser())
    if comparison is None or comparison.order in ("apart", "search"):
        message = tr("--replay measures servers again, and this is a comparison of reports or a search")
        raise UsageError("TW-C67", message, tr("Run its own command again: `triton-wizard bench --open` shows it."))
    targets = [report.target for report in comparison.reports]
    arguments.compare = [target.name if target.plan else f"{target.url}#{target.model}" for target in targets]
    arguments.cost_per_gpu_hour = arguments.cost_per_gpu_hour or comparison.per_gpu_hour
    arguments.again = comparison.command
    wanted = wanted_again(comparison.reports[0])
    named = [target.url for target in targets if not target.plan]
    agree_to_names(arguments, ([] if wanted.dataset == "generated" else [wanted.dataset]) + named)
    return wanted


def _measure(arguments: argparse.Namespace, names: tuple[str, ...], wanted: Wanted, folder: Path) -> int:
    from wizard import journey

    workspace, price = workspace_of(arguments), arguments.cost_per_gpu_hour

    def start(agree: Agree, command: str) -> AsyncGenerator[Any, None]:
        if arguments.tune:
            return journey.tune(workspace, names[0], wanted, folder, agree, command)
        return journey.compare(workspace, names, wanted, folder, agree, command, per_gpu_hour=price)

    comparison = measured(arguments, folder, start, _show)
    if arguments.tune and comparison and comparison.chosen is None:
        raise stopped(arguments, folder)
    return 0


def tune(arguments: argparse.Namespace) -> int:
    """`triton-wizard bench SERVER --tune`."""
    from wizard import journey
    from wizard.bench.folder import Folder
    from wizard.bench.tune import check, planned

    name = arguments.target
    if arguments.compare or arguments.replay or not name or "://" in name:
        message = tr("--tune starts and stops one server of the workspace")
        raise UsageError("TW-C67", message, tr("Name it: `triton-wizard bench SERVER --tune --ttft 500 --tpot 50`."))
    wanted = wanted_of(arguments)
    check(wanted)
    planned(workspace_of(arguments), name)
    folder = folder_for(arguments, f"{name}-tune")
    Folder(folder).check_new()
    agree_to_install(arguments, journey.load_generator(workspace_of(arguments)))
    return _measure(arguments, (name,), wanted, folder)


def _of_reports(arguments: argparse.Namespace, paths: list[Path], folder: Path) -> int:
    from wizard import journey

    if len({path.resolve() for path in paths}) < max(2, len(paths)):
        message = tr("--compare needs at least two different servers or reports")
        raise UsageError("TW-C80", message, tr("Name them: `triton-wizard bench --compare A B`."))
    command, price = typed_command(arguments), arguments.cost_per_gpu_hour
    journey.compare_reports(paths, folder, command, per_gpu_hour=price)
    _show(arguments, folder)
    return 0


def _show(arguments: argparse.Namespace, folder: Path) -> Comparison | None:
    """Print the comparison, complete or not, if anything was measured, and write its pages."""
    from wizard import journey
    from wizard.kernel.text import table
    from wizard.prompts.speech import columns
    from wizard.texts.benchmark.terminal import comparison_text

    comparison = journey.compared(folder)
    if comparison is None:
        return None
    if arguments.json:
        print_json(comparison)
    else:
        print(f"\n{comparison_text(comparison, columns())}", flush=True)
    pages = journey.comparison_pages(folder, comparison, pictures=arguments.png)
    files = [(tr("Report:"), str(pages[0])), (tr("All data:"), str(folder / "report.json"))]
    if (folder / "plan.json").is_file():
        files.append((tr("Serve the best:"), command_line(arguments, "run", str(folder / "plan.json"))))
    print(f"\n{table(files)}", file=sys.stderr)
    return comparison
