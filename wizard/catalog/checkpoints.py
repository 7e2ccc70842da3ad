"""Checkpoints that others have quantised already, to name one instead of a search: ``profiles/checkpoints.toml``."""

from __future__ import annotations

from dataclasses import dataclass

from wizard.catalog.profiles import find, load


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A quantised repository on the hub. That it is still there is not known until the hub is asked."""

    ref: str
    """Hub id, fit for `wizard.model.source.find`."""
    format: str
    """The wizard's name of the weight format, as in `wizard.model.facts.Quantization.format`."""
    source: str
    """Where the id and its format were read."""


@dataclass(frozen=True, slots=True)
class Family:
    """One model and its quantised checkpoints, at most one for a format.

    Attributes:
        base: Hub ids of the unquantised repository; more than one where it was renamed or mirrored by its publisher.
        checkpoints: The base itself is among them where it is published quantised.
    """

    base: tuple[str, ...]
    checkpoints: tuple[Checkpoint, ...]


@dataclass(frozen=True, slots=True)
class CheckpointTable:
    """``profiles/checkpoints.toml``."""

    families: tuple[Family, ...]


def ready(ref: str) -> tuple[Checkpoint, ...]:
    """The known quantised checkpoints of the model that ``ref`` is a repository of; empty if none is known.

    Args:
        ref: Hub id of the unquantised repository or of one of the checkpoints; upper and lower case are the same.

    Raises:
        UsageError: TW-D01, TW-D02 or TW-K01 if the file is missing or damaged.
    """
    folded = ref.casefold()
    for family in load(CheckpointTable, find("checkpoints.toml")).families:
        ids = (*family.base, *(checkpoint.ref for checkpoint in family.checkpoints))
        if folded in map(str.casefold, ids):
            return family.checkpoints
    return ()
