"""Well-known chat models to offer, from 0.1 B to 1 T parameters: ``profiles/models/*.toml``."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Literal, TypeAlias

from wizard.catalog.profiles import files, load

Size: TypeAlias = Literal["small", "medium", "large"]
MEDIUM, LARGE = 8_000_000_000, 40_000_000_000
"""Parameters from which on a model is medium or large: in 16 bits, 16 GB fill a consumer GPU, and 80 GB a server's."""
SIZES: tuple[Size, ...] = ("small", "medium", "large")


@dataclass(frozen=True, slots=True)
class CuratedModel:
    """A model to offer. Facts that no source states are absent."""

    title: str
    repo: str
    """The repository with safetensors weights."""
    parameters: int
    """All of them, exact if counted from a configuration."""
    date: str
    """ISO 8601: the release if its publisher states it, else the first day on which a source names the model."""
    source: str
    """Source of repositories, files, figures, date and license."""
    bits: float = 16.0
    """Bits per parameter of the published weights."""
    active: int | None = None
    """Parameters that a token uses, if the model has experts."""
    context: int | None = None
    """Maximum number of tokens of prompt plus answer that it was trained for."""
    licence: str | None = None
    """SPDX identifier, or the Hub's own for a license that has none."""
    about: str = ""
    gguf: str | None = None
    """A repository with GGUF files of it."""
    files: tuple[str, ...] = ()
    """The GGUF files that the source names; the repository may have more."""
    gated: bool | None = None
    """Whether a license must be accepted on the Hub before the files are readable."""

    @property
    def size(self) -> Size:
        """Its class."""
        return "small" if self.parameters < MEDIUM else "medium" if self.parameters < LARGE else "large"

    @property
    def day(self) -> datetime.date:
        """`date` as a date."""
        return datetime.date.fromisoformat(self.date)


def curated() -> dict[str, CuratedModel]:
    """All models by name (the file's, without ``.toml``), each file read once per modification.

    Raises:
        UsageError: TW-D02 or TW-K01 if a file is not readable or does not fit.
    """
    return {name: load(CuratedModel, path) for name, path in files("models").items()}
