"""`triton-wizard bench --quality`: scores, perplexity, and blind votes."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from wizard.cli.bench_runs import agree_to_install, endpoint_of, folder_for
from wizard.cli.bench_votes import vote
from wizard.cli.command_lines import typed_command
from wizard.cli.quality_flags import NAMES
from wizard.cli.quality_output import run
from wizard.cli.stages import workspace_of
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr

if TYPE_CHECKING:
    from wizard.bench.quality.tasks import Evaluation

GGUF = ".gguf"
SPEED = (
    *("compare", "tune", "cost_per_gpu_hour", "quick", "request_rate", "requests", "seconds", "repeats"),
    *("ttft", "tpot", "replay", "png"),
)
"""Flags that only measuring speed has."""


def quality(arguments: argparse.Namespace) -> int:
    """`triton-wizard bench --quality`."""
    _check(arguments)
    if arguments.vote:
        return vote(arguments, [endpoint_of(arguments, name) for name in arguments.vote])
    if _is_gguf(arguments.target):
        return _perplexity(arguments)
    return _scores(arguments)


def check_absent(arguments: argparse.Namespace) -> None:
    """Reject options of ``--quality`` without it.

    Raises:
        UsageError: TW-C98.
    """
    if given := [_flag(name) for name in NAMES if getattr(arguments, name)]:
        raise UsageError("TW-C98", tr("these options need --quality: {names}", names=", ".join(given)), tr("Add it."))


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
        names = ", ".join(name if name.isupper() else _flag(name) for name in dict.fromkeys(wrong))
        message = tr("with --quality, these do not fit the rest of the command: {names}", names=names)
        raise UsageError("TW-C98", message, tr("Omit them. See `triton-wizard bench --help`."))


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _is_gguf(name: str | None) -> bool:
    return bool(name) and str(name).lower().endswith(GGUF) and "://" not in str(name)


def _scores(arguments: argparse.Namespace) -> int:
    from wizard import journey
    from wizard.bench.folder import Folder

    named = arguments.reference
    known = journey.scores(Path(named).expanduser()) if named and "://" not in named else None
    endpoints = [endpoint_of(arguments, arguments.target)]
    if arguments.reference and known is None:
        endpoints.append(endpoint_of(arguments, arguments.reference))
    folder = folder_for(arguments, f"quality-{endpoints[0].title}")
    Folder(folder).check_new()
    workspace = workspace_of(arguments)
    agree_to_install(arguments, journey.evaluator(workspace))
    items = journey.quality(workspace, endpoints, _evaluation(arguments), folder, typed_command(arguments), known)
    return run(arguments, items, folder)


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
    folder = folder_for(arguments, f"quality-{files.file.stem}")
    return run(arguments, journey.perplexity(workspace_of(arguments), files, folder, typed_command(arguments)), folder)
