"""The effects that the workflow requests, as values; `wizard.flow.perform` performs them. Each names its outcome."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from wizard.advise.advice import Choice, Constraints
    from wizard.bench.order import Wanted
    from wizard.model.facts import ModelFacts
    from wizard.plan.plan import Plan
    from wizard.probe.host import Host
    from wizard.serve.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class Probe:
    """Describe the machine: `Host`."""

    hardware: str | None


@dataclass(frozen=True, slots=True)
class Look:
    """Find what is running: a list of the `Plan` of a build, `Endpoint`, and `wizard.chat.nearby.Nearby` for servers of
    other programs.
    """


@dataclass(frozen=True, slots=True)
class Suggest:
    """Models to offer on ``host``."""

    host: Host
    offline: bool


@dataclass(frozen=True, slots=True)
class Inspect:
    """Describe the model ``ref``: `ModelFacts`. A rejected ``token`` is forgotten again."""

    ref: str
    offline: bool
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class FindGguf:
    """The GGUF files of the model ``facts``, which a machine without GPUs serves: `ModelFacts`."""

    facts: ModelFacts


@dataclass(frozen=True, slots=True)
class Recipe:
    """The recipe ``ref``, or None."""

    ref: str


@dataclass(frozen=True, slots=True)
class Advise:
    """How the model can be served: `Advice`."""

    host: Host
    facts: ModelFacts
    constraints: Constraints
    offline: bool


@dataclass(frozen=True, slots=True)
class MakePlan:
    """Create the `Plan`."""

    host: Host
    facts: ModelFacts
    choice: Choice
    name: str | None
    http_port: int | None


@dataclass(frozen=True, slots=True)
class RunPlan:
    """Run the ``plan`` and show its events: the `Endpoint` that is ready."""

    plan: Plan
    redo: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FollowBuild:
    """Show the events of the build of ``plan``, which is running elsewhere: the `Endpoint` that is ready."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class Recall:
    """Load the plan that the server ``name`` was created from, or None."""

    name: str


@dataclass(frozen=True, slots=True)
class Find:
    """The running server ``name``, an `Endpoint`, or None."""

    name: str


@dataclass(frozen=True, slots=True)
class Measure:
    """Measure the server at ``endpoint`` and show the progress: the folder of the report, as a string."""

    endpoint: Endpoint
    wanted: Wanted


@dataclass(frozen=True, slots=True)
class ReadReport:
    """Read the report in ``folder``: a `wizard.bench.opened.Opened`."""

    folder: str


Effect: TypeAlias = (
    "Probe | Look | Suggest | Inspect | FindGguf | Recipe | Advise | MakePlan | RunPlan | FollowBuild | Recall | "
    "Find | Measure | ReadReport"
)
