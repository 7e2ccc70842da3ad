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
        osl: Maximum tokens of an answer, and the exact number where the server can ignore the end of an answer.
        isl: Tokens of a generated prompt, approximately; the report has those that the server counted.
        path: The file; None if generated.
        sha256: Of the file's bytes; empty if generated.
        prompts: Number of prompts; a run with more requests repeats them.
        skipped: Rows of the file that were left out, by reason: ``empty``, ``too-long``.
    """

    kind: Kind = "generated"
    osl: int = 64
    isl: int | None = 64
    path: str | None = None
    sha256: str = ""
    prompts: int = 0
    skipped: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt."""

    text: str
    osl: int
    """Maximum tokens of its answer."""
