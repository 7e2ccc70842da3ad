"""File types of GGUF files to choose among: ``profiles/gguf.toml``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from wizard.catalog.profiles import find, load


@dataclass(frozen=True, slots=True)
class GgufTypes:
    """``profiles/gguf.toml``.

    Attributes:
        source: Source of the figures.
        bits: Type, the most precise first → bits per weight of a whole file.
    """

    source: str
    bits: dict[str, float]


@cache
def bits() -> dict[str, float]:
    """Type, the most precise first → bits per weight.

    Raises:
        UsageError: TW-D01, TW-D02 or TW-K01 if the file is missing or damaged.
    """
    return load(GgufTypes, find("gguf.toml")).bits


def format_of(kind: str) -> str:
    """The name that ``--quantization`` has for the type ``kind``: ``gguf_q4_k_m``."""
    return f"gguf_{kind.lower()}"
