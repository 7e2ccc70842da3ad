"""The values of the workflow: its state, its requests, and their replies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from wizard.catalog.workshops import Workshop

if TYPE_CHECKING:
    from wizard.advise.advice import Advice, Choice
    from wizard.bench.order import Wanted
    from wizard.catalog.recipes import Recipe
    from wizard.chat.conversation import Conversation
    from wizard.flow.effects import Effect
    from wizard.kernel.errors import WizardError
    from wizard.model.facts import ModelFacts
    from wizard.plan.plan import Plan
    from wizard.probe.host import Host
    from wizard.serve.endpoint import Endpoint

Stage: TypeAlias = (
    Literal["welcome", "recipes", "machine", "model", "token", "engine", "advice"]
    | Literal["review", "build", "chat", "bench", "measure", "report"]
)
Manner: TypeAlias = Literal["screens", "questions", "unattended"]
"""How the interface asks.

``screens`` perform the effect of their own stage while they are shown, and answer with its value; ``questions`` ask
about a value that already exists; ``unattended`` asks nothing, as if every stage were hidden.
"""


@dataclass(frozen=True, slots=True)
class State:
    """The progress of the workflow, with all answers. It can be written as JSON and read back.

    Attributes:
        given: The user's answers, by the question's name; None drops an answer that a recipe gives.
        first: The part of them that was given before the workflow began; another model starts with it.
        manner: How the interface asks.
        hardware: Plan for this machine instead of the current one.
        offline: Never access the Hub.
        workshop: The facilitator's decisions: pinned options and hidden stages.
        at: The current stage.
        shown: A hidden stage that the user came back to, so that it is shown.
        trail: Stages that the user can go back to, the latest last.
        take: Whether the model screen accepts the named model without confirmation.
        host: The machine.
        facts: The model.
        recipe: The recipe with the model's name, if there is one.
        offered: The answer about an existing engine, for this model only; None before it was asked.
        advice: The possible setups.
        choice: The selected setup.
        plan: The plan.
        server: Name and port of a server that is set up again; None if they are among ``given``.
        resumed: The earlier plan to rebuild as soon as the machine is known.
        left_out: IDs of omitted steps.
        endpoint: Address of the served model.
        conversation: The last chat's conversation, if the next chat continues it.
        wanted: What was measured last, or will be.
        report: Folder of the report that is read, or was read last; empty after another choice.
    """

    given: dict[str, Any] = field(default_factory=dict)
    first: dict[str, Any] = field(default_factory=dict)
    manner: Manner = "questions"
    hardware: str | None = None
    offline: bool = False
    workshop: Workshop = field(default_factory=Workshop)
    at: Stage = "welcome"
    shown: Stage | None = None
    trail: tuple[Stage, ...] = ()
    take: bool = False
    host: Host | None = None
    facts: ModelFacts | None = None
    recipe: Recipe | None = None
    offered: dict[str, Any] | None = None
    advice: Advice | None = None
    choice: Choice | None = None
    plan: Plan | None = None
    server: dict[str, Any] | None = None
    resumed: Plan | None = None
    left_out: tuple[str, ...] = ()
    mistyped: str = ""
    endpoint: Endpoint | None = None
    conversation: Conversation | None = None
    wanted: Wanted | None = None
    report: str = ""


# -- what comes next ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to the user about the current stage.

    Attributes:
        stage: The stage to ask about.
        error: The error that just occurred.
        options: Models (`wizard.plan.offers.Suggestion`) or what is running (see `wizard.flow.effects.Look`) to choose
            from, if any were looked for; a report.
        take: Whether to accept the named model as if the user had confirmed it.
    """

    stage: Stage
    error: WizardError | None = None
    options: tuple[Any, ...] = ()
    take: bool = False


@dataclass(frozen=True, slots=True)
class Do:
    """An effect to perform; ``error`` is the error that just occurred."""

    effect: Effect
    error: WizardError | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of the workflow, with the error that ended it early."""

    error: WizardError | None = None


Next: TypeAlias = "Ask | Do | Finished"


# -- what comes in -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to an `Ask`.

    Attributes:
        value: By stage. ``welcome``: `Serve`, `Talk`, `Resume`, `Watch`, ``"machine"`` or ``"recipes"``. ``recipes``:
            a name. ``machine``: a `Host`, or None for the one shown. ``model``: a reference, or
            `ModelFacts`. ``token``: a token or None. ``engine``: a Python, ``"none"``, or None for no
            answer. ``advice``: a `Choice`, ``"nearest"`` for the first remedy, or None for new advice.
            ``review``: a `Plan`, or None to rebuild it. ``build``: ``"again"``, `Redo`, `Skip`,
            ``"background"`` or `Talk`. ``chat``: ``"restart"``, ``"another"``, ``"home"``, `Measure`, or None for
            the end. ``bench``: `wizard.bench.order.Wanted`, the folder of a report to read, or None for the end.
            ``measure``: the folder of the report, or None if there is none. ``report``: None.
        given: Changed answers to questions, by name.
        host: The machine, if the welcome screen probed it.
        conversation: The chat's conversation.
    """

    value: Any = None
    given: Mapping[str, Any] = field(default_factory=dict)
    host: Host | None = None
    conversation: Conversation | None = None


@dataclass(frozen=True, slots=True)
class Back:
    """Go to the previous stage, or ``to`` an earlier one; changes are kept."""

    to: Stage | None = None
    given: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an effect: its value, or its error."""

    effect: Effect
    value: Any


@dataclass(frozen=True, slots=True)
class Serve:
    """Set up a server: with the model ``ref``, or with a model that is yet to be chosen."""

    ref: str = ""


@dataclass(frozen=True, slots=True)
class Talk:
    """Chat with the server at ``endpoint``."""

    endpoint: Endpoint


@dataclass(frozen=True, slots=True)
class Measure:
    """Measure the server at ``endpoint``, or read earlier reports."""

    endpoint: Endpoint


@dataclass(frozen=True, slots=True)
class Resume:
    """Set up again a server that was created from ``plan`` and is stopped."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class Watch:
    """Show the build of ``plan``, which is running in the background."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class Redo:
    """Rerun the step and all steps that depend on it."""

    step: str


@dataclass(frozen=True, slots=True)
class Skip:
    """Skip the step."""

    step: str
