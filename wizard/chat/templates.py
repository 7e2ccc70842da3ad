"""Chat templates, each rendered by a process of its own with limits for memory and time (`readers/template.py`)."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wizard.kernel.fenced_process import FencedProcess, frame

PROGRAM = Path(__file__).parent / "readers" / "template.py"
WALL_S = 10.0


def compared(template: str) -> Mapping[str, frozenset[str]]:
    """The variables that ``template`` reads, and the texts with which it compares each.

    Raises:
        RejectedError: It is not a template.
        FencedError: It takes too much time or memory.
    """
    names: dict[str, list[str]] = process_of(template).ask(frame({"do": "compared"}))["names"]
    return {name: frozenset(texts) for name, texts in names.items()}


def apply(template: str, messages: Sequence[dict[str, Any]], **variables: Any) -> str:
    """Render ``template``.

    Args:
        template: A Jinja template.
        messages: JSON values.
        variables: Further JSON values; ``tools`` and ``documents`` default to none, and the prompt ends where the
            answer begins.

    Raises:
        RejectedError: It rejects the messages.
        FencedError: It takes too much time or memory.
    """
    return str(process_of(template).ask(frame({"do": "apply", "messages": messages, "variables": variables}))["text"])


def process(template: str) -> FencedProcess:
    """A process for ``template``; it is started by the first question."""
    return FencedProcess(PROGRAM, template, wall_s=WALL_S)


process_of = functools.lru_cache(maxsize=8)(process)
"""The process for a template: one for all who ask."""
