"""What the walk is made of: its state, what it asks for, and what it is given. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from wizard.catalog.workshops import Workshop

if TYPE_CHECKING:
    from wizard.advise.advice import Advice, Choice
    from wizard.catalog.recipes import Recipe
    from wizard.chat.conversation import Conversation
    from wizard.flow.effects import Effect
    from wizard.kernel.errors import WizardError
    from wizard.model.facts import ModelFacts
    from wizard.plan.plan import Plan
    from wizard.probe.host import Host
    from wizard.serve.endpoint import Endpoint

Stage: TypeAlias = Literal[
    "welcome", "recipes", "machine", "model", "token", "engine", "advice", "review", "build", "chat"
]
Manner: TypeAlias = Literal["screens", "questions", "unattended"]
"""How the interface asks.

``screens`` perform the effect of their own stage while they are shown, and answer with its value; ``questions`` are
asked about a value that is there; ``unattended`` nothing is asked, as if every stage were hidden.
"""


@dataclass(frozen=True, slots=True)
class State:
    """How far the walk is, with everything that was answered. It can be written as JSON and read back.

    Attributes:
        given: What the user answered, by the question's name; None takes an answer back that a recipe gives.
        first: What of it was given before the walk began; another model begins with that.
        manner: How the interface asks.
        hardware: Plan for this machine instead of the present one.
        offline: Never ask the hub.
        workshop: What a facilitator decided: pins, and stages that are passed without being shown.
        at: The stage that is asked about, or that is being prepared.
        shown: A hidden stage that the user came back to, and so sees.
        trail: Stages that can be gone back to, the latest last.
        take: Whether the screen of the model takes the one that was named at once.
        host: The machine.
        facts: The model.
        recipe: The ready-made answers of the model's name, if there are any.
        offered: The answer about an engine that is there already, for this model only; None before it was asked.
        advice: What the choice is taken from.
        choice: How the model is served.
        plan: What is to be done.
        server: Name and port of a server that is set up again; None if they are among what was given.
        resumed: The earlier plan that is to be made again as soon as the machine is known.
        left_out: Ids of steps that are left out.
        endpoint: Where the model answers.
        conversation: What was said in the last chat, if the next one continues it.
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
    endpoint: Endpoint | None = None
    conversation: Conversation | None = None


# -- what comes next ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to the user, about the stage that the state is at.

    Attributes:
        stage: What is asked.
        error: What went wrong just before.
        options: Models (`wizard.plan.offers.Suggestion`) or servers (`Endpoint`) to choose from, if they were looked
            for.
        take: Whether the model that was named is to be taken as if it had been confirmed.
    """

    stage: Stage
    error: WizardError | None = None
    options: tuple[Any, ...] = ()
    take: bool = False


@dataclass(frozen=True, slots=True)
class Do:
    """An effect to perform; ``error`` is what went wrong just before."""

    effect: Effect
    error: WizardError | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of the walk, with what made it end before its goal."""

    error: WizardError | None = None


Next: TypeAlias = "Ask | Do | Finished"


# -- what comes in -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to what was asked.

    Attributes:
        value: By stage. ``welcome``: `Serve`, `Talk`, `Resume`, `Watch`, ``"machine"`` or ``"recipes"``. ``recipes``:
            a name. ``machine``: a `Host`, or None for the one that was shown. ``model``: a reference, or
            `ModelFacts`. ``token``: a token or None. ``engine``: a Python, ``"none"``, or None for no
            answer. ``advice``: a `Choice`, ``"nearest"`` for the first remedy, or None to be advised again.
            ``review``: a `Plan`, or None to have it made again. ``build``: ``"again"``, `Redo`, `Skip`,
            ``"background"`` or `Talk`. ``chat``: ``"restart"``, ``"another"``, or None for the end.
        given: Answers to questions that were changed on the way, by name.
        host: The machine, where the welcome has looked at it.
        conversation: What was said in the chat.
    """

    value: Any = None
    given: Mapping[str, Any] = field(default_factory=dict)
    host: Host | None = None
    conversation: Conversation | None = None


@dataclass(frozen=True, slots=True)
class Back:
    """To the stage before, or ``to`` an earlier one; what was changed meanwhile is kept."""

    to: Stage | None = None
    given: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an effect led to: its value, or the error that it failed with."""

    effect: Effect
    value: Any


@dataclass(frozen=True, slots=True)
class Serve:
    """Set a server up: with the model ``ref``, or one that is still to be chosen."""

    ref: str = ""


@dataclass(frozen=True, slots=True)
class Talk:
    """Chat with the server at ``endpoint``."""

    endpoint: Endpoint


@dataclass(frozen=True, slots=True)
class Resume:
    """Set up again what was made from ``plan`` and does not run any more."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class Watch:
    """Show the build of ``plan``, which goes on in the background."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class Redo:
    """Do the step again, and what depends on it."""

    step: str


@dataclass(frozen=True, slots=True)
class Skip:
    """Leave the step out."""

    step: str
