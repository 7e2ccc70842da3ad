"""Whether the release of an engine that loads GGUF files names a file's architecture and type. Pure."""

from __future__ import annotations

from wizard.advise.reasons import Note, Obstacle, Param, Reason, because, do
from wizard.catalog import stacks
from wizard.catalog.gguf_names import GgufNames, names
from wizard.catalog.releases import version
from wizard.model.facts import ModelFacts

UNLISTED = "unlisted"
"""Code of the warning that no list of the wizard's names the model for the engine."""


def obstacle(facts: ModelFacts, stack: str, has: str) -> Obstacle | None:
    """What the engine's version ``has`` does not load of the file that ``facts`` describes; None if it names all."""
    known = _names(stack)
    return (_architecture(known, facts, stack, has) or _type(known, facts, stack, has)) if known else None


def _architecture(known: GgufNames, facts: ModelFacts, stack: str, has: str) -> Obstacle | None:
    name = known.architecture(facts.architecture) if facts.architecture else None
    if name is None:
        return None
    first = known.architectures.get(name)
    if first is None and version(has) <= version(known.read[1]):
        why: Reason | None = because("gguf-architecture", engine=_engine(stack), has=has, name=name)
    else:
        why = _outside(known, stack, name, first, has, because("needs-name", name=name))
    return Obstacle("architecture", why, (do("own-repository"),)) if why else None


def _type(known: GgufNames, facts: ModelFacts, stack: str, has: str) -> Obstacle | None:
    kind = facts.quantization.detail if facts.quantization else None
    if kind is None:
        return None
    why = _outside(known, stack, kind, known.types.get(kind), has, because("needs-format", format=kind))
    return Obstacle("file-type", why, (do("other-gguf"),)) if why else None


def unlisted(facts: ModelFacts, stack: str) -> tuple[Note, ...]:
    """A warning if a model of this class has no known architecture as a GGUF file."""
    known = _names(stack)
    if known is None or facts.architecture is None or known.architecture(facts.architecture):
        return ()
    return (Note(UNLISTED, {"model": facts.architecture, "engine": _engine(stack)}, known.source),)


def _outside(known: GgufNames, stack: str, name: str, first: str | None, has: str, subject: Reason) -> Reason | None:
    """Why ``has`` is too old or too new for ``name``; None if it is neither, or not known."""
    about: dict[str, Param] = {"what": subject, "engine": _engine(stack), "has": has}
    if first and version(has) < version(first):
        return because("too-old", version=first, **about)
    if (last := known.last.get(name)) and version(has) > version(last):
        return because("too-new", version=last, **about)
    return None


def _names(stack: str) -> GgufNames | None:
    serves = stacks.facts(stack).cpu
    return names(serves.names) if serves and serves.names else None


def _engine(stack: str) -> Reason:
    return because("engine", engine=stacks.facts(stack).title)
