"""Distribution packages that provide a Python for server environments: ``profiles/pythons.toml``."""

from __future__ import annotations

from dataclasses import dataclass

from wizard.catalog import profiles


@dataclass(frozen=True, slots=True)
class Packages:
    """The packages for a release; ``words`` occur in the system's name."""

    words: tuple[str, ...]
    install: str
    source: str


@dataclass(frozen=True, slots=True)
class Pythons:
    """The whole file."""

    packages: tuple[Packages, ...]


def installed_by(system: str) -> str | None:
    """The shell line that installs one on ``system`` (the PRETTY_NAME of os-release); None if none is known.

    Raises:
        UsageError: TW-D01 if the file is missing, TW-D02 or TW-K01 if it is damaged.
    """
    known = profiles.load(Pythons, profiles.find("pythons.toml")).packages
    return next(
        (distribution.install for distribution in known if any(word in system.lower() for word in distribution.words)),
        None,
    )
