"""What the walk wants done, as values; `wizard.flow.perform` does it. Each says what its outcome is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from wizard.advise.advice import Choice, Constraints
    from wizard.model.facts import ModelFacts
    from wizard.plan.plan import Plan
    from wizard.probe.host import Host


@dataclass(frozen=True, slots=True)
class Probe:
    """Describe the machine: `Host`."""

    hardware: str | None


@dataclass(frozen=True, slots=True)
class Look:
    """Servers that answer: a list of `Endpoint`."""


@dataclass(frozen=True, slots=True)
class Suggest:
    """Models to offer on ``host``."""

    host: Host
    offline: bool


@dataclass(frozen=True, slots=True)
class Inspect:
    """Describe the model ``ref``: `ModelFacts`. A ``token`` that is refused is forgotten again."""

    ref: str
    offline: bool
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Recipe:
    """The ready-made answers of the name ``ref``, or None."""

    ref: str


@dataclass(frozen=True, slots=True)
class Advise:
    """How the model can be served: `Advice`."""

    host: Host
    facts: ModelFacts
    constraints: Constraints


@dataclass(frozen=True, slots=True)
class MakePlan:
    """Everything that would be done: `Plan`."""

    host: Host
    facts: ModelFacts
    choice: Choice
    name: str | None
    http_port: int | None


@dataclass(frozen=True, slots=True)
class Carry:
    """Carry the ``plan`` out and show its events: the `Endpoint` that is ready."""

    plan: Plan
    redo: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recall:
    """The plan that the server ``name`` was made from, or None."""

    name: str


@dataclass(frozen=True, slots=True)
class Find:
    """The server ``name`` as it runs now, an `Endpoint`, or None."""

    name: str


Effect: TypeAlias = "Probe | Look | Suggest | Inspect | Recipe | Advise | MakePlan | Carry | Recall | Find"
