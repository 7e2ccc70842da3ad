"""The commands that bring what containers with GPUs need, for each family of distributions: one file of profiles."""

from __future__ import annotations

from dataclasses import dataclass

from wizard.catalog import profiles


@dataclass(frozen=True, slots=True)
class DistributionCommands:
    """Shell lines of one family; empty where NVIDIA's guide has to be followed. ``words`` are in its name."""

    name: str
    words: tuple[str, ...]
    driver: tuple[str, ...]
    driver_source: str
    docker: tuple[str, ...]
    docker_source: str
    podman_init: tuple[str, ...]
    podman_init_source: str
    toolkit: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CommonCommands:
    """Shell lines that are the same everywhere."""

    toolkit_source: str
    docker_runtime: tuple[str, ...]
    podman_runtime: tuple[str, ...]
    group: tuple[str, ...]
    start: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Commands:
    """All of ``profiles/prerequisites.toml``."""

    systems: tuple[DistributionCommands, ...]
    common: CommonCommands

    def of(self, system: str) -> DistributionCommands | None:
        """The family that a system's name belongs to."""
        low = system.lower()
        return next((candidate for candidate in self.systems if any(word in low for word in candidate.words)), None)


def commands() -> Commands:
    """Read the file.

    Raises:
        UsageError: TW-D01 if it is missing, TW-D02 or TW-K01 if it is damaged.
    """
    return profiles.load(Commands, profiles.find("prerequisites.toml"))
