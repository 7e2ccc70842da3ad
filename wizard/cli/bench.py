"""`triton-wizard bench`: measure a served model."""

from __future__ import annotations

import argparse
import signal
import sys
from contextlib import aclosing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from wizard.cli.bench_quality import quality
from wizard.cli.bench_reports import open_report, replayed, tell_changes
from wizard.cli.command_lines import typed_command
from wizard.cli.quality_flags import NAMES as QUALITY
from wizard.cli.stages import print_json, workspace_of
from wizard.kernel.errors import CancelledError, UsageError, WizardError
from wizard.kernel.language import mark, tr
from wizard.kernel.units import duration, size

if TYPE_CHECKING:
    from wizard.bench.bench import Outlook
    from wizard.bench.load import Load
    from wizard.bench.order import Wanted
    from wizard.bench.report import Report
    from wizard.plan.plan import Step
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
    if arguments.quality:
        return quality(arguments, partial(_endpoint, arguments), partial(_agree_to_install, arguments))
    if given := [f"--{name.replace('_', '-')}" for name in QUALITY if getattr(arguments, name)]:
        raise UsageError("TW-C98", tr("these options need --quality: {names}", names=", ".join(given)), tr("Add it."))
    wanted = replayed(arguments, _wanted(arguments), _yes) if arguments.replay else _wanted(arguments)
    load_of(wanted, None)  # reports options that exclude each other before anything is looked for
    endpoint = _endpoint(arguments, arguments.target)
    workspace = workspace_of(arguments)
    if arguments.replay:
        tell_changes(arguments, endpoint, wanted)
    folder = Path(arguments.out).expanduser() if arguments.out else folder_of(workspace, endpoint.title)
    Folder(folder).check_new()  # before anything is installed, or shown as the result
    if step := journey.load_generator(workspace):
        _agree_to_install(arguments, step)
    return _measure(arguments, endpoint, wanted, folder)


def _wanted(arguments: argparse.Namespace) -> Wanted:
    from wizard.bench.order import Wanted

    names = ("quick", "concurrency", "requests", "seconds", "repeats", "warmup", "dataset", "isl", "osl", "ttft")
    given = {name: getattr(arguments, name) for name in (*names, "tpot", "seed", "api")}
    return Wanted(**given, rates=arguments.request_rate)


def _endpoint(arguments: argparse.Namespace, target: str | None) -> Endpoint:
    from wizard import journey

    if target and "://" in target:
        return journey.at(target, arguments.model)
    if arguments.model and "://" not in (arguments.target or ""):
        raise UsageError("TW-C67", tr("--model names a model at a URL"), tr("Pass the URL, or omit --model."))
    return journey.endpoint(workspace_of(arguments), target)


def _agree_to_install(arguments: argparse.Namespace, step: Step) -> None:
    """Say what will be installed, and ask."""
    sizes = {"download": size(step.estimate.download_bytes), "disk": size(step.estimate.disk_bytes)}
    text = mark("The load generator AIPerf is not installed yet: {download} to download, {disk} on disk, once.")
    if arguments.quality:
        text = mark("lm-evaluation-harness is not installed yet: {download} to download, {disk} on disk, once.")
    print(tr(text, **sizes), file=sys.stderr)
    if not arguments.yes and not _yes(tr("Install it?")):
        raise CancelledError("TW-U06", tr("the installation was not accepted"), tr("Nothing was done."))


def _yes(question: str) -> bool:
    """The answer to a question whose default is yes; False at the end of input.

    Raises:
        UsageError: TW-U03 if no terminal is attached.
    """
    from wizard.kernel.text import is_terminal

    if not is_terminal():
        message = tr("a confirmation is needed, but no terminal is attached")
        raise UsageError("TW-U03", message, tr("Pass --yes to accept it."))
    print(f"{question} [Y/n] ", end="", file=sys.stderr, flush=True)
    while (reply := sys.stdin.readline().lower()) and reply.strip() not in ("", "y", "yes", "n", "no"):
        print(f"{tr('Type y or n:')} ", end="", file=sys.stderr, flush=True)
    return bool(reply) and not reply.strip().startswith("n")


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
    if _yes(tr("Continue with the shorter one?")):
        return outlook.shorter
    return outlook.load if _yes(tr("Continue with all of it?")) else None
