"""Whether the library that an engine reads configurations with is too old for the model. Pure.

An engine can name an architecture that its library does not know yet: then it fails before it loads any weights.
"""

from __future__ import annotations

from wizard.advise.reasons import Note, Param, because
from wizard.catalog import stacks
from wizard.catalog.config_library import allows, config_library
from wizard.catalog.environments import Environment, pinned
from wizard.catalog.releases import NONE, architectures
from wizard.model.facts import ModelFacts

CODE = "config-library"
"""Code of the warning."""


def notes(facts: ModelFacts, stack: str, has: str, environment: Environment | None) -> tuple[Note, ...]:
    """A warning if the library beside the engine's version ``has`` is too old for the model; empty if it is not known.

    Args:
        facts: The model; one with its own code brings its configuration.
        stack: Its stack.
        has: Version of the engine.
        environment: Where it runs; None for an image or a user's Python, whose library the engine's own requirements
            bound.
    """
    known, column, name = config_library(), stacks.facts(stack).floors, facts.architecture
    has = has.partition("+")[0]
    if not name or facts.needs_remote_code or column not in known.ranges or known.brings(column, name, has):
        return ()
    wanted = next((row.first.get(known.library, NONE) for row in architectures().models if row.name == name), NONE)
    pin = pinned(environment, known.library) if environment else ""
    requirement = f"=={pin}" if pin else known.required(column, has)
    if wanted == NONE or allows(requirement, wanted):
        return ()
    engine = because("engine", engine=stacks.facts(stack).engine or stacks.facts(stack).title)
    about: dict[str, Param] = {"model": name, "library": known.library, "wanted": wanted, "engine": engine, "has": has}
    return (Note(CODE, {**about, "pinned": pin, "requirement": requirement}, known.source),)
