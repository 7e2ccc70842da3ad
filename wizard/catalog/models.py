"""Small real chat models for machines without a GPU, offered where the hub answers: ``profiles/models/*.toml``."""

from __future__ import annotations

from dataclasses import dataclass

from wizard.catalog.profiles import files, load_toml
from wizard.kernel.values import from_data


@dataclass(frozen=True, slots=True)
class SmallModel:
    """A model to offer. Its size is not here: the hub says it when it is asked."""

    name: str
    """The file's name without ``.toml``."""
    title: str
    repo: str
    file: str
    parameters: int
    context: int
    """Longest prompt plus answer that it was made for, in tokens."""
    licence: str
    """SPDX identifier."""
    about: str
    source: str
    """Where repository, file, figures and licence were read."""
    order: int
    """Place in the list of what is offered; the smallest is the default."""

    @property
    def ref(self) -> str:
        """What to pass to `wizard.model.source.find`."""
        return f"{self.repo}:{self.file}"


def cpu_models() -> list[SmallModel]:
    """Models for the CPU, the best default first.

    Raises:
        UsageError: TW-D02 or TW-K01 if a file cannot be read or does not fit.
    """
    found = [
        from_data(SmallModel, {**load_toml(path), "name": name}, where=str(path))
        for name, path in files("models").items()
    ]
    return sorted(found, key=lambda model: (model.order, model.name))
