"""Commands for copy and paste, with the options of the current one."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from wizard.kernel.program import command, pasteable

if TYPE_CHECKING:
    from wizard.prompts.value_text import Fit


def command_line(arguments: argparse.Namespace, *words: str) -> str:
    """``triton-wizard WORDS``, with the workspace if one was named."""
    return command(*words, workspace=arguments.workspace)


def typed_command(arguments: argparse.Namespace) -> str:
    """The command as typed, with all its flags."""
    rest: list[str] = []
    for before, word in zip(("", *arguments.words), arguments.words, strict=False):
        if "--workspace" not in (before, word.partition("=")[0]):  # `command_line` adds it
            rest.append(word)
    return command_line(arguments, *rest)


def fit(arguments: argparse.Namespace) -> Fit:
    """`wrapped`, with the commands in a text ready to paste."""
    from wizard.prompts.value_text import wrapped

    def fitted(text: str, indent: str = "", *, first: str | None = None) -> str:
        return wrapped(pasteable(text, arguments.workspace), indent, first=first)

    return fitted
