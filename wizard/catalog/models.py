"""Well-known chat models that are offered, some for the CPU and some for a GPU: ``profiles/models/*.toml``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wizard.catalog.profiles import files, load_toml
from wizard.kernel.values import from_data


@dataclass(frozen=True, slots=True)
class CuratedModel:
    """A model to offer. Its size is not here: its configuration or the hub says it."""

    name: str
    """The file's name without ``.toml``."""
    title: str
    repo: str
    parameters: int
    context: int
    """Longest prompt plus answer that it was made for, in tokens."""
    licence: str
    """SPDX identifier, or the hub's own for a licence that has none."""
    about: str
    source: str
    """Where repository, file, figures and licence were read."""
    order: int
    """Place in the list of what is offered; the smallest that fits is the default."""
    file: str | None = None
    """The GGUF file; None takes the repository's own weights."""
    on: Literal["cpu", "gpu"] = "cpu"
    """What it is offered for."""
    gated: bool = False
    """Whether a licence must be accepted on the hub before the files can be read."""

    @property
    def ref(self) -> str:
        """What to pass to `wizard.model.source.find`."""
        return f"{self.repo}:{self.file}" if self.file else self.repo


def curated() -> list[CuratedModel]:
    """All models, in the order in which they are offered.

    Raises:
        UsageError: TW-D02 or TW-K01 if a file cannot be read or does not fit.
    """
    models = [
        from_data(CuratedModel, {**load_toml(path), "name": name}, where=str(path))
        for name, path in files("models").items()
    ]
    return sorted(models, key=lambda model: (model.order, model.name))


def cpu_models() -> list[CuratedModel]:
    """Models for the CPU, the best default first; errors as `curated`."""
    return [model for model in curated() if model.on == "cpu"]


def gpu_models() -> list[CuratedModel]:
    """Models for a GPU, the best default first; errors as `curated`."""
    return [model for model in curated() if model.on == "gpu"]
