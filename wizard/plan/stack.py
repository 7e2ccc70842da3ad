"""What a serving stack does for this stage: the value ``PORT`` of its module ``plan`` (`wizard.catalog.plugins`)."""

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
    """Makes all steps from nothing to a first answer."""

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
            choice: What was chosen.
            host: The machine.
            facts: The model.
            runtime: Where and how the commands run.
            ports: Ports that are free now.
            question: The first question.
            options: Those that the stack does not read have their defaults.

        Raises:
            InfeasibleError: The stack cannot serve this model so.
            HostError: The machine cannot run the engine.
        """
        ...


class Notes(Protocol):
    """Says what the user should know before accepting a plan of the stack."""

    def __call__(self, choice: Choice, host: Host, facts: ModelFacts) -> tuple[str, ...]:
        """One text for each."""
        ...


@dataclass(frozen=True, slots=True)
class Second:
    """A second model for another stack's repository.

    Attributes:
        steps: Before the repository is written.
        repository: To be written beside the other's models.
        reads: For `Runtime.start`.
    """

    steps: tuple[Step, ...]
    repository: Repository
    reads: tuple[Path, ...]


class Beside(Protocol):
    """Makes a model of this stack for the repository of another one, to compare with."""

    def __call__(
        self, choice: Choice, host: Host, facts: ModelFacts, runtime: Runtime, options: Options, model: Path
    ) -> Second:
        """The model.

        Args:
            choice: The other stack's.
            host: The machine.
            facts: The model; it must be stored in 16 bits.
            runtime: The other stack's.
            options: Of both.
            model: The model's folder, which the other stack's plan fetches.

        Raises:
            InfeasibleError: The checkpoint cannot be served so, or the GPU cannot hold both.
            HostError: The machine cannot run the engine.
        """
        ...


@dataclass(frozen=True, slots=True)
class StackPlan:
    """How a stack is set up and served.

    Attributes:
        steps: See `Steps`.
        options: Names of the fields of `Options` that it reads.
        notes: See `Notes`; by default what there is to say of the model's own Python code.
        beside: See `Beside`; None if it serves nothing beside another stack.
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
    """Names of the options that ``stack`` reads, with those that the stack beside it does.

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
