"""The library with which engines read a model's configuration: ``profiles/releases/config-library.toml``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from wizard.catalog.profiles import find, load
from wizard.catalog.releases import version


@dataclass(frozen=True, slots=True)
class ConfigLibrary:
    """Which versions of the library engines require, and what they bring themselves.

    Attributes:
        library: Its name as a package, and its column in ``architectures.toml``.
        ranges: `wizard.catalog.stack_facts.StackFacts.floors` of an engine → its version → the requirement from it on.
        own: The same → architecture → first version that brings the configuration, and the last one; empty if none
            dropped it.
    """

    about: str
    source: str
    library: str
    ranges: dict[str, dict[str, str]]
    own: dict[str, dict[str, tuple[str, str]]]

    def required(self, column: str, has: str) -> str:
        """What the engine's version ``has`` requires of the library; empty if that is not known."""
        older = [since for since in self.ranges[column] if version(since) <= version(has)]
        return self.ranges[column][max(older, key=version)] if older else ""

    def brings(self, column: str, architecture: str, has: str) -> bool:
        """Whether the engine's version ``has`` brings the configuration of ``architecture``."""
        first, last = self.own.get(column, {}).get(architecture, ("", ""))
        return bool(first) and version(first) <= version(has) and not (last and version(has) > version(last))


def allows(requirement: str, wanted: str) -> bool:
    """Whether a version that meets ``requirement`` can be ``wanted`` or newer."""
    bounds = re.findall(r"(==|<)(\d[\w.]*)", requirement)
    return all(
        version(bound) > version(wanted) or (sign == "==" and version(bound) == version(wanted))
        for sign, bound in bounds
    )


@cache
def config_library() -> ConfigLibrary:
    """The library, cached like `wizard.catalog.stacks.facts`.

    Raises:
        UsageError: TW-D01, TW-D02 or TW-K01 if the file is missing or damaged.
    """
    return load(ConfigLibrary, find("releases/config-library.toml"))
