"""A serving stack's port for this stage: the value ``PORT`` of its module ``plan`` (`wizard.catalog.plugins`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from wizard.advise.advice import Choice
from wizard.catalog import plugins
from wizard.model.facts import ModelFacts
from wizard.plan import remote_code
from wizard.plan.options import Options
from wizard.plan.plan import Step
from wizard.plan.ports import Ports
from wizard.plan.runtimes.runtime import Runtime
from wizard.probe.host import Host
from wizard.repository.repository import Repository


class Steps(Protocol):
    """Creates all steps from nothing to a first answer."""

    def __call__(
        self,
        choice: Choice,
        host: Host,
        facts: ModelFacts,
        runtime: Runtime,
        ports: Ports,
        question: str,
        options: Options,
    ) -> tuple[Step, ...]:
        """The steps.

        Args:
            choice: The choice.
            host: The machine.
            facts: The model.
            runtime: The runtime of the commands.
            ports: Ports that are free now.
            question: The first question.
            options: The options; those that the stack does not read have their defaults.

        Raises:
            InfeasibleError: The stack cannot serve this model this way.
            HostError: The machine cannot run the engine.
        """
        ...


class Notes(Protocol):
    """Remarks for the user before accepting a plan of the stack."""

    def __call__(self, choice: Choice, host: Host, facts: ModelFacts) -> tuple[str, ...]:
        """One text per remark."""
        ...


@dataclass(frozen=True, slots=True)
class Second:
    """A second model for another stack's repository.

    Attributes:
        steps: Steps before the repository is written.
        repository: Files to add to the other stack's models.
        reads: Argument of `Runtime.start`.
    """

    steps: tuple[Step, ...]
    repository: Repository
    reads: tuple[Path, ...]


class Beside(Protocol):
    """Adds a model of this stack to another stack's repository, for comparison."""

    def __call__(
        self, choice: Choice, host: Host, facts: ModelFacts, runtime: Runtime, options: Options, model: Path
    ) -> Second:
        """The model.

        Args:
            choice: The other stack's choice.
            host: The machine.
            facts: The model; it must be stored in 16 bits.
            runtime: The other stack's runtime.
            options: The options of both.
            model: The model's folder, which the other stack's plan downloads.

        Raises:
            InfeasibleError: The checkpoint cannot be served this way, or the GPU has no room for both.
            HostError: The machine cannot run the engine.
        """
        ...


@dataclass(frozen=True, slots=True)
class StackPlan:
    """How a stack is set up and served.

    Attributes:
        steps: See `Steps`.
        options: Names of the fields of `Options` that it reads.
        notes: See `Notes`; by default about the model's own Python code.
        beside: See `Beside`; None if it does not support this.
    """

    steps: Steps
    options: frozenset[str] = frozenset()
    notes: Notes = remote_code.notes
    beside: Beside | None = None


def stack_plan(stack: str) -> StackPlan | None:
    """The port of ``stack``; None if the wizard does not set it up.

    Raises:
        UsageError: TW-D30 if its code cannot be loaded.
    """
    return plugins.port(stack, "plan", StackPlan)


def options_read(stack: str, options: Options) -> frozenset[str]:
    """Names of the options that ``stack`` reads, and the stack beside it.

    Raises:
        UsageError: TW-D30 if the code of one cannot be loaded.
    """
    ports = (stack_plan(name) for name in (stack, options.beside) if name)
    return frozenset(name for port in ports if port for name in port.options)


def built() -> tuple[str, ...]:
    """Names of all stacks that the wizard sets up.

    Raises:
        UsageError: TW-D30 if the code of one cannot be loaded.
    """
    return tuple(plugins.ports("plan", StackPlan))
