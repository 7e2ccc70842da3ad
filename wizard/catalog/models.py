"""Well-known chat models to offer, some for the CPU and some for a GPU: ``profiles/models/*.toml``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wizard.catalog.profiles import files, load_toml
from wizard.kernel.values import from_data


@dataclass(frozen=True, slots=True)
class CuratedModel:
    """A model to offer. Its size is not stored here: it comes from its configuration or the Hub."""

    name: str
    """The file's name without ``.toml``."""
    title: str
    repo: str
    parameters: int
    context: int
    """Maximum number of tokens of prompt plus answer that it was trained for."""
    licence: str
    """SPDX identifier, or the Hub's own for a license that has none."""
    about: str
    source: str
    """Source of repository, file, figures and license."""
    order: int
    """Position in the list; the smallest that fits is the default."""
    file: str | None = None
    """The GGUF file; None means the repository's own weights."""
    on: Literal["cpu", "gpu"] = "cpu"
    """The hardware that it is offered for."""
    gated: bool = False
    """Whether a license must be accepted on the Hub before the files are readable."""

    @property
    def ref(self) -> str:
        """The reference for `wizard.model.source.find`."""
        return f"{self.repo}:{self.file}" if self.file else self.repo


def curated() -> list[CuratedModel]:
    """All models, in display order.

    Raises:
        UsageError: TW-D02 or TW-K01 if a file is not readable or does not fit.
    """
    models = [
        from_data(CuratedModel, {**load_toml(path), "name": name}, where=str(path))
        for name, path in files("models").items()
    ]
    return sorted(models, key=lambda model: (model.order, model.name))


def cpu_models() -> list[CuratedModel]:
    """Models for the CPU, the best default first; raises as `curated` does."""
    return [model for model in curated() if model.on == "cpu"]


def gpu_models() -> list[CuratedModel]:
    """Models for a GPU, the best default first; raises as `curated` does."""
    return [model for model in curated() if model.on == "gpu"]
