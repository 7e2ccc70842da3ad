"""Workshops on the command line: the workshop, the seat, and a facade whose pinned answers cannot be changed.

`triton-wizard workshop` is in `wizard.cli.room`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import AsyncGenerator
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.workshop.progress import SEAT, WORKSHOP, is_folder

if TYPE_CHECKING:
    from wizard.advise.advice import Advice, Constraints
    from wizard.advise.calibration import Calibration
    from wizard.catalog.recipes import Recipe
    from wizard.catalog.workshops import Workshop
    from wizard.chat.chunk import Chunk
    from wizard.chat.conversation import Conversation
    from wizard.model.facts import ModelFacts
    from wizard.plan.offers import Suggestion
    from wizard.plan.plan import Plan
    from wizard.probe.host import Host
    from wizard.serve.endpoint import Endpoint


def attend(arguments: argparse.Namespace) -> Workshop | None:
    """The workshop of this command with the seat's answers, or None; it sets the language and the workspace.

    Raises:
        UsageError: TW-U53 if the seat is not a number, TW-U54 for a seat without a workshop, and errors in the workshop
            file.
    """
    named = arguments.workshop or os.environ.get(WORKSHOP)
    if not named:
        if arguments.seat is not None:
            raise UsageError(
                "TW-U54",
                tr("--seat requires a workshop"),
                tr("Choose one with --workshop, or omit --seat."),
            )
        return None
    from wizard.kernel import language
    from wizard.workshop.attending import attended

    seat = None if arguments.seat is None else str(arguments.seat)
    here = attended(named, seat)
    if is_folder(named) and Path(named).expanduser().is_dir():
        os.environ[WORKSHOP] = named  # where the stages report
        if seat is not None:
            os.environ[SEAT] = seat
    if here is None:
        return None
    if here.workshop.language and not arguments.language:
        language.use(here.workshop.language)
    if here.workspace and not arguments.workspace:
        arguments.workspace = str(here.workspace)
    return here.workshop


def explanations_of(arguments: argparse.Namespace) -> Workshop | None:
    """The workshop whose explanations are shown (an empty one without a workshop), or None to show none."""
    from wizard.catalog.workshops import Workshop

    attended: Workshop | None = getattr(arguments, "attended", None)
    shown = getattr(arguments, "explain", False) or (attended is not None and attended.explain)
    return (attended or Workshop()) if shown else None


def workshop_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options of both interfaces: the workshop, whether explanations are shown, the facade with its pins."""
    from wizard import journey

    workshop: Workshop | None = arguments.attended
    return {
        "workshop": workshop,
        "explain": explanations_of(arguments) is not None,
        "journey": Pinned(journey, workshop) if workshop else None,
    }


def pinned_answers(arguments: argparse.Namespace, given: dict[str, object]) -> dict[str, object]:
    """The ``given`` answers with the workshop's pinned ones.

    Raises:
        UsageError: TW-U50 if a given answer conflicts with a pinned one.
    """
    from wizard.plan.workshop import with_pins

    return with_pins(arguments.attended, given) if arguments.attended else given


def answers_of(arguments: argparse.Namespace) -> None:
    """Set the pinned answers as flags of a command without questions.

    Raises:
        UsageError: TW-U50 if a flag conflicts with one.
    """
    from wizard.plan.workshop import with_pins

    workshop: Workshop | None = getattr(arguments, "attended", None)
    if workshop is None:
        return
    flags = {name: {"model": "ref", "accept": "yes"}.get(name, name) for name in workshop.pin}
    given = {name: getattr(arguments, flag, None) for name, flag in flags.items()}
    answers = with_pins(workshop, {name: value for name, value in given.items() if value not in (None, False)})
    for name, flag in flags.items():
        setattr(arguments, flag, answers[name])


class Pinned:
    """The facade (`wizard.journey`, or another of its kind), restricted by a workshop."""

    def __init__(self, journey: Any, workshop: Workshop) -> None:
        self._journey, self._pin, self._workshop = journey, workshop.pin, workshop

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journey, name)

    def recipes(self) -> list[Recipe]:
        """The recipes that the workshop allows."""
        recipes: list[Recipe] = self._journey.recipes()
        return [recipe for recipe in recipes if recipe.name == self._pin.get("model", recipe.name)]

    def suggestions(self, *about: Any, offline: bool = False, **how: Any) -> list[Suggestion]:
        """The pinned model alone, if one is pinned."""
        from wizard.plan.offers import Suggestion

        suggestions: list[Suggestion] = self._journey.suggestions(*about, offline=offline, **how)
        if "model" not in self._pin:
            return suggestions
        ref, why = str(self._pin["model"]), tr("Set by your facilitator")
        unknown = Suggestion(ref, ref, why, None, None, needs_network=not offline, usable=True)
        return [next((suggestion for suggestion in suggestions if suggestion.ref == ref), unknown)]

    def search(self, text: str, *, offline: bool = False) -> list[Suggestion]:
        """Hub search results; none if the model is pinned."""
        hits: list[Suggestion] = [] if "model" in self._pin else self._journey.search(text, offline=offline)
        return hits

    def model(self, ref: str, *, offline: bool = False) -> ModelFacts:
        """The pinned model's facts.

        Raises:
            UsageError: TW-U50 for another one.
        """
        from wizard.plan.workshop import with_pins

        with_pins(self._workshop, {"model": ref})
        facts: ModelFacts = self._journey.model(ref, offline=offline)
        return facts

    def advise(
        self,
        host: Host,
        facts: ModelFacts,
        constraints: Constraints,
        past: Calibration | None = None,
        *,
        offline: bool = False,
    ) -> Advice:
        """Advice for the constraints, with the pinned ones."""
        from wizard.plan.workshop import constraints_of

        pinned = constraints_of(self._workshop, constraints)
        advice: Advice = self._journey.advise(host, facts, pinned, past, offline=offline)
        return advice

    def plan(self, *about: Any, name: str | None = None, http_port: int | None = None) -> Plan:
        """A plan with the pinned name and port."""
        given: dict[str, Any] = {"name": name, "http_port": http_port}
        given |= {key: self._pin[key] for key in given if key in self._pin}
        plan: Plan = self._journey.plan(*about, **given)
        return plan

    def chat(self, endpoint: Endpoint, conversation: Conversation, **how: Any) -> AsyncGenerator[Chunk, None]:
        """An answer with the pinned sampling settings."""
        sampling = conversation.sampling
        pins: dict[str, Any] = {
            field.name: self._pin[field.name] for field in fields(sampling) if field.name in self._pin
        }
        pinned = replace(conversation, sampling=replace(sampling, **pins))
        if "system" in self._pin:
            pinned = pinned.with_system(str(self._pin["system"]))
        chunks: AsyncGenerator[Chunk, None] = self._journey.chat(endpoint, pinned, **how)
        return chunks
