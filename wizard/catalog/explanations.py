"""Step explanations: what a stage or a step does, and the equivalent commands of the tutorials.

Each serving stack has a file in ``profiles/explanations`` with a table per step of its plans, and ``stages.toml`` has
one per stage. Why a step is done is in the plan (`wizard.plan.plan.Step.why`), which knows the machine and the model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from wizard.catalog import profiles
from wizard.kernel.language import tr
from wizard.kernel.text import one_line

START = "start"
"""The part before the first stage: servers that are already running."""
STAGES = ("machine", "model", "advice", "review", "build", "chat", "bench")
"""The stages, each with an explanation, in the workflow's order; `START` has one too."""
_JOURNEY = re.compile(r"tutorial-(\d{3})")


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of a stage or step."""

    what: str
    """What it does, in a sentence or two for a beginner."""
    look: str
    """What to look at in its output or its result."""
    why: str = ""
    """The reason for it; empty for a step, whose plan has the reason."""
    tutorial: dict[str, str] = field(default_factory=dict)
    """Number of a tutorial (``000``) → the tutorial's commands for the same purpose."""


@dataclass(frozen=True, slots=True)
class Part:
    """A displayed part of an explanation: a short heading and a text; commands are shown verbatim."""

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
    """The explanation of a step in a stack's plan; None if it has none (a plan saved by an older wizard).

    Raises:
        UsageError: TW-D02 or TW-K01 if the file is damaged.
    """
    return _explanations(stack).get(name) if stack in profiles.files("explanations") else None


def steps() -> dict[str, frozenset[str]]:
    """Serving stack → IDs of the steps with an explanation."""
    return {name: frozenset(_explanations(name)) for name in profiles.files("explanations") if name != "stages"}


def parts(explanation: Explanation | None, *, why: str = "", model: str = "", added: str = "") -> tuple[Part, ...]:
    """The displayed parts of an explanation, in the current language; the first part is the most important.

    Args:
        explanation: The explanation; if None, only the other arguments are shown.
        why: The reason for a step, from its plan.
        model: The model as the user named it; a tutorial's recipe shows that tutorial's commands.
        added: A facilitator's note.
    """
    texts = [Part(tr("From your facilitator"), tr(added.strip()))] if added.strip() else []
    texts += [Part(tr("What happens"), tr(explanation.what))] if explanation else []
    if reason := why or (tr(explanation.why) if explanation else ""):
        texts.append(Part(tr("Why"), one_line(reason)))
    if explanation:
        texts.append(Part(tr("What to look at"), tr(explanation.look)))
    if number := _number(explanation, model):
        typed = explanation.tutorial[number].strip() if explanation else ""
        texts.append(Part(tr("What you type in tutorial {number}", number=number), typed, commands=True))
    return tuple(texts)


def _number(explanation: Explanation | None, model: str) -> str:
    """The tutorial whose commands are shown: that of the recipe if it has any, else the first."""
    if explanation is None or not explanation.tutorial:
        return ""
    named = _JOURNEY.match(model)
    return named[1] if named and named[1] in explanation.tutorial else min(explanation.tutorial)


def _explanations(name: str) -> dict[str, Explanation]:
    return profiles.load(dict[str, Explanation], profiles.find(f"explanations/{name}.toml"))
