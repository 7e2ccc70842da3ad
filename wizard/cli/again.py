"""Commands that can be pasted: they run this very wizard in this very workspace."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def again(arguments: argparse.Namespace, *words: str) -> str:
    """``triton-wizard WORDS``, with the program's path where it is not on PATH, and the workspace if one was named."""
    import shlex
    import shutil

    mine = Path(sys.executable).parent / "triton-wizard"
    on_path = shutil.which("triton-wizard")
    program = "triton-wizard" if on_path and Path(on_path).resolve() == mine.resolve() else str(mine)
    where = ("--workspace", arguments.workspace) if arguments.workspace else ()
    return shlex.join([program, *where, *words])


def same(arguments: argparse.Namespace) -> str:
    """The command that was typed, with all its flags."""
    rest: list[str] = []
    for before, word in zip(("", *arguments.words), arguments.words, strict=False):
        if "--workspace" not in (before, word.partition("=")[0]):  # `again` says it
            rest.append(word)
    return again(arguments, *rest)
