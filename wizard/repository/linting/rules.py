"""What a serving stack does for this stage: the value ``PORT`` of its module ``lint`` (`wizard.catalog.plugins`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from wizard.catalog import plugins
from wizard.repository.linting.finding import Finding, Server
from wizard.repository.linting.model import Model


class ModelRule(Protocol):
    """What is wrong with one model."""

    def __call__(self, model: Model, models: Mapping[str, Model], server: Server) -> Iterable[Finding]:
        """The findings; none for a model of another stack.

        Args:
            model: It has a configuration.
            models: All models of the repository by their names.
            server: That is to load them.

        Raises:
            OSError: A file of the model cannot be reached.
        """
        ...


class RepositoryRule(Protocol):
    """What is wrong with all models together."""

    def __call__(self, models: Mapping[str, Model]) -> Iterable[Finding]:
        """The findings; models may have no configuration."""
        ...


def _nothing(models: Mapping[str, Model]) -> Iterable[Finding]:  # noqa: ARG001
    return ()


@dataclass(frozen=True, slots=True)
class StackRules:
    """How a stack's models are checked.

    Attributes:
        model: Called for every model of any repository.
        repository: Called once for every repository.
    """

    model: ModelRule
    repository: RepositoryRule = _nothing


def rules() -> tuple[StackRules, ...]:
    """The rules of every stack that has some.

    Raises:
        UsageError: TW-D30 if the code of one cannot be loaded.
    """
    return tuple(plugins.ports("lint", StackRules).values())
