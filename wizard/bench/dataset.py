"""The prompts of a benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["generated", "cnn", "prompts"]
"""``generated``: random words of a fixed length, made offline; ``cnn``: a JSON file like tutorial 003's
``mini_cnn_eval.json``; ``prompts``: the user's own, a line each, as text or JSON.
"""


@dataclass(frozen=True, slots=True)
class Dataset:
    """Where the prompts come from, and how long they and their answers are.

    Attributes:
        kind: The kind of source.
        osl: Maximum tokens of an answer, unless a row has its own.
        isl: Tokens of a generated prompt, or the most of one from a file; approximate, because only the server can
            count them, which the report has. None: as they are.
        path: The file; None if generated.
        sha256: Of the file's bytes; empty if generated.
        prompts: Number of prompts; a run with more requests repeats them.
        changed: Rows of the file that were left out (``empty``, ``too-long``) or shortened (``cut``), and how many.
    """

    kind: Kind = "generated"
    osl: int = 64
    isl: int | None = None
    path: str | None = None
    sha256: str = ""
    prompts: int = 0
    changed: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt."""

    text: str
    osl: int
    """Maximum tokens of its answer."""
