"""Known quantized checkpoints, recommended instead of a search: ``profiles/checkpoints.toml``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from wizard.catalog.profiles import find, load


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A quantized repository on the Hub. Whether it still exists is not checked here."""

    ref: str
    """Model ID, valid for `wizard.model.source.find`."""
    format: str
    """The wizard's name of the weight format, as in `wizard.model.facts.Quantization.format`."""
    source: str
    """Source of the ID and the format."""
    method: str = ""
    """``quant_method`` of its config.json if it is not the usual one of the format; empty: the usual one."""


@dataclass(frozen=True, slots=True)
class Family:
    """A model and its quantized checkpoints, at most one per format.

    Attributes:
        base: Model IDs of the unquantized repository; more than one if its publisher renamed or mirrored it.
        checkpoints: The base itself is among them if it is published quantized.
    """

    base: tuple[str, ...]
    checkpoints: tuple[Checkpoint, ...]


@dataclass(frozen=True, slots=True)
class CheckpointTable:
    """``profiles/checkpoints.toml``."""

    families: tuple[Family, ...]


def ready(ref: str) -> tuple[Checkpoint, ...]:
    """The known quantized checkpoints of the model in repository ``ref``; empty if none is known.

    Args:
        ref: Model ID of the unquantized repository or of one of the checkpoints; case-insensitive.

    Raises:
        UsageError: TW-D01, TW-D02 or TW-K01 if the file is missing or damaged.
    """
    file = find("checkpoints.toml")
    return _families(file, file.stat().st_mtime_ns).get(ref.casefold(), ())


@lru_cache(maxsize=4)
def _families(file: Path, changed: int) -> dict[str, tuple[Checkpoint, ...]]:
    """The checkpoints of a model by each of its IDs, of which the first family counts."""
    del changed
    known: dict[str, tuple[Checkpoint, ...]] = {}
    for family in load(CheckpointTable, file).families:
        for ref in (*family.base, *(checkpoint.ref for checkpoint in family.checkpoints)):
            known.setdefault(ref.casefold(), family.checkpoints)
    return known
