"""Explanations: what a stage or a step does, and what a reader of the tutorials would have typed: ``profiles/lessons``.

A file for each serving stack has a table for each step that its plans can have; ``stages.toml`` has one for each stage.
Why a step is done is said by the plan (`wizard.plan.plan.Step.why`), which knows the machine and the model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from wizard.catalog import profiles
from wizard.kernel.language import tr
from wizard.kernel.text import one_line

START = "start"
"""What comes before the first stage: servers that run already."""
STAGES = ("machine", "model", "advice", "review", "build", "chat")
"""The stages with an explanation each, in the journey's order; `START` has one too."""
_JOURNEY = re.compile(r"tutorial-(\d{3})")


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is to be known of one stage or step."""

    what: str
    """What it does, in a sentence or two for somebody who sees it for the first time."""
    look: str
    """What to look at in its output or its result."""
    why: str = ""
    """Why it is there; empty for a step, whose plan says it."""
    tutorial: dict[str, str] = field(default_factory=dict)
    """Number of a tutorial (``000``) → the commands that it has its reader type for the same."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an explanation as it is shown: a few words of heading, and a text; commands are shown as they are."""

    heading: str
    text: str
    commands: bool = False


def stage(name: str) -> Explanation:
    """The explanation of a stage, one of `STAGES` or `START`.

    Raises:
        UsageError: TW-D01 if the file is missing, TW-D02 or TW-K01 if it is damaged.
    """
    return _explanations("stages")[name]


def step(stack: str, name: str) -> Explanation | None:
    """The explanation of a step in a stack's plan; None for a step that has none (a plan that an older wizard saved).

    Raises:
        UsageError: TW-D02 or TW-K01 if the file is damaged.
    """
    return _explanations(stack).get(name) if stack in profiles.files("lessons") else None


def steps() -> dict[str, frozenset[str]]:
    """Serving stack → ids of the steps that have an explanation.

    Raises:
        UsageError: TW-D02 or TW-K01 if a file is damaged.
    """
    return {name: frozenset(_explanations(name)) for name in profiles.files("lessons") if name != "stages"}


def parts(explanation: Explanation | None, *, why: str = "", model: str = "", added: str = "") -> tuple[Part, ...]:
    """An explanation as it is shown, in the present language; where there is room for one part only, it is the first.

    Args:
        explanation: The explanation, or None where there is none: then only what is given here is shown.
        why: Why a step is done, as its plan says.
        model: How the user named the model; the commands of a tutorial's recipe are that tutorial's own.
        added: A facilitator's words.
    """
    texts = [Part(tr("From your facilitator"), tr(added.strip()))] if added.strip() else []
    texts += [Part(tr("What happens"), tr(explanation.what))] if explanation else []
    if reason := why or (tr(explanation.why) if explanation else ""):
        texts.append(Part(tr("Why"), one_line(reason)))
    if explanation:
        texts.append(Part(tr("Look at"), tr(explanation.look)))
    if number := _number(explanation, model):
        typed = explanation.tutorial[number].strip() if explanation else ""
        texts.append(Part(tr("What you type in tutorial {number}", number=number), typed, commands=True))
    return tuple(texts)


def _number(explanation: Explanation | None, model: str) -> str:
    """The tutorial whose commands are shown: the one that the recipe is made from if it has any, else the first."""
    if explanation is None or not explanation.tutorial:
        return ""
    named = _JOURNEY.match(model)
    return named[1] if named and named[1] in explanation.tutorial else min(explanation.tutorial)


def _explanations(name: str) -> dict[str, Explanation]:
    return profiles.load(dict[str, Explanation], profiles.find(f"lessons/{name}.toml"))
