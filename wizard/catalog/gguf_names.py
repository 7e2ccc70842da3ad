"""Architectures and file types of GGUF files that the engine's releases name: ``profiles/releases/gguf.toml``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from wizard.catalog.profiles import find, load


@dataclass(frozen=True, slots=True)
class GgufNames:
    """What the releases of an engine name; versions are of the package in its environments.

    Attributes:
        read: Oldest and newest release whose sources were read.
        architectures: ``general.architecture`` → first release that names it; all that any names are in it.
        types: File type → the same.
        models: Transformers class → architecture of the file that the engine's converter makes of it.
        last: Architecture or type → last release before one that dropped it.
    """

    about: str
    source: str
    read: tuple[str, str]
    architectures: dict[str, str]
    types: dict[str, str]
    models: dict[str, str]
    last: dict[str, str]

    def architecture(self, name: str) -> str | None:
        """The architecture of a file whose header or config names ``name``; None for an unknown Transformers class.

        GGUF's own names are in lower case, classes are not.
        """
        return name if name == name.lower() else self.models.get(name)


@cache
def names(profile: str) -> GgufNames:
    """The names in ``profiles/releases/PROFILE.toml``, cached like `wizard.catalog.stacks.facts`.

    Raises:
        UsageError: TW-D01, TW-D02 or TW-K01 if the file is missing or damaged.
    """
    return load(GgufNames, find(f"releases/{profile}.toml"))
