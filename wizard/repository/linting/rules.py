"""A serving stack's port for this stage: the value ``PORT`` of its module ``lint`` (`wizard.catalog.plugins`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from wizard.catalog import plugins
from wizard.repository.linting.finding import Finding, Server
from wizard.repository.linting.model import Model


class ModelRule(Protocol):
    """Finds problems in a single model."""

    def __call__(self, model: Model, models: Mapping[str, Model], server: Server) -> Iterable[Finding]:
        """The findings; none for a model of another stack.

        Args:
            model: The model, which has a configuration.
            models: All models of the repository by name.
            server: The server that will load them.

        Raises:
            OSError: A file of the model is not accessible.
        """
        ...


class RepositoryRule(Protocol):
    """Finds problems in all models together."""

    def __call__(self, models: Mapping[str, Model]) -> Iterable[Finding]:
        """The findings; models may lack a configuration."""
        ...


def _nothing(models: Mapping[str, Model]) -> Iterable[Finding]:  # noqa: ARG001
    return ()


@dataclass(frozen=True, slots=True)
class StackRules:
    """The checks of a stack's models.

    Attributes:
        model: Called for every model of any repository.
        repository: Called once per repository.
    """

    model: ModelRule
    repository: RepositoryRule = _nothing


def rules() -> tuple[StackRules, ...]:
    """The rules of all stacks that have any.

    Raises:
        UsageError: TW-D30 if the code of one cannot be loaded.
    """
    return tuple(plugins.ports("lint", StackRules).values())
