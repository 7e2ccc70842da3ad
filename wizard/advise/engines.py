"""TensorRT-LLM engines: the images that build them, the last such release, and what serves the same model today.
Pure.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace

from wizard.advise.advice import Constraints
from wizard.advise.reasons import Note, Obstacle, because, change
from wizard.catalog import stacks
from wizard.catalog.contents import TOOLS, contents
from wizard.catalog.recipes import TIED
from wizard.catalog.releases import NONE, Release, architectures, floor, images, version
from wizard.catalog.stack_facts import StackFacts
from wizard.catalog.trtllm_tools import tools
from wizard.kernel.language import join, tr
from wizard.model.facts import ModelFacts

CODE = "engine"
"""Code of the obstacle that an image builds no engine."""
END = "engine-end"
"""Code of the note that newer releases have no engines."""


def judge() -> Callable[[Release], Obstacle | None]:
    """A function that returns why no engine can be built in an image; None if nothing is known against it."""
    last, held, first = tools().engines, contents(), _built().instead[0]

    def obstacle(release: Release) -> Obstacle | None:
        known = held.of(release.tag, TOOLS)
        if version(release.engine) > version(last.last):
            why = because("no-engines", release=release.tag, engine=release.engine, last=last.last)
            return Obstacle(CODE, why, (change(stack=first),))
        if known is None or known.value:
            return None
        return Obstacle(CODE, because("builds-no-engine", release=release.tag), (change(stack=first),))

    return obstacle


def obstacle(release: Release) -> Obstacle | None:
    """`judge` for a single image."""
    return judge()(release)


def later(tag: str) -> tuple[str, ...]:
    """Releases after ``tag`` whose images build engines, the nearest first."""
    known = (release for release in reversed(_releases()) if version(release.tag) > version(tag))
    why = judge()
    return tuple(release.tag for release in known if why(release) is None)


def successors(facts: ModelFacts) -> tuple[str, ...]:
    """Stacks that serve the same model today without an engine, the one with the most models first."""
    first, *others = _built().instead
    models = architectures().models
    listed = (name for name in others if floor(models, facts.architecture, name) not in (None, NONE))
    return (first, *listed)


def builds(stack: object) -> bool:
    """Whether ``stack`` serves engines that are built first; not if the stack is unknown."""
    return stack in stacks.names() and stacks.facts(str(stack)).builds_engine


def _built() -> StackFacts:
    """The stack whose engines are built first."""
    return next(stacks.facts(name) for name in stacks.names() if builds(name))


def _releases() -> tuple[Release, ...]:
    image = _built().image
    return images(image.family).releases if image else ()


def succeeded(constraints: Constraints, stack: str) -> Constraints:
    """``constraints`` for ``stack``, without the images and formats of another stack."""
    return replace(constraints, **{**dict.fromkeys(TIED), "stack": stack})  # type: ignore[arg-type]  # None is the default


def notes(stack: str, facts: ModelFacts) -> tuple[Note, ...]:
    """For stacks with engines: that they are discontinued, and the flags that serve ``facts`` without one."""
    if not builds(stack):
        return ()
    return (Note(END, {"stacks": successors(facts)}, tools().engines.source),)


def ended(ref: str, hardware: str, first: str, *others: str) -> str:
    """State that engines are discontinued, and what serves ``ref`` today, in a sentence with a command.

    Args:
        ref: The model as the user named it, or a recipe.
        hardware: The machine in the syntax of ``--hardware``; empty: this machine.
        first: The stack of the command.
        others: Other stacks that work too.
    """
    named = {"ref": shlex.quote(ref), "hardware": shlex.quote(hardware), "stack": first}
    if hardware:
        return end(tr("`triton-wizard plan {ref} --hardware {hardware} --stack {stack}`", **named), *others)
    return end(tr("`triton-wizard plan {ref} --stack {stack}`", **named), *others)


def end(command: str, *others: str) -> str:
    """State that engines are discontinued, and the ``command`` that serves without one; ``others`` are stacks that work
    too.
    """
    last = tools().engines
    text = tr(
        "TensorRT-LLM removed engines in {date} (last release with engines: {version}, image {tag}). To serve "
        "the same model on the same machine without an engine: {way}",
        date=last.removed,
        version=last.last,
        tag=next(release.tag for release in _releases() if obstacle(release) is None),
        way=command,
    )
    return join(", ", text, *(tr("or --stack {stack}", stack=other) for other in others)) + "."
