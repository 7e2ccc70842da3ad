"""`triton-wizard bench --quality`: scores, perplexity, and blind votes."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from wizard.cli.bench_votes import vote
from wizard.cli.command_lines import typed_command
from wizard.cli.quality_output import run
from wizard.cli.stages import workspace_of
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr

if TYPE_CHECKING:
    from wizard.bench.quality.report import Subject
    from wizard.bench.quality.tasks import Evaluation
    from wizard.plan.plan import Step
    from wizard.serve.endpoint import Endpoint

GGUF = ".gguf"
SPEED = ("quick", "request_rate", "requests", "seconds", "repeats", "ttft", "tpot", "replay", "png")
"""Flags that only measuring speed has."""


def quality(
    arguments: argparse.Namespace,
    endpoint_of: Callable[[str | None], Endpoint],
    install: Callable[[Step], None],
) -> int:
    """`triton-wizard bench --quality`.

    Args:
        arguments: The command line.
        endpoint_of: The server of a name or URL.
        install: Asks whether a step may create its environment.
    """
    _check(arguments)
    if arguments.vote:
        return vote(arguments, [endpoint_of(name) for name in arguments.vote])
    if _is_gguf(arguments.target):
        return _perplexity(arguments)
    return _scores(arguments, endpoint_of, install)


def _check(arguments: argparse.Namespace) -> None:
    """Reject options that exclude each other.

    Raises:
        UsageError: TW-C98.
    """
    files = [name for name in ("llama_perplexity", "text") if getattr(arguments, name)]
    asking = [name for name in ("tasks", "task_path", "limit") if getattr(arguments, name)]
    wrong = [name for name in SPEED if getattr(arguments, name)]
    if arguments.vote:
        wrong += [*files, *asking, *(["reference"] if arguments.reference else [])]
        wrong += ["SERVER"] if arguments.target else []
    else:
        wrong += asking if _is_gguf(arguments.target) else files
        wrong += ["dataset"] if arguments.dataset != "generated" else []
        if arguments.reference and _is_gguf(arguments.target) != _is_gguf(arguments.reference):
            wrong.append("reference")
    if wrong:
        names = ", ".join(name if name.isupper() else f"--{name.replace('_', '-')}" for name in dict.fromkeys(wrong))
        message = tr("with --quality, these do not fit the rest of the command: {names}", names=names)
        raise UsageError("TW-C98", message, tr("Omit them. See `triton-wizard bench --help`."))


def _is_gguf(name: str | None) -> bool:
    return bool(name) and str(name).lower().endswith(GGUF) and "://" not in str(name)


def _folder(arguments: argparse.Namespace, name: str) -> Path:
    from wizard.bench.order import folder_of

    return Path(arguments.out).expanduser() if arguments.out else folder_of(workspace_of(arguments), name)


def _scores(
    arguments: argparse.Namespace, endpoint_of: Callable[[str | None], Endpoint], install: Callable[[Step], None]
) -> int:
    from wizard import journey
    from wizard.bench.folder import Folder
    from wizard.bench.quality.tasks import NAME

    known = _known(arguments.reference) if arguments.reference else None
    endpoints = [endpoint_of(arguments.target)]
    if arguments.reference and known is None:
        endpoints.append(endpoint_of(arguments.reference))
    folder = _folder(arguments, f"quality-{endpoints[0].title}")
    Folder(folder).check_new()
    workspace = workspace_of(arguments)
    if step := journey.load_generator(workspace, program=NAME):
        install(step)
    items = journey.quality(workspace, endpoints, _evaluation(arguments), folder, typed_command(arguments), known)
    return run(arguments, items, folder)


def _known(reference: str) -> Subject | None:
    """The scores in an earlier report; None if ``reference`` is not one.

    Raises:
        UsageError: TW-C98 if it has no scores.
    """
    from wizard import journey

    path = Path(reference).expanduser()
    report = journey.quality_report(path) if "://" not in reference and path.exists() else None
    if report and not (report.subjects and report.subjects[0].scores):
        message = tr("the report {path} has no scores to compare with", path=path)
        raise UsageError("TW-C98", message, tr("Choose a report of `bench SERVER --quality`, or name a server."))
    return report.subjects[0] if report else None


def _evaluation(arguments: argparse.Namespace) -> Evaluation:
    from wizard.bench.quality.tasks import OWN, Evaluation

    return Evaluation(
        tasks=arguments.tasks or OWN,
        folder=arguments.task_path,
        limit=arguments.limit,
        concurrency=max(arguments.concurrency, default=0),
        osl=arguments.osl,
    )


def _perplexity(arguments: argparse.Namespace) -> int:
    from wizard import journey
    from wizard.bench.quality.order import shipped_text
    from wizard.bench.quality.perplexity import Files, program_of

    files = Files(
        program=program_of(arguments.llama_perplexity),
        file=Path(arguments.target).expanduser(),
        text=Path(arguments.text).expanduser() if arguments.text else shipped_text(),
        reference=Path(arguments.reference).expanduser() if arguments.reference else None,
    )
    folder = _folder(arguments, f"quality-{files.file.stem}")
    return run(arguments, journey.perplexity(workspace_of(arguments), files, folder, typed_command(arguments)), folder)
