"""The flags of `triton-wizard bench --quality`."""

from __future__ import annotations

import argparse

from wizard.cli.number_types import whole
from wizard.kernel.language import tr

EXAMPLES = (
    "bench demo --quality\n"
    "bench small --quality --reference full --limit 20\n"
    "bench small-q4.gguf --quality --reference small-f16.gguf\n"
    "bench --quality --vote small full"
)
NAMES = ("reference", "tasks", "task_path", "limit", "llama_perplexity", "text", "vote")
"""Flags that need ``--quality``."""


def add_quality(bench: argparse.ArgumentParser) -> None:
    """Add its flags."""
    group = bench.add_argument_group(tr("quality"))
    whether = tr("measure the quality of answers instead of the speed; with a .gguf file, its perplexity")
    group.add_argument("--quality", action="store_true", help=whether)
    reference = tr("what to compare with: a server, a URL, an earlier report, or a .gguf file for a .gguf file")
    group.add_argument("--reference", metavar="SERVER|URL|REPORT|FILE", help=reference)
    tasks = tr("tasks of lm-evaluation-harness that generate text (default: four small ones that need no network)")
    group.add_argument("--tasks", metavar="NAME,NAME", type=_names, default=(), help=tasks)
    group.add_argument("--task-path", metavar="DIR", help=tr("a folder with your task files"))
    group.add_argument("--limit", type=whole, metavar="N", help=tr("only the first questions of each task"))
    program = tr("with a .gguf file: the program llama-perplexity of llama.cpp (default: from PATH)")
    group.add_argument("--llama-perplexity", metavar="PATH", help=program)
    group.add_argument("--text", metavar="FILE", help=tr("with a .gguf file: the text to predict"))
    vote = tr("compare answers of two servers without knowing whose they are; prompts: --dataset")
    group.add_argument("--vote", nargs=2, metavar=("A", "B"), help=vote)


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (each.strip() for each in text.split(","))))
